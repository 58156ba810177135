"""The cocotb example of the kit: right designs pass, wrong ones and broken files never do. EMU_NEED_COCOTB: fail where a tool is absent."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from emu_rows import read_suite

from emu.rtl.simulate.units import Unit, read_units

STEM = "convert__bf16_to_e2m1__nvidia_rne__directed"
SMALL = "convert__bf16_to_e2m1__nvidia_rne__smoke"
PORTS = "input clk, input rst, input in_valid, input [15:0] x, output out_valid, output [3:0] y"
DESIGNS = {
    "always zero": ("assign out_valid = in_valid; assign y = 0;", "FAIL reason=mismatch"),
    "one bit that nothing drives": ("assign out_valid = in_valid; assign y[2:0] = 0;", "FAIL reason=x"),
    "no answer": ("assign out_valid = 0; assign y = 0;", "FAIL reason=timeout"),
    "answers without a row": ("assign out_valid = 1; assign y = 0;", "FAIL reason=count"),
    "an answer too few": ("reg [7:0] n = 0; always @(posedge clk) n <= n + in_valid; assign out_valid = in_valid && n != 9; assign y = 0;",
                          "FAIL reason=timeout"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def tools() -> None:
    """cocotb and Icarus, or a skip with the reason."""
    missing = "cocotb" if importlib.util.find_spec("cocotb") is None else "iverilog" if shutil.which("iverilog") is None else None
    if missing:
        assert not os.environ.get("EMU_NEED_COCOTB"), f"no {missing} here"
        pytest.skip(f"no {missing} here (pip install 'fp4emu[rtl]'; Debian: apt-get install iverilog)")


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A suite in a folder of its own; its .mem."""
    for path in (checkout / "vectors/convert").glob(f"{STEM}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / f"{STEM}.mem"


@pytest.fixture
def small(checkout: Path, tmp_path: Path) -> Path:
    """The same of a short suite."""
    for path in (checkout / "vectors/convert").glob(f"{SMALL}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / f"{SMALL}.mem"


def run(kit: Path, rows: Path, *words: str) -> tuple[int, list[str], str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}  # cocotb behaves otherwise under pytest
    done = subprocess.run([sys.executable, str(kit / "cocotb/run.py"), str(rows), *words], capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout.splitlines(), done.stderr


def words_of(unit: Unit, **changed: int) -> list[str]:
    return [*map(str, unit.sources), *(f"-D{name}={value}" for name, value in (unit.defines | changed).items())]


def test_right_designs_pass_and_a_wrong_one_does_not(kit: Path, copy: Path) -> None:
    unit, suite = read_units(kit)["convert_bf16_e2m1_rne"], read_suite(copy)
    passed = f"RESULT PASS reason=none suite={STEM} rows_sha256={suite.rows_sha256} compared={len(suite.rows)} mismatch=0 x=0 masked=0"
    assert run(kit, copy, *words_of(unit))[:2] == (0, [passed])
    assert run(kit, copy, *words_of(unit, EMU_PIPE=1))[:2] == (0, [passed])
    code, lines, _ = run(kit, copy, *words_of(unit, ROUND=1))
    assert (code, [line.split()[0] for line in lines]) == (1, ["MISMATCH"] * 3 + ["RESULT"])
    assert lines[-1].startswith("RESULT FAIL reason=mismatch ")


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_that_does_not_answer_rightly_fails_with_the_reason(kit: Path, copy: Path, name: str) -> None:
    body, verdict = DESIGNS[name]
    copy.with_name("dut.sv").write_text(f"module dut({PORTS}); {body} endmodule\n")
    code, lines, _ = run(kit, copy, str(copy.with_name("dut.sv")))
    assert (code, lines[-1].split(" suite=")[0]) == (1, f"RESULT {verdict}")


def test_broken_files_and_misuse_end_with_two(kit: Path, copy: Path) -> None:
    unit = read_units(kit)["convert_bf16_e2m1_rne"]
    assert run(kit, copy.with_name("none.mem"), *words_of(unit))[0] == 2
    code, lines, errors = run(kit, copy)  # no design
    assert (code, lines) == (2, []) and errors
    negative = copy.with_name(f"{STEM}.neg.mem")
    text = negative.read_text()
    negative.write_text(text.replace("a_0000_1_f", "a_0000_0_f"))
    code, lines, errors = run(kit, copy, *words_of(unit))
    assert (code, "self-test" in errors) == (2, True)
    negative.write_text(text)
    copy.write_text(copy.read_text().replace("a_ffbf_7_f", "a_ffbf_6_f"))
    code, lines, errors = run(kit, copy, *words_of(unit))
    assert (code, lines) == (2, []) and "digest" in errors


WAYS = {
    "pressed": ("+press=5", "+stall=3"),
    "three_clocks": ("+press=5",),
    "two_beats": ("+press=5", "+stall=3"),
    "bit_serial": ("+stall=3",),
    "some_latency": ("+latency=5",),
}
FAULTS = {
    "data moves on while it waits": (
        "pressed",
        (("out_data <= first_code;\n", "\n"), ("if (in_ready) begin", "out_data <= first_code;\nif (in_ready) begin")),
        "PORTMAP protocol held: an answer changed",
    ),
    "the core does not wait": (
        "three_clocks",
        (("if (sent_2 != done && taken_2 == done)", "if (sent_2 != done)"),),
        "PORTMAP protocol held: an answer changed",
    ),
    "bytes the other way round": ("two_beats", ((".bf16({in_data, low})", ".bf16({low, in_data})"),), "RESULT FAIL reason=mismatch"),
    "one bit late": ("bit_serial", (("bit_o <= code(3);", "bit_o <= code(2);"),), "RESULT FAIL reason=mismatch"),
}


@pytest.mark.cases(2)  # a run of cocotb takes seconds
@pytest.mark.parametrize("name", WAYS)
def test_the_wrapper_of_a_port_map_serves_cocotb(kit: Path, small: Path, wrapped: Callable[..., list[str]], name: str) -> None:
    files, suite = wrapped(name), read_suite(small)
    passed = f"RESULT PASS reason=none suite={SMALL} rows_sha256={suite.rows_sha256} compared={len(suite.rows)} mismatch=0 x=0 masked=0"
    for ways in ((), WAYS[name]) if name != "some_latency" else (WAYS[name],):
        assert run(kit, small, *files, *ways)[:2] == (0, [passed])
    if name == "some_latency":  # another latency fits no row
        code, lines, _ = run(kit, small, *files, "+latency=4")
        assert code == 1 and lines[-1].startswith("RESULT FAIL reason=")


@pytest.mark.cases(2)
@pytest.mark.parametrize(("name", "changes", "said"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_behind_a_wrapper_fails_in_cocotb(
    kit: Path, small: Path, wrapped: Callable[..., list[str]], name: str, changes: tuple[tuple[str, str], ...], said: str
) -> None:
    code, lines, _ = run(kit, small, *wrapped(name, *changes), *WAYS[name])
    assert code == 1 and any(line.startswith(said) for line in lines), lines
