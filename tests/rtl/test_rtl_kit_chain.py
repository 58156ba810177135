"""Chains of accumulation and stage columns: golden-fed, fed by the design, a design that hides its accumulator, a wrong stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.contracts.columns import Column
from emu.rtl.simulate import simulator

REGISTER = "accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__smoke"
PASSED_ON = "accumulate__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
DOT = "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
TRANSFORM = "transform__bf16_to_bf16__rht16_ufp4__smoke"

Compile = Callable[..., simulator.Built]


@pytest.fixture(scope="module")
def compiled(frozen: Callable[[str], Path], table: Path, need: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """A function of stem, stages and macros: the bench with the table design."""
    need("iverilog")
    made: dict[object, simulator.Built] = {}

    def get(stem: str, stages: bool = False, **defines: int) -> simulator.Built:
        key = (stem, stages, tuple(defines.items()))
        if key not in made:
            work = tmp_path_factory.mktemp("bench")
            made[key] = simulator.compile_bench(
                simulator.find("icarus"), stem.partition("__")[0], frozen(stem), [table], defines, work, stages=stages
            )
        return made[key]

    return get


def play(bench: simulator.Built, *plusargs: str) -> simulator.Outcome:
    return simulator.run(bench, bench.shard.mem, [f"+table={bench.shard.mem}", *plusargs])


@pytest.mark.parametrize("stem", [REGISTER, PASSED_ON, DOT, TRANSFORM])
@pytest.mark.parametrize("latency", [0, 4])
def test_stages_are_compared_on_request(compiled: Compile, stem: str, latency: int) -> None:
    bench = compiled(stem, stages=True)
    judged = simulator.judge(bench, [f"+table={bench.shard.mem}", f"+latency={latency}"])
    assert judged.exit_code == 0, judged.why
    assert judged.runs[0].result.compared == bench.shard.compared(stages=True)


@pytest.mark.parametrize(("stem", "column"), [(REGISTER, "acc"), (PASSED_ON, "u0_rs"), (DOT, "u0_rs"), (TRANSFORM, "b3")])
def test_a_wrong_stage_is_seen_and_named(compiled: Compile, stem: str, column: str) -> None:
    out = play(compiled(stem, stages=True), "+fault=stage", "+at=1", "+latency=1")
    assert (out.exit_code, out.result.mismatch) == (1, 1)
    assert f" tc=2 out={column} in=" in out.lines[0]
    assert play(compiled(stem), "+fault=stage", "+at=1").exit_code == 0


def test_rows_without_an_output_are_counted_apart(compiled: Compile) -> None:
    """With a register d is there in the last row of a chain alone; only stages see the rows before."""
    bench = compiled(REGISTER)
    assert (bench.shard.compared(stages=False), bench.shard.compared(stages=True)) == (1, 8)
    result = simulator.judge(bench, [f"+table={bench.shard.mem}"]).runs[0].result
    assert (result.compared, result.masked) == (1, 7)


@pytest.mark.parametrize("latency", [0, 3])
def test_one_early_error_spoils_a_chain_that_the_design_feeds(compiled: Compile, latency: int) -> None:
    bench = compiled(PASSED_ON)
    assert simulator.judge(bench, ["+chain=dut", f"+table={bench.shard.mem}", f"+latency={latency}"]).exit_code == 0
    wrong = ("+fault=flip", "+at=2", f"+latency={latency}")
    assert play(bench, *wrong).result.mismatch == 1
    fed = play(bench, *wrong, "+chain=dut").result
    assert fed.mismatch == 1
    assert fed.x == 5  # the table has no row for a state that is not golden


def test_a_register_that_the_design_shows_is_fed_back(compiled: Compile) -> None:
    bench = compiled(REGISTER, stages=True)
    assert simulator.judge(bench, ["+chain=dut", f"+table={bench.shard.mem}", "+latency=2"]).exit_code == 0
    fed = play(bench, "+chain=dut", "+fault=stage", "+at=5").result
    assert (fed.mismatch, fed.x) == (1, 2)


def test_a_register_that_the_design_hides_runs_chained_alone(compiled: Compile) -> None:
    """The design is not told the state (X); the table plays one that keeps its own by not looking at it."""
    bench = compiled(REGISTER)
    text = bench.shard.svh.read_text()
    place, bits = (int(text.split(f"`define TC_ACC_IN_{name} ")[1].split()[0]) for name in ("LSB", "BITS"))
    hidden = compiled(REGISTER, TABLE_WITHOUT=place, TABLE_WITHOUT_BITS=bits)
    assert simulator.judge(hidden, ["+chain=dut", f"+table={bench.shard.mem}", "+latency=1"]).exit_code == 0
    assert play(bench, "+chain=dut").exit_code == 4


def test_a_chain_that_starts_in_the_middle(handmade: Callable[..., Path], need: Callable[..., None], tmp_path: Path) -> None:
    """A running sum in a register of the design: the second reset comes inside a chain, which starts again; each row counts once."""
    need("iverilog")
    columns = [Column(name, "in", 4) for name in ("first", "last")]
    columns += [Column("a", "in", 8), Column("b", "in", 8), Column("c", "in", 16), Column("d", "out", 16)]
    cases, state = [], 0
    for place in range(12):
        first = place % 5 == 0
        before = 100 * place if first else state
        state = before + (place + 1) * (place + 3)
        cases.append(((int(first), int(place % 5 == 4), place + 1, place + 3, before), ((state,),)))
    path = handmade("accumulate__int4xint4_to_int4__sum__smoke", columns, cases)
    design = tmp_path / "sum.sv"
    design.write_text("""
