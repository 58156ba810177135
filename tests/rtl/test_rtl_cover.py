"""The log of a real run with +rows goes into emu vectors cover: every row that was driven is counted, right or wrong."""

from collections.abc import Callable
from pathlib import Path

from emu.rtl.simulate.simulator import compile_bench, find, run
from emu.vectors import build
from emu.vectors.coverage.count import crosses_of
from emu.vectors.coverage.read import rows_of

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
DUT = """module dut (input clk, input rst, input in_valid, output out_valid, input [15:0] x, output [3:0] y);
  assign out_valid = in_valid;
  assign y = x[15:12];
endmodule
"""


def test_rows_of_a_log_are_those_of_the_suite(need: Callable[..., None], tmp_path: Path) -> None:
    need("iverilog", "vvp")
    build(tmp_path / "out", ["smoke"], ["convert/e2m1/rne/nvidia"])
    suite, design = tmp_path / "out" / "convert" / STEM, tmp_path / "dut.sv"
    design.write_text(DUT)
    built = compile_bench(find("icarus"), "convert", suite, [design], {}, tmp_path / "work")
    found = run(built, suite.with_name(f"{STEM}.mem"), ["+rows"])
    path = tmp_path / "sim.log"
    path.write_text("".join(f"{line}\n" for line in found.lines))
    counted, wanted = rows_of(path), rows_of(suite.with_name(f"{STEM}.json"))
    assert counted == wanted and any(line.startswith("MISMATCH ") for line in found.lines)
    assert crosses_of(STEM, counted[STEM]) == crosses_of(STEM, wanted[STEM])
