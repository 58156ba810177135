"""The bench that judges mutants: streams the rows of a suite through one mutant after the other.

Each stops at its first difference, or with `every` lists all rows that differ. It knows nothing of stalls, resets and reports: judging
designs is the work of the kit's benches (vectors/bench).
"""

from __future__ import annotations

from typing import Final

from emu.base.errors import SpecError
from emu.contracts.columns import Column, Layout
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

SELECTOR: Final = "mutsel"
PATIENCE: Final = 64  # clock edges without an answer
RESET: Final = 4
JOLT: Final = 7  # rows sent before the reset in mid-stream

_TEXT: Final = """module bench;
  reg clk = 0, rst = 1, in_valid = 0;
  always #5 clk = ~clk;
{regs}
{wires}
  wire out_valid;
  reg [{select_bits}-1:0] select = 0;
  reg [{width}-1:0] words [0:{most}-1];
  reg [{width}-1:0] row;
  reg live [0:{mutants}];
  reg [8*4096-1:0] vec, chosen;
  integer n, sent, got, idle, hold, jolt;  // jolt: 0 the reset in mid-stream is to come, 1 it is on, 2 it was
  dut dut(.clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid),{selector}
{ports});
  initial begin
    n = 0; sent = 0; got = 0; idle = 0; hold = {reset}; jolt = 0;
    if (!$value$plusargs("vec=%s", vec) || !$value$plusargs("n=%d", n) || !$value$plusargs("live=%s", chosen)) begin
      $display("BAD plusargs"); $finish;
    end
    $readmemh(vec, words);
    $readmemb(chosen, live);
  end
  task next; begin
    select = select + 1;
    while (select <= {mutants} && !live[select]) select = select + 1;
    rst <= 1; in_valid <= 0; sent = 0; got = 0; idle = 0; hold = {reset}; jolt = 0;
    if (select > {mutants} || select == 0) begin $display("DONE"); $finish; end
  end endtask
  always @(posedge clk) begin
    row = words[got];
    if (hold > 0) begin
      hold = hold - 1;
      rst <= hold > 1;
    end else if (jolt == 1) begin
      rst <= 0; sent = got; jolt = 2;  // what was in flight is sent again
    end else begin
      if (out_valid === 1'b1) begin
        idle = 0;
        if (got >= sent) begin $display("KILL %0d 0 extra", select); next; end
        else if (row[{width}-1 -: 4] !== 4'ha) begin $display("BAD guard %0d", got); $finish; end
        else if (!({same})) begin
          $display("KILL %0d %0d bits", select, got + 1);
          {after}
        end
        else got = got + 1;
      end else if (out_valid !== 1'b0) begin
        $display("KILL %0d 0 x", select); next;
      end else begin
        idle = idle + 1;
        if (idle > {patience}) begin $display("KILL %0d 0 timeout", select); next; end
      end
      if (hold == 0 && got == n) begin $display("LIVE %0d", select); next; end
      if (hold == 0 && jolt == 0 && sent == {jolt_at}) begin
        rst <= 1; in_valid <= 0; jolt = 1;
      end else if (hold == 0) begin
        in_valid <= sent < n;
        row = words[sent < n ? sent : 0];
{drive}
        if (sent < n) sent = sent + 1;
      end
    end
  end
endmodule
"""


def render(layout: Layout, most: int, mutants: int = 0, selector_bits: int = 0, every: bool = False) -> str:
    """Return the text of the bench.

    most: words of the longest suite, trailer included.   mutants: how many; 0 is the right design.   selector_bits: width of the input that
    chooses among them; 0: the design has none.   every: list all rows that differ.   Raises: SpecError (a free NaN payload of a lane).
    """
    outs = [column for column in layout.results if column.role == "out"]
    names = [column.name for column in (*layout.inputs, *outs)]
    return _TEXT.format(
        regs="\n".join(f"  reg [{column.bits}-1:0] {column.name} = 0;" for column in layout.inputs),
        wires="\n".join(f"  wire [{column.bits}-1:0] {column.name};" for column in outs),
        select_bits=selector_bits + 1,
        width=layout.width,
        most=most,
        mutants=mutants,
        selector=f" .{SELECTOR}(select[{selector_bits}-1:0])," if selector_bits else "",
        ports=",\n".join(f"    .{name}({name})" for name in names),
        same=" && ".join(_same(layout, column) for column in outs),
        after="got = got + 1;" if every else "next;",
        reset=RESET,
        jolt_at=JOLT,
        patience=PATIENCE,
        drive="\n".join(f"        {column.name} <= {_field(layout, column.name)};" for column in layout.inputs),
    )


def _field(layout: Layout, name: str) -> str:
    column = layout.columns[layout.index(name)]
    return f"row[{layout.lsb(name)} +: {column.bits}]"


def _same(layout: Layout, column: Column) -> str:
    equal = f"(({column.name} ^ {_field(layout, column.name)}) & {_field(layout, 'm_' + column.name)}) === 0"
    if not column.any_nan:
        return equal
    return f"({_field(layout, 'k_' + column.name)} === 0 ? {equal} : {_nan(column)} === 1'b1)"


def _nan(column: Column) -> str:
    """Return the test for a NaN of a column whose NaN payload is free."""
    fmt: Format = get("format", column.format or "")
    if column.lanes != 1 or not isinstance(fmt.facts, FloatFacts) or fmt.facts.nan != "ieee":
        raise SpecError(f"column {column.name}: a free NaN payload is judged in one lane of a format with infinity only")
    frac, exp = fmt.facts.frac_bits, fmt.facts.exp_bits
    return f"(&{column.name}[{frac} +: {exp}] && |{column.name}[0 +: {frac}])"
