"""Vector files that are truncated, edited or foreign: the bench refuses what a simulator lets it see, the judges refuse all of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from emu.base.errors import FileError, OperandError
from emu.contracts.columns import Column
from emu.rtl.simulate import simulator
from emu.rtl.simulate.shard import read_shard

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
DEFECTS = yaml.safe_load((Path(__file__).parent / "kit_defects.yaml").read_text())


def broken(text: str, name: str) -> str:
    """The text with a defect; it must have changed."""
    out = re.sub(DEFECTS[name]["find"], DEFECTS[name]["put"], text)
    assert out != text
    return out


@pytest.fixture
def shard(frozen: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of a suite that a test may spoil; its path without ending."""
    path = frozen(STEM)
    for file in path.parent.glob(f"{STEM}.*"):
        shutil.copy(file, tmp_path)
    return tmp_path / STEM


@pytest.fixture(scope="module")
def bench(
    frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> simulator.Built:
    need("iverilog")
    return simulator.compile_bench(simulator.find("icarus"), "convert", frozen(STEM), [table], {}, tmp_path_factory.mktemp("bench"))


def complaint(bench: simulator.Built, mem: Path, *plusargs: str) -> tuple[int, str, int]:
    """Exit code, reason and compared rows of a right design on a file."""
    out = simulator.run(bench, mem, [f"+table={bench.shard.mem}", *plusargs])
    assert out.result is not None, out.other
    return out.exit_code, out.result.reason, out.result.compared


@pytest.mark.parametrize("name", DEFECTS)
def test_the_bench_refuses_what_the_simulator_lets_it_see(bench: simulator.Built, shard: Path, name: str) -> None:
    mem = shard.with_suffix(".mem")
    mem.write_bytes(broken(mem.read_text(), name).encode())
    code, reason, compared = complaint(bench, mem)
    assert reason == DEFECTS[name]["icarus"]
    assert code == {"none": 0, "mismatch": 1}.get(reason, 2)
    assert compared == {"none": 48, "mismatch": 48, "guard": 0}.get(reason, 47 if name == "masked_row" else 0)


def test_a_missing_file_and_no_file_are_refused(bench: simulator.Built, tmp_path: Path) -> None:
    assert complaint(bench, tmp_path / "absent.mem") == (2, "guard", 0)
    out = simulator.execute([*bench.command], tmp_path, 60)
    assert "reason=guard" in out[1]
    assert out[0] != 0


@pytest.mark.parametrize(("plusarg", "reason"), [("+n=47", "count"), ("+n=0", "count"), ("+min=49", "count"), ("+min=48", "none")])
def test_counts_that_do_not_fit_are_refused(bench: simulator.Built, plusarg: str, reason: str) -> None:
    assert complaint(bench, bench.shard.mem, plusarg)[1] == reason


def test_the_self_test_file_needs_its_own_count(bench: simulator.Built) -> None:
    assert complaint(bench, bench.shard.negative) == (2, "count", 0)
    rows = bench.shard.counts.negative
    out = simulator.run(bench, bench.shard.negative, [f"+n={rows}", f"+table={bench.shard.mem}"])
    assert (out.result.verdict, out.result.mismatch, out.result.x, out.result.compared) == ("FAIL", 1, 0, rows)


@pytest.mark.parametrize("name", DEFECTS)
def test_no_defect_passes_the_look_at_the_files(shard: Path, table: Path, name: str, tmp_path: Path) -> None:
    mem = shard.with_suffix(".mem")
    mem.write_bytes(broken(mem.read_text(), name).encode())
    with pytest.raises(FileError, match=r"\.mem"):
        read_shard(shard)


SPOILED = {
    "count": (".svh", "`define TC_N 48", "`define TC_N 47"),
    "open": (".svh", "`define TC_OPEN 0", "`define TC_OPEN 1"),
    "digest": (".svh", '_SHA256 "', '_SHA256 "0'),
    "port": (".svh", '`EMU_OUT(y,"y",4,4', '`EMU_OUT(y,"y",8,4'),
    "self-test right": (".neg.mem", "a_0000_1_f", "a_0000_0_f"),
    "self-test of other rows": (".neg.mem", "a_0001_0_f", "a_0003_0_f"),
    "columns": (".json", '"name":"y"', '"name":"z"'),
    "rows": (".json", '"rows":48', '"rows":49'),
}


@pytest.mark.parametrize("what", SPOILED)
def test_files_beside_the_rows_are_looked_at_too(shard: Path, what: str) -> None:
    ending, find, put = SPOILED[what]
    file = shard.parent / f"{STEM}{ending}"
    text = file.read_text().replace(": ", ":").replace(", ", ",") if ending == ".json" else file.read_text()
    assert find in text
    file.write_text(text.replace(find, put))
    with pytest.raises(FileError):
        read_shard(shard)


def test_a_changed_file_is_read_again(shard: Path) -> None:
    assert read_shard(shard).counts.rows == 48
    mem = shard.with_suffix(".mem")
    text = mem.read_text()
    mem.write_text(text.replace("a_0000_0_f", "a_0000_1_f"))
    with pytest.raises(FileError, match="digest"):
        read_shard(shard)
    mem.write_text(text)
    assert read_shard(shard).compared(stages=False) == 48


@pytest.mark.parametrize("ending", [".mem", ".svh", ".neg.mem", ".json"])
def test_a_missing_file_is_named(shard: Path, ending: str) -> None:
    (shard.parent / f"{STEM}{ending}").unlink()
    with pytest.raises(FileError, match=re.escape(f"{STEM}{ending}: No such file")):
        read_shard(shard)


@pytest.mark.parametrize("name", ["one", "convert__bf16_to_e2m1__nvidia_rne", "multiply__a_to_b__c__smoke"])
def test_what_is_no_suite_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="not the name of a vector suite"):
        read_shard(tmp_path / name)