module dut(input clk, rst, in_valid, output reg out_valid, input [3:0] first, last, input [7:0] a, b, input [15:0] c, output reg [15:0] d);
  always @(posedge clk) begin
    out_valid <= in_valid && !rst;
    if (rst) d <= 16'hdead;
    else if (in_valid) d <= (first[0] ? c : d) + a * b;
  end
endmodule
""")
    bench = simulator.compile_bench(simulator.find("icarus"), "accumulate", path, [design], {}, tmp_path / "work")
    for plusargs in (["+chain=dut"], ["+chain=dut", "+stall=9"]):
        judged = simulator.judge(bench, plusargs)
        assert (judged.exit_code, judged.runs[0].result.compared) == (0, 12), judged.runs[0].lines
    rows = [line.split(" ")[2] for line in play(bench, "+chain=dut", "+rows").lines if line.startswith("ROW ")]
    assert rows == [f"tc={place}" for place in range(1, 13)]
    assert simulator.judge(bench, []).exit_code == 1  # rows in flight are sent again: a design with a state of its own cannot take that


LOSES = """
module dut(input clk, rst, in_valid, output reg out_valid, input [3:0] first, last, input [7:0] a, b, input [15:0] c, output reg [15:0] d);
  always @(posedge clk) begin
    out_valid <= in_valid && !rst;
    if (in_valid) d <= (first[0] && clean ? c : d) + a * b;
  end
  reg clean = 1'b0, started = 1'b0;
  always @(posedge clk) if (rst) clean <= !started; else if (in_valid) started <= 1'b1;
endmodule
"""


def test_a_design_that_goes_wrong_after_the_second_reset(handmade: Callable[..., Path], need: Callable[..., None], tmp_path: Path) -> None:
    """One chain: its rows come again after the reset; a design that then starts from its old state is wrong in each of them, once."""
    need("iverilog")
    columns = [Column(name, "in", 4) for name in ("first", "last")]
    columns += [Column("a", "in", 8), Column("b", "in", 8), Column("c", "in", 16), Column("d", "out", 16)]
    sums = [sum(place + 1 for place in range(row + 1)) for row in range(6)]
    cases = [((int(row == 0), int(row == 5), row + 1, 1, sums[row - 1] if row else 0), ((sums[row],),)) for row in range(6)]
    path = handmade("accumulate__int4xint4_to_int4__sum__smoke", columns, cases)
    (tmp_path / "dut.sv").write_text(LOSES)
    bench = simulator.compile_bench(simulator.find("icarus"), "accumulate", path, [tmp_path / "dut.sv"], {}, tmp_path / "work")
    result = play(bench, "+chain=dut").result
    assert (result.verdict, result.compared, result.mismatch) == ("FAIL", 6, 6)


def test_stages_of_a_suite_that_has_none(compiled: Compile) -> None:
    with pytest.raises(FileError, match="no stage columns"):
        compiled("convert__bf16_to_e2m1__nvidia_rne__smoke", stages=True)
