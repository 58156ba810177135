"""The kit in Verilator, which knows two states only: the verdicts of Icarus, seeds of unwritten bits, and a bench that it miscompiles."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.whole import ALL

from emu.rtl.simulate import simulator

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
DEFECTS = yaml.safe_load((Path(__file__).parent / "kit_defects.yaml").read_text())
OTHERS = {
    "decode": "decode__e5m2_to_fp32__exact__all",
    "quantize": "quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke",
    "dequantize": "dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke",
    "transform": "transform__bf16_to_bf16__rht16_ufp4__smoke",
    "dot": "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke",
    "accumulate": "accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__smoke",
}
PLAYED = ("accumulate",)
# fault -> (cycles of latency, exit code, reason); x and z are bits like others here
FAULTS = {
    "none": (3, 0, "none"),
    "masked": (0, 0, "none"),
    "flip": (0, 1, "mismatch"),
    "swap": (1, 1, "mismatch"),
    "late": (2, 1, "mismatch"),
    "silent": (1, 1, "timeout"),
    "stuck": (2, 1, "timeout"),
    "drop": (2, 1, "count"),
    "extra": (1, 1, "count"),
    "always": (0, 1, "count"),
    "unreset": (9, 1, "count"),
    "hang": (1, 1, "timeout"),
}
NAIVE = """module bench;
  reg [15:0] x; wire [3:0] y; wire v;
  dut device(.clk(1'b0), .rst(1'b0), .in_valid(1'b1), .out_valid(v), .x(x), .y(y));
  reg [`TC_WIDTH-1:0] rows [0:`TC_WORDS-1];
  integer i, n, compared, mismatch;
  reg [8*400-1:0] file;
  initial begin
    for (i = 0; i < `TC_WORDS; i = i + 1) rows[i] = 0;
    n = `TC_N; compared = 0; mismatch = 0;
    if ($value$plusargs("n=%d", n)) ;
    if ($value$plusargs("vec=%s", file)) $readmemh(file, rows);
    for (i = 0; i < n; i = i + 1) begin
      #1 x = rows[i][`TC_X_LSB +: 16];
      #1 compared = compared + 1;
      if (y !== rows[i][`TC_Y_LSB +: 4]) mismatch = mismatch + 1;
    end
    $display("RESULT %0s reason=%0s suite=%0s rows_sha256=%0s compared=%0d mismatch=%0d x=0 masked=0", mismatch == 0 ? "PASS" : "FAIL",
      mismatch == 0 ? "none" : "mismatch", `TC_STEM, `TC_ROWS_SHA256, compared, mismatch);
    $finish;
  end
endmodule
"""


@pytest.fixture(scope="module")
def bench(
    frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> simulator.Built:
    need("verilator", "g++", "make")
    return simulator.compile_bench(simulator.find("verilator"), "convert", frozen(STEM), [table], {}, tmp_path_factory.mktemp("bench"))


def play(built: simulator.Built, *plusargs: str, mem: Path | None = None) -> simulator.Outcome:
    return simulator.run(built, mem or built.shard.mem, [f"+table={built.shard.mem}", "+verilator+rand+reset+2", *plusargs])


@pytest.mark.cases(0, 6)  # compiles in Verilator
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.exhaustive
def test_the_verdicts_are_those_of_icarus(bench: simulator.Built, fault: str) -> None:
    latency, code, reason = FAULTS[fault]
    out = play(bench, f"+fault={fault}", "+at=9", f"+latency={latency}", "+watchdog=30")
    assert out.result is not None, out.other
    assert (out.exit_code, out.result.reason) == (code, reason), out.lines


@pytest.mark.exhaustive
def test_the_self_test_and_all_seeds(bench: simulator.Built) -> None:
    judged = simulator.judge(bench, [f"+table={bench.shard.mem}", "+latency=1", "+stall=5"], seeds=range(1, 9))
    assert (judged.exit_code, len(judged.runs), judged.self_test.result.mismatch) == (0, 8, 1), judged.why
    assert len({run.lines for run in judged.runs}) == 1


@pytest.mark.exhaustive
def test_a_bit_that_nothing_writes_is_found_by_the_seeds(bench: simulator.Built) -> None:
    """Row 20 answers with an unknown bit: some seeds agree with the golden row, so that the lines differ."""
    judged = simulator.judge(bench, [f"+table={bench.shard.mem}", "+fault=x", "+at=20"], seeds=range(1, 9))
    assert judged.exit_code in (1, 4), judged.why
    assert {run.exit_code for run in judged.runs} == {0, 1}


@pytest.mark.parametrize("name", DEFECTS)
@pytest.mark.exhaustive
def test_files_are_refused(bench: simulator.Built, tmp_path: Path, name: str) -> None:
    text = re.sub(DEFECTS[name]["find"], DEFECTS[name]["put"], bench.shard.mem.read_text())
    (tmp_path / "rows.mem").write_bytes(text.encode())
    out = play(bench, mem=tmp_path / "rows.mem")
    if DEFECTS[name]["verilator"] == "error":
        assert (out.result, out.exit_code) == (None, 1)
    elif DEFECTS[name]["verilator"] == "none":
        assert out.result.verdict in ("PASS", "FAIL")  # loaded silently: only the look at the file catches it
    else:
        assert out.result.reason == DEFECTS[name]["verilator"], out.lines


@pytest.mark.exhaustive
def test_a_missing_file_is_refused(bench: simulator.Built, tmp_path: Path) -> None:
    assert play(bench, mem=tmp_path / "absent.mem").result.reason == "guard"


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", OTHERS)
def test_verilator_takes_every_bench(op: str, frozen: Callable[[str], Path], table: Path, kit: Path, need: Callable[..., None]) -> None:
    need("verilator")
    words = ["verilator", "--lint-only", "--timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", "bench", f"-I{kit}"]
    done = subprocess.run([*words, f"{frozen(OTHERS[op])}.svh", str(kit / f"{op}.sv"), str(table)], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", OTHERS if ALL else PLAYED)
def test_every_bench(op: str, frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path: Path) -> None:
    need("verilator", "g++", "make")
    path = frozen(OTHERS[op])
    with_stages = "`EMU_OUT" in path.with_suffix(".svh").read_text().split("`define TC_STAGES")[1]
    built = simulator.compile_bench(simulator.find("verilator"), op, path, [table], {}, tmp_path, stages=with_stages)
    judged = simulator.judge(built, [f"+table={built.shard.mem}", "+latency=2", "+stall=8"], seeds=(1, 2))
    assert judged.exit_code == 0, judged.why
    for fault in ("stage" if op == "accumulate" else "flip", "swap", "silent", "extra", "always"):
        out = play(built, f"+fault={fault}", "+latency=0")
        assert (out.exit_code, out.result.reason) == (1, FAULTS.get(fault, FAULTS["flip"])[2]), (fault, out.lines)
    if with_stages:
        assert play(built, "+fault=stage", "+at=1").result.mismatch == 1


@pytest.fixture
def miscompiled(frozen: Callable[[str], Path], need: Callable[..., None], tmp_path: Path) -> simulator.Built:
    """A bench with two delays in a loop and a design that is wrong in every row, built without -fno-life."""
    need("verilator", "g++", "make")
    shard = simulator.read_shard(frozen(STEM))
    (tmp_path / "bench.sv").write_text(NAIVE)
    (tmp_path / "dut.sv").write_text(
        "module dut(input clk, rst, in_valid, output out_valid, input [15:0] x, output [3:0] y);\n"
        "  assign out_valid = in_valid; assign y = 4'h9;\nendmodule\n"
    )
    words = ["--binary", "--timing", "-Wno-fatal", "-Wno-lint", "--top-module", "bench", "--Mdir", str(tmp_path / "obj_dir")]
    files = [str(shard.svh), str(tmp_path / "bench.sv"), str(tmp_path / "dut.sv")]
    subprocess.run(["verilator", *words, *files], check=True, capture_output=True, cwd=tmp_path)
    return simulator.Built(simulator.find("verilator"), shard, False, (str(tmp_path / "obj_dir" / "Vbench"),), tmp_path)


@pytest.mark.exhaustive
def test_the_self_test_catches_a_miscompiled_bench(miscompiled: simulator.Built) -> None:
    """Verilator 5.006 folds its counters: a false PASS with a design that is wrong in every row. A later version judges rightly."""
    judged = simulator.judge(miscompiled)
    assert judged.exit_code != 0
    if judged.runs[0].result.verdict == "PASS":
        assert judged.runs[0].result.compared == 0 or judged.why.startswith("the suite passes, yet the self-test does not")


@pytest.mark.exhaustive
def test_the_bench_of_the_kit_does_not_need_the_option(
    frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("verilator", "g++", "make")
    whole = simulator._compiler
    monkeypatch.setattr(simulator, "_compiler", lambda *words: [word for word in whole(*words) if word != "-fno-life"])
    built = simulator.compile_bench(simulator.find("verilator"), "convert", frozen(STEM), [table], {}, tmp_path)
    assert simulator.judge(built, [f"+table={built.shard.mem}"]).exit_code == 0
    assert play(built, "+fault=flip", "+at=3").result.mismatch == 1
