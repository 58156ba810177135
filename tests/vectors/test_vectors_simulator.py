"""A simulator reads the files: three rows are loaded, guard and trailer are where they should be. Skips where Icarus Verilog is absent."""

import shutil
import subprocess
from pathlib import Path

import pytest

from emu.contracts.columns import Column, layout_of
from emu.contracts.rows import Input, make_row
from emu.vectors.files import writers
from emu.vectors.files.writers import Counts

BENCH = """module bench;
  reg [`TC_WIDTH-1:0] words [0:`TC_WORDS-1];
  integer i;
  initial begin
    for (i = 0; i < `TC_WORDS; i = i + 1) words[i] = 0;
    $readmemh({`TC_STEM, ".mem"}, words);
    for (i = 0; i < `TC_WORDS; i = i + 1)
      $display("%h %h %h %h", words[i][`TC_WIDTH-1 -: 4], words[i][`TC_X_LSB +: `TC_X_BITS],
               words[i][`TC_Y_LSB +: `TC_Y_BITS], words[i][`TC_M_Y_LSB +: `TC_M_Y_BITS]);
    $finish;
  end
endmodule
"""


def test_icarus_loads_three_rows(tmp_path: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog absent: apt-get install iverilog")
    layout = layout_of([Column("x", "in", 32, "fp32"), Column("y", "out", 4, "e2m1")])
    rows = [make_row(layout, Input("g", ("tie",), (x,)), ((y,),)) for x, y in ((0x40A00000, 6), (0xFFC00000, 7), (0x3E800001, -1))]
    (tmp_path / "three.mem").write_text(writers.render_mem(layout, rows))
    (tmp_path / "three.svh").write_text(writers.render_svh(layout, Counts("three", 3, 1, 1, 3, "0" * 64)))
    (tmp_path / "bench.v").write_text(BENCH)
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "t.vvp", "three.svh", "bench.v"], cwd=tmp_path, check=True)
    run = subprocess.run(["vvp", "-n", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[:4] == writers.render_tv(layout, rows).splitlines()
