"""Designs of port maps over time: right ones are proven; faults of arithmetic, state and protocol come back in simulation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.cli.main import run
from emu.contracts.columns import Column
from emu.contracts.rows import value_of
from emu.rtl.export import sequence_build, sequence_replay, special
from emu.rtl.export.equivalence import VACUOUS
from emu.rtl.export.functions import golden
from emu.rtl.export.replay import FalseCounterexample
from emu.rtl.export.sequence import SequenceProof, prove_map
from emu.rtl.export.special import class_condition
from emu.rtl.portmap.file import load_map
from emu.rtl.portmap.rows import has_class
from emu.spec.registry import get

WALKING = """kind: "portmap"
module: "walking"
files: ["walking.sv"]
contract: "convert/e2m1/rne/nvidia"
source: "bf16"
clock: "clk_i"
reset: {port: "rst_ni", active: "low", kind: "async"}
valid: {in: "start_i", out: "done_o"}
ready: {in: "ready_o"}
ports:
  x: {port: "bf16_i"}
  y: {port: "e2m1_o"}
"""
PIPE = """module pipe (input clk, input rst, input in_valid, input [31:0] x, output reg out_valid, output reg [3:0] y);
    reg valid_1, valid_2, sign_1, sign_2, nan_1, nan_2;
    reg [31:0] held;
    reg [2:0] low, code;
    wire [30:0] size = held[30:0];
    always @(posedge clk) begin
        {out_valid, valid_2, valid_1} <= rst ? 3'd0 : {valid_2, valid_1, in_valid};
        held <= x;
        // stage 2: how many midpoints lie below
        {sign_2, nan_2} <= {held[31], size > 31'h7f800000};
        code <= (size > 31'h3e800000) + (size >= 31'h3f400000) + (size > 31'h3fa00000) + (size >= 31'h3fe00000)
              + (size > 31'h40200000) + (size >= 31'h40600000) + (size > 31'h40a00000);
        y <= nan_2 ? 4'h7 : {sign_2, code};
    end
endmodule
"""
PIPE_MAP = """kind: "portmap"
module: "pipe"
files: ["pipe.sv"]
contract: "convert/e2m1/rne/nvidia"
source: "fp32"
clock: "clk"
reset: {port: "rst", active: "high", kind: "sync"}
valid: {in: "in_valid", out: "out_valid"}
ports:
  x: {port: "x"}
  y: {port: "y"}
"""
Changes = tuple[tuple[str, str], ...]


@pytest.fixture
def design(kit: Path, tmp_path: Path, need: Callable[..., None]) -> Callable[..., Path]:
    """The map of a design in a folder, with some texts changed."""

    def design(name: str, changes: Changes = (), map_changes: Changes = ()) -> Path:
        need("yosys", "yosys-abc", "iverilog", *(["ghdl"] if name == "bit_serial" else []))
        shutil.copytree(kit / "examples", tmp_path, dirs_exist_ok=True)
        shutil.copy(Path(__file__).with_name("walking.sv"), tmp_path)
        (tmp_path / "walking.yaml").write_text(WALKING)
        (tmp_path / "pipe.sv").write_text(PIPE)
        (tmp_path / "pipe.yaml").write_text(PIPE_MAP)
        for old, new in changes:
            found = [path for path in tmp_path.glob("*.*v*") if path.stem in (name, "e2m1_nearest") and old in path.read_text()]
            assert len(found) == 1 and found[0].read_text().count(old) == 1, old
            found[0].write_text(found[0].read_text().replace(old, new))
        path = tmp_path / f"{name}.yaml"
        for old, new in map_changes:
            assert path.read_text().count(old) == 1, old
            path.write_text(path.read_text().replace(old, new))
        return path

    return design


def proved(path: Path, rows: int | None = None, edges: int | None = None) -> SequenceProof:
    file = load_map(path)
    return prove_map(golden(file.map.contract or "", file.map.source), file, rows, edges)


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(("name", "edges"), [("walking", 8), ("pipe", 4), ("pressed", 2), ("fp4_pack2", 2)])
def test_a_right_design_is_proven(name: str, edges: int, design: Callable[..., Path]) -> None:
    found = proved(design(name), rows=2 if name == "walking" else None)
    assert (found.kind, found.why, found.rows) == ("proven", "", ())
    assert found.scope.edges == edges and found.scope.free_start
    assert found.scope.rows == (4 if name == "pressed" else 2)
    assert len(found.scope.waived) == (2 if name == "fp4_pack2" else 0)


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", ["two_beats", "bit_serial", "some_latency"])
def test_beats_and_an_unknown_latency_are_proven(name: str, design: Callable[..., Path]) -> None:
    found = proved(design(name))
    assert (found.kind, found.scope.latency) == ("proven", 5 if name == "some_latency" else None)


VALID_EARLY = "{out_valid, valid_2, valid_1} <= rst ? 3'd0 : {valid_1, valid_1, in_valid};"
HELD = "            if (in_ready) begin"
FAULTS: dict[str, tuple[str, Changes, str, int]] = {
    "a tie goes up in one stage": ("pipe", (("size > 31'h40a00000", "size >= 31'h40a00000"),), "answered wrong", 1),
    "a register of a stage is missing": ("pipe", (("nan_2 ? 4'h7 : {sign_2", "nan_2 ? 4'h7 : {held[31]"),), "answered wrong", 1),
    "valid an edge early": (
        "pipe",
        (("{out_valid, valid_2, valid_1} <= rst ? 3'd0 : {valid_2, valid_1, in_valid};", VALID_EARLY),),
        "answered wrong",
        1,
    ),
    "valid without a row": ("pipe", (("{valid_2, valid_1, in_valid};", "{valid_2, valid_1, in_valid | out_valid};"),), "without a row", 0),
    "reset leaves what is in flight": ("pipe", (("rst ? 3'd0 : {valid_2", "rst ? 3'd4 : {valid_2"),), "without a row", 0),
    "the code of the row before is not cleared": (
        "walking",
        (
            ("                    code <= 3'd0;\n", ""),
            ("            busy <= 1'b0;\n            done", "            busy <= 1'b0;\n            code <= 3'd0;\n            done"),
        ),
        "row 2 after the reset is answered wrong",
        2,
    ),
    "a state that reset gets wrong": (
        "walking",
        (("            busy <= 1'b0;\n            done_o", "            busy <= 1'b1;\n            step <= 3'd3;\n            done_o"),),
        "without a row",
        0,
    ),
    "no reset of the state": ("walking", (("            busy <= 1'b0;\n            done_o", "            done_o"),), "", 0),
    "a tie of the state machine": ("walking", (("{15'h4060, 1'b1}", "{15'h4060, 1'b0}"),), "answered wrong", 1),
    "back-pressure loses a row": ("pressed", (("assign in_ready = !first_valid || first_moves;", "assign in_ready = 1'b1;"),), "", 0),
    "an answer moves on while it waits": (
        "pressed",
        (("out_data <= first_code;\n", "\n"), (HELD, f"            out_data <= first_code;\n{HELD}")),
        "",
        0,
    ),
    "valid falls while it waits": (
        "pressed",
        (
            (
                "            if (first_moves) begin",
                "            if (out_valid && !out_ready) out_valid <= 1'b0;\n            if (first_moves) begin",
            ),
        ),
        "changes while it waits",
        0,
    ),
    "units see each other": (
        "fp4_pack2",
        (
            (
                "{cut(data_1[31:0]), cut(data_1[63:32])}",
                "{cut(data_1[31:0]), cut({data_1[63:33], data_1[55] ^ data_1[0] ^ data_1[0], 1'b0} | data_1[23:0])}",
            ),
        ),
        "answered wrong",
        1,
    ),
}


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_comes_back_in_simulation(fault: str, design: Callable[..., Path]) -> None:
    name, changes, words, rows = FAULTS[fault]
    found = proved(design(name, changes), rows=2 if name == "walking" else None)
    assert found.kind == "counterexample" and words in found.fault, found
    assert found.simulator == "icarus" and found.rows
    assert not rows or len(found.rows) == rows
    if "answered wrong" in found.fault:
        assert found.got is not None


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((("assign out_last = left == 2'd1;", "assign out_last = left == 2'd2;"),), "mark of the last beat"),
        (((".bf16({in_data, low})", ".bf16({low, in_data})"),), "answered wrong"),
        ((("if (!in_last) low <= in_data;", "if (!in_last && !out_valid) low <= in_data;"),), ""),
    ],
)
def test_a_fault_of_beats_comes_back(changes: Changes, words: str, design: Callable[..., Path]) -> None:
    found = proved(design("two_beats", changes))
    assert found.kind == "counterexample" and words in found.fault


SPOILT = "        y <= nan_2 ? 4'h7 : {sign_2, code};\n"
# No reset clears `odd`; a simulator takes its X as another number than 2.
KEPT = f"{SPOILT}        odd <= odd & {{2{{~x[31]}}}};\n        if (odd == 2'd2) y <= {{sign_2, ~code}};\n"


@pytest.mark.exhaustive
def test_registers_start_as_the_solver_chose_where_unknown_ones_hide_a_fault(
    design: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = design("pipe", ((SPOILT, KEPT), ("    reg [2:0] low,", "    reg [1:0] odd;\n    reg [2:0] low,")))
    found = proved(path)
    assert (found.kind, found.simulator) == ("counterexample", "icarus") and "row" in found.fault
    row, layout = found.rows[-1], golden("convert/e2m1/rne/nvidia", "fp32").layout
    wanted = value_of(layout, row, "y")
    assert found.got is not None and int(found.got["y"], 16) == (wanted & 8 | ~wanted & 7)
    monkeypatch.setattr(sequence_replay, "_registers", lambda start: {})
    with pytest.raises(FalseCounterexample, match="in icarus it does not come back"):
        proved(path)


@pytest.mark.exhaustive
def test_a_design_that_never_answers_is_no_pass(design: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = design("walking", (("done_o <= busy && step == 3'd6", "done_o <= busy && step == 3'd7"),))
    assert run(["rtl", "prove", "--map", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("SILENT convert/e2m1/rne/nvidia from bf16: no answer, or a row not taken, within 16 clock cycles")
    assert "replayed in icarus" in said.err


@pytest.mark.exhaustive
def test_an_answer_beyond_the_bound_is_late(design: Callable[..., Path]) -> None:
    path = design("walking")
    found = proved(path, rows=1, edges=7)
    assert (found.kind, found.simulator) == ("silent", "icarus")


@pytest.mark.exhaustive
def test_a_comparison_of_nothing_proves_nothing(design: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, old = sequence_build.TEMPLATE.read_text(), "assign bad = claimed & ~want_open & ("
    assert text.count(old) == 1
    (tmp_path / "blind.v.j2").write_text(text.replace(old, "assign bad = claimed & want_open & ("))
    shutil.copy(sequence_build.TEMPLATE.with_name("compare.v.j2"), tmp_path)
    monkeypatch.setattr(sequence_build, "TEMPLATE", tmp_path / "blind.v.j2")
    assert proved(design("pipe", (("size > 31'h40a00000", "size >= 31'h40a00000"),))).why == VACUOUS


@pytest.mark.exhaustive
def test_a_map_that_leaves_every_row_out_proves_nothing(design: Callable[..., Path]) -> None:
    tied = '  x: {value: "0x0"}\n'
    more = 'ties:\n  - {port: "x", bits: 32, value: "0x0"}\nunsupported:\n  - {class: "zero", why: "none"}\n'
    path = design("pipe", (), (('  x: {port: "x"}\n', tied), ('  y: {port: "y"}\n', f'  y: {{port: "y"}}\n{more}')))
    found = proved(path)
    assert (found.kind, found.why) == ("unknown", VACUOUS)
    path.write_text(path.read_text().replace('class: "zero"', 'class: "nan"'))
    assert proved(path).kind == "proven"


COMBINATIONAL = """kind: "portmap"
module: "two_ports"
files: ["two_ports.sv"]
contract: "decode/e2m1"
latency: 0
ports:
  code: {pieces: [{port: "sign_i", bits: 1}, {port: "size_i", bits: 3, lsb: 1}]}
  fp32: {port: "number_o"}
waived: {cls: "decoded elsewhere"}
ties:
  - {port: "size_i", value: "0x0"}
"""
TWO_PORTS = """module two_ports (input sign_i, input [3:0] size_i, output [31:0] number_o);
    wire [2:0] size = size_i[3:1];
    wire [8:0] top = size == 0 ? 9'd0 : size == 1 ? {8'd126, 1'b0} : {8'd126 + {6'd0, size[2:1]}, size[0]};
    assign number_o = {sign_i, top, 22'd0};
endmodule
"""


@pytest.mark.exhaustive
def test_a_combinational_design_with_ports_of_its_own(
    design: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design("pipe")
    (tmp_path / "two_ports.sv").write_text(TWO_PORTS)
    (tmp_path / "two_ports.yaml").write_text(COMBINATIONAL)
    assert run(["rtl", "prove", "--map", str(tmp_path / "two_ports.yaml")]) == 0
    assert capsys.readouterr().out == "PROVEN decode/e2m1 without cls (decoded elsewhere)\n"
    (tmp_path / "two_ports.yaml").write_text(COMBINATIONAL.replace('waived: {cls: "decoded elsewhere"}', 'missing: ["cls"]'))
    assert run(["rtl", "prove", "--map", str(tmp_path / "two_ports.yaml")]) == 1
    said = capsys.readouterr()
    assert said.out == "PROVEN decode/e2m1 without cls\n" and "cls: the contract has it and nothing is proven of it" in said.err
    (tmp_path / "two_ports.sv").write_text(TWO_PORTS.replace("size[0]}", "1'b0}"))
    out = tmp_path / "row.tv"
    assert run(["rtl", "prove", "--map", str(tmp_path / "two_ports.yaml"), "--out", str(out), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["result"], told["rows"][0][2]) == ("counterexample", told["mismatch"][0].split("in=")[1][0])
    assert "out=fp32" in told["mismatch"][0] and out.read_text().splitlines()[1].startswith("e")


@pytest.mark.exhaustive
def test_a_second_row_is_explained(design: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = design("walking", FAULTS["the code of the row before is not cleared"][1])
    assert run(["rtl", "prove", "--map", str(path), "--out", str(tmp_path / "rows.tv")]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("MISMATCH"))
    assert len((tmp_path / "rows.tv").read_text().splitlines()) == 3
    assert run(["explain", "mismatch", line]) == 0


@pytest.mark.parametrize(
    ("name", "changes", "map_changes", "what"),
    [
        ("three_clocks", (), (), "clocks: a proof over time knows one clock"),
        (
            "fp4_pack2",
            (),
            (('{class: "nan", why: "the design has no special values"}', '{class: "nan"}'),),
            "unsupported.0: a proof leaves rows out for a reason only",
        ),
        (
            "fp4_pack2",
            (),
            (('{class: "nan", why: "the design has no special values"}', '{flag: "tie", why: "no"}'),),
            "unsupported.0.flag: a flag is of a suite's rows",
        ),
        (
            "fp4_pack2",
            (),
            (('ties:\n  - {port: "bypass_i", value: "0x0"}\n', ""),),
            "input port bypass_i of fp4_pack2 is not in the map: tie it",
        ),
        ("pipe", (("output reg [3:0] y", "output reg [2:0] y"),), (), "port y of pipe has 3 bits, the map says 4"),
        ("pipe", (("input [31:0] x", "input [33:0] x"),), (), "port x of pipe has 34 bits, the map says 32"),
    ],
)
def test_what_a_proof_cannot_hold_is_one_line(
    name: str, changes: Changes, map_changes: Changes, what: str, design: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rtl", "prove", "--map", str(design(name, changes, map_changes))]) == 2
    said = capsys.readouterr().err
    assert what in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ((("always @(posedge clk) begin\n        {out", "always @(negedge clk) begin\n        {out"),), "not of the rising edge of clock"),
        ((("held <= x;", "end\n    always @* if (in_valid) held = x;\n    always @(posedge clk) begin"),), "a latch"),
    ],
)
def test_what_is_no_flip_flop_of_the_clock_is_unknown(changes: Changes, what: str, design: Callable[..., Path]) -> None:
    found = proved(design("pipe", changes))
    assert found.kind == "unknown" and what in found.why


def test_options_that_do_not_go_together(design: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = str(design("pipe"))
    for words in (
        ["convert/e2m1/rne/nvidia", "x.sv", "--map", path],
        ["--map", path, "--solver", "z3"],
        [],
        ["decode/e2m1", "x.sv", "--rows", "2"],
    ):
        assert run(["rtl", "prove", *words]) == 2
        assert capsys.readouterr().err.count("\n") >= 1


@pytest.mark.cases(2, 0)
@pytest.mark.parametrize("name", ["e2m1", "bf16", "e5m2"])
def test_conditions_of_classes_are_the_classes(name: str) -> None:
    """Verilog's reductions in Python, for every code."""
    fmt = get("format", name)
    bits = fmt.facts.bits
    frac, exp = fmt.facts.frac_bits, fmt.facts.exp_bits
    column = Column("x", "in", bits, name)
    for wanted in ("zero", "negative_zero", "subnormal", "inf", "nan", "signalling_nan", "negative"):
        text = class_condition(wanted, column, "x")
        if bits <= 8:
            codes = {int(word.split("'h")[1].strip(") "), 16) for word in text.split("|")} if "'h" in text else set()
            assert codes == {code for code in range(1 << bits) if has_class(code, fmt, wanted)}
            continue
        words = {f"x[0 +: {frac}]": "F", f"x[{frac} +: {exp}]": "E", f"x[{frac + exp}]": "S", f"x[{frac - 1}]": "Q"}
        for old, new in words.items():
            text = text.replace(old, new)
        text = (
            text.replace("|{E, F}", "(E or F)")
            .replace("~|E", "(not E)")
            .replace("~|F", "(not F)")
            .replace("&E", f"(E == {(1 << exp) - 1})")
        )
        text = text.replace("|F", "(F != 0)").replace("~Q", "(not Q)").replace("&", "and").replace("|", "or")
        for code in range(1 << bits):
            given = {"F": code & (1 << frac) - 1, "E": code >> frac & (1 << exp) - 1, "S": code >> frac + exp, "Q": code >> frac - 1 & 1}
            assert bool(eval(text, given)) == has_class(code, fmt, wanted), (wanted, hex(code))


def test_a_wide_format_that_is_no_interchange_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special, "TABLE_BITS", 4)
    with pytest.raises(SpecError, match="e4m3: classes of a format this wide are told for binary interchange formats only"):
        class_condition("nan", Column("x", "in", 8, "e4m3"), "x")