@pytest.mark.parametrize("plusarg", ["+vec=other.mem", "+n=3", "+min=1"])
def test_who_judges_chooses_the_file_and_the_counts(bench: simulator.Built, plusarg: str) -> None:
    with pytest.raises(OperandError, match="judge chooses"):
        simulator.judge(bench, [plusarg])


def judged_by_shell(shard: Path, kit: Path, table: Path, **variables: str) -> tuple[int, str]:
    """Exit code and text of judge.sh."""
    own = {"SUITE": str(shard), "WRAP": str(table), "ARGS": f"+table={shard}.mem", "BUILD": str(shard.parent / "out")}
    done = subprocess.run(["sh", str(kit / "judge.sh")], env={**os.environ, **own, **variables}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["none", *DEFECTS])
def test_the_judge_in_shell_refuses_every_defect(
    shard: Path, kit: Path, table: Path, need: Callable[..., None], tmp_path: Path, name: str
) -> None:
    need("iverilog", "sh")
    mem = shard.with_suffix(".mem")
    if name != "none":
        mem.write_bytes(broken(mem.read_text(), name).encode())
    code, text = judged_by_shell(shard, kit, table)
    assert code == (0 if name == "none" else 2), text
    assert text.splitlines()[-1].startswith("judge: passed: " if name == "none" else "judge: ")


@pytest.mark.parametrize("what", [what for what in SPOILED if what not in ("columns", "open")])  # it reads neither, and counts itself
def test_the_judge_in_shell_looks_at_the_other_files(shard: Path, kit: Path, table: Path, need: Callable[..., None], what: str) -> None:
    need("iverilog", "sh")
    ending, find, put = SPOILED[what]
    file = shard.parent / f"{STEM}{ending}"
    assert find in file.read_text()
    file.write_text(file.read_text().replace(find, put))
    code, text = judged_by_shell(shard, kit, table)
    assert code in (1, 2) if what == "port" else code == 2, text


def test_shards_are_judged_one_by_one(
    handmade: Callable[..., Path], kit: Path, table: Path, need: Callable[..., None], tmp_path: Path
) -> None:
    """Six rows in two shards: one self-test file for both, row ids that go on, and the second shard is not the first."""
    need("iverilog", "sh")
    columns = [Column("x", "in", 16, "bf16"), Column("y", "out", 4, "e2m1")]
    first = handmade(STEM, columns, [((code,), ((code * 3 & 15,),)) for code in range(6)], shards=2)
    second = first.parent / first.name.replace("s0000", "s0001")
    for place, path in enumerate((first, second)):
        shard = read_shard(path)
        assert (shard.counts.base, shard.counts.rows, shard.compared(stages=False)) == (1 + 3 * place, 3, 3)
        code, text = judged_by_shell(path, kit, table, ARGS="", WRAP=str(tripled(tmp_path)))
        assert (code, text.splitlines()[-1]) == (0, f"judge: passed: {path.name}"), text
        built = simulator.compile_bench(simulator.find("icarus"), "convert", path, [tripled(tmp_path)], {}, tmp_path / path.name)
        assert simulator.judge(built).exit_code == 0
    (tmp_path / f"{second.name}.mem").write_text((tmp_path / f"{first.name}.mem").read_text())
    with pytest.raises(FileError):
        read_shard(second)
    assert judged_by_shell(second, kit, table, ARGS="", WRAP=str(tripled(tmp_path)))[0] == 2


def tripled(folder: Path) -> Path:
    """A design of y = 3 x that includes a file of its own folder."""
    (folder / "three.svh").write_text("`define THREE 4'd3\n")
    (folder / "tripled.sv").write_text(
        '`include "three.svh"\nmodule dut(input clk, rst, in_valid, output out_valid, input [15:0] x, output [3:0] y);\n'
        "  assign out_valid = in_valid; assign y = x[3:0] * `THREE;\nendmodule\n"
    )
    return folder / "tripled.sv"


@pytest.mark.parametrize(("stages", "compared"), [("", 1), ("1", 8)])
def test_the_judge_in_shell_counts_rows_with_and_without_stages(
    frozen: Callable[[str], Path], kit: Path, table: Path, need: Callable[..., None], tmp_path: Path, stages: str, compared: int
) -> None:
    need("iverilog", "sh")
    path = frozen("accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__smoke")
    code, text = judged_by_shell(path, kit, table, STAGES=stages, BUILD=str(tmp_path / "out"))
    assert (code, f" compared={compared} " in text) == (0, True), text
