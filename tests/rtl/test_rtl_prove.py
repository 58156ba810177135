"""Reference designs against golden functions: proven. Seeded faults: an input that `exact` judges, which tells fault from design."""

import itertools
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from support.whole import ALL

from emu.base.errors import EngineError, FileError, ToolError
from emu.cli.main import run
from emu.engines.exact.convert import convert_code
from emu.rtl.export import prove as prove_module
from emu.rtl.export import prove_z3, yosys
from emu.rtl.export.circuit import const
from emu.rtl.export.equivalence import VACUOUS, Verdict
from emu.rtl.export.functions import Golden, golden
from emu.rtl.export.prove import prove, render_mem, render_tv
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit, read_units
from emu.spec.registry import get

needs_yosys = pytest.mark.skipif(not (shutil.which("yosys") and shutil.which("yosys-abc")), reason="yosys absent: apt-get install yosys")
needs_z3 = pytest.mark.skipif(shutil.which("z3") is None, reason="z3 absent: apt-get install z3")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog absent: apt-get install iverilog")

POLICY = {"e2m1": "nvidia", "e1m2": "nvidia"}  # the reference designs send NaN to +max, as it does; other grids: what leaves NaN open


def contract_of(unit: str) -> tuple[str, str | None]:
    """The contract that a unit's name says."""
    op, *rest = unit.split("_")
    if op == "decode":
        return f"decode/{rest[0]}", None
    if op in ("product", "dot16"):
        pair = rest[0] if "x" in rest[0] else f"{rest[0]}x{rest[0]}"
        return f"{'product' if op == 'product' else 'group_sum'}/{pair}", None
    rounding = "_".join(word for word in rest[2:] if word != "pipe")
    return f"convert/{rest[1]}/{rounding}/{POLICY.get(rest[1], 'ocp_saturate')}", rest[0]


def sources_of(unit: Unit) -> tuple[list[Path], list[str]]:
    return [unit.wrapper, *unit.files], [f"{name}={value}" for name, value in unit.defines.items()]


PRODUCT = "module dut(input [3:0] a, input [3:0] b, {more} output [{high}:0] p); {body} endmodule"
RIGHT = "wire signed [3:0] x = a, y = b; assign p = x * y;"


def written(tmp_path: Path, more: str = "", high: int = 7, body: str = RIGHT) -> list[Path]:
    path = tmp_path / "dut.sv"
    path.write_text(PRODUCT.format(more=more, high=high, body=body))
    return [path]


QUICK = ["decode_int4", "convert_fp32_e2m1_rne", "convert_bf16_e1m2_sr_add8", "product_e2m1xe1m2"]


@pytest.mark.cases(2)
@needs_yosys
@pytest.mark.parametrize("name", QUICK)
def test_a_reference_design_is_the_golden_function(name: str) -> None:
    files, defines = sources_of(read_units(simulator.path())[name])
    assert prove(golden(*contract_of(name)), files, defines)[:4] == ("proven", None, False, "")


@needs_yosys
@needs_z3
@pytest.mark.parametrize("name", ["decode_e2m1", "convert_fp32_e2m1_rne", "convert_bf16_e1m2_sr_add8", "convert_bf16_e1m2_rz_pipe"])
def test_z3_proves_it_too_from_the_smt_lib_form(name: str) -> None:
    files, defines = sources_of(read_units(simulator.path())[name])
    assert prove(golden(*contract_of(name)), files, defines, solver="z3")[:4] == ("proven", None, name.endswith("_pipe"), "")


@needs_yosys
@needs_z3
@pytest.mark.parametrize("body", ["assign p = {4'h0, a} * {4'h0, b};", RIGHT.replace("x * y", "a == 9 && b == 3 ? 8'bx : x * y")])
def test_z3_finds_what_is_wrong(body: str, tmp_path: Path) -> None:
    item = golden("product/int4xint4")
    found = prove(item, written(tmp_path, body=body), solver="z3")
    assert found.kind == "counterexample"
    assert found.row is not None
    a, b, wanted, mask = (found.row.values[item.layout.index(name)] for name in ("a", "b", "p", "m_p"))
    assert wanted == (a - (a & 8) * 2) * (b - (b & 8) * 2) & 255
    assert mask == 255
    assert (a, b) == (9, 3) or (a | b) & 8


@needs_yosys
def test_an_absent_z3_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_z3, "Z3", "z3_that_is_not_there")
    with pytest.raises(ToolError, match="z3: not found"):
        prove(golden("product/int4xint4"), written(tmp_path), solver="z3")


@needs_yosys
def test_a_pipeline_is_proven_as_a_function() -> None:
    name = "convert_bf16_e1m2_rz_pipe"
    files, defines = sources_of(read_units(simulator.path())[name])
    assert prove(golden(*contract_of(name)), files, defines)[:4] == ("proven", None, True, "")


def one_of_a_family(units: list[str]) -> list[str]:
    """Converters of a rounding or a pair of formats that none before them has, those from bf16 that round toward zero, and all else."""
    seen: set[str] = set()
    chosen = []
    for unit in units:
        op, *rest = unit.split("_")
        alone = op != "convert" or (rest[0] == "bf16" and "rz" in rest)
        family = {unit} if alone else {"_".join(rest[:2]), "_".join(rest[2:])}
        if not family <= seen:
            chosen.append(unit)
            seen |= family
    return chosen


@needs_yosys
@pytest.mark.cases(0, 0)
def test_every_small_reference_design_is_its_golden_function() -> None:
    """All of them with EMU_ALL=1."""
    units = [name for name in read_units(simulator.path()) if name.split("_")[0] in ("decode", "convert", "product")]
    units += ["dot16_e2m1", "dot16_e1m2", "dot16_int4xe1m2"]
    chosen = units if ALL else one_of_a_family(units)
    for name in chosen:
        files, defines = sources_of(read_units(simulator.path())[name])
        assert prove(golden(*contract_of(name)), files, defines).kind == "proven", name
    assert len(units) >= 40 and len(chosen) >= 30


FAULTS = [
    ("convert_fp32_e2m1_rne", "rtl/convert4.sv", "0: up = half & (rest | is_odd);", "0: up = half & rest;", "tie"),
    ("convert_fp32_e2m1_rne", "rtl/convert4.sv", "assign sticky = gone != 0;", "assign sticky = gone[WORK-1:1] != 0;", "sticky"),
    ("convert_bf16_int4_rz", "rtl/convert4.sv", "sign ? minus : magnitude", "sign ? ~magnitude : magnitude", "sign"),
    ("convert_bf16_e1m2_sr_add8", "rtl/convert4.sv", "{1'b0, top} + {1'b0, r};", "{1'b0, top} + {1'b0, ~r};", "sr_op"),
    ("decode_int4", "rtl/decode4.sv", "is_normal || INTEGER != 0", "is_normal", "decode"),
]


def judge_in_icarus(item: Golden, row: str, files: list[Path], defines: list[str], work: Path) -> bool:
    """Whether a design gives the outputs of a .tv row under its masks, in a bench of this test alone."""
    values = dict(zip((column.name for column in item.layout.columns), row.split()[1:], strict=True))
    inputs = [column for column in item.layout.columns if column.role in ("in", "r")]
    outputs = [column for column in item.layout.columns if column.role == "out"]
    lines = [f"  wire [{column.bits - 1}:0] {column.name};" for column in outputs]
    pins = [f".{column.name}({column.bits}'h{values[column.name]})" for column in inputs]
    pins += [f".{column.name}({column.name})" for column in outputs]
    pins += [".clk(1'b0)", ".rst(1'b0)", ".in_valid(1'b1)", ".out_valid(valid)"]
    same = " && ".join(
        f"(({column.name} ^ {column.bits}'h{values[column.name]}) & {column.bits}'h{values['m_' + column.name]}) === {column.bits}'d0"
        for column in outputs
    )
    text = ["module bench;", "  wire valid;", *lines, f"  dut dut ({', '.join(pins)});"]
    text += [f'  initial begin #1 $display("%s", valid === 1\'b1 && {same} ? "SAME" : "DIFFERS"); end', "endmodule"]
    (work / "bench.v").write_text("\n".join(text) + "\n")
    words = [f"-D{define}" for define in defines]
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "t.vvp", *words, "bench.v", *map(str, files)], cwd=work, check=True)
    return subprocess.run(["vvp", "-n", "t.vvp"], cwd=work, check=True, capture_output=True, text=True).stdout.split()[-1] == "SAME"


@needs_yosys
@needs_icarus
@pytest.mark.cases(2)
@pytest.mark.parametrize(("name", "file", "old", "new", "fault"), FAULTS, ids=[f"{fault[0]}-{fault[4]}" for fault in FAULTS])
def test_a_seeded_fault_comes_back_as_a_golden_row(name: str, file: str, old: str, new: str, fault: str, tmp_path: Path) -> None:
    item = golden(*contract_of(name))
    files, defines = sources_of(read_units(simulator.path())[name])
    text = (simulator.path() / file).read_text()
    assert text.count(old) == 1, fault
    wrong = tmp_path / "wrong.sv"
    wrong.write_text(text.replace(old, new))
    mutant = [wrong if path.name == Path(file).name else path for path in files]
    proof = prove(item, mutant, defines)
    assert proof.kind == "counterexample"
    assert proof.row is not None
    line, trailer = render_tv(item, [proof.row]).splitlines()
    assert trailer.startswith("e")
    assert render_mem(item, proof.row).endswith("// tc=1 counterexample")
    assert judge_in_icarus(item, line, files, defines, tmp_path)
    assert not judge_in_icarus(item, line, mutant, defines, tmp_path)
    if name.startswith("convert"):
        words = dict(zip((column.name for column in item.layout.columns), line.split()[1:], strict=True))
        _, dst, rounding, policy = contract_of(name)[0].split("/")
        source = contract_of(name)[1] or ""
        random = int(words["r"], 16) if "r" in words else None
        objects = get("format", source), get("format", dst), get("rounding", rounding), get("policy", policy)
        assert convert_code(int(words["x"], 16), *objects, random) == int(words["y"], 16)


@needs_yosys
@needs_icarus
@pytest.mark.parametrize("given", ["4'bx", "{code[3:1], 1'bx}", "4'bz"])
def test_an_unknown_answer_to_one_input_is_no_proof(given: str, tmp_path: Path) -> None:
    """A mux with an unknown side is not the other side: what the design leaves open is free, and shown in simulation."""
    design = tmp_path / "dut.sv"
    design.write_text(f"""module dut (input [15:0] x, output [3:0] y);
    wire [3:0] code;
    e2m1_nearest nearest (.bf16(x), .e2m1(code));
    assign y = x == 16'h3e80 ? {given} : code;
endmodule
""")
    found = prove(golden("convert/e2m1/rne/nvidia", "bf16"), [simulator.path() / "examples/e2m1_nearest.sv", design])
    assert found.kind == "counterexample" and found.row is not None and found.row.values[0] == 0x3E80
    assert found.got is not None and found.got["y"] in ("x", "X", "z")


@needs_yosys
def test_a_plain_function_needs_no_handshake(tmp_path: Path) -> None:
    item = golden("product/int4xint4")
    assert prove(item, written(tmp_path)).kind == "proven"
    assert prove(item, written(tmp_path, body="wire signed [3:0] x = a, y = b; assign p = a == 8 ? 8'bx : x * y;")).kind == "counterexample"
    late = "wire signed [3:0] x = a, y = b; assign p = x * y; assign out_valid = in_valid & |a;"
    found = prove(item, written(tmp_path, more="input in_valid, output out_valid,", body=late))
    assert found.kind == "counterexample"
    assert found.row is not None and found.row.values[0] == 0


@needs_yosys
@needs_z3
@pytest.mark.parametrize("solver", ["abc", "z3"])
def test_a_function_that_is_open_everywhere_proves_nothing(solver: Literal["abc", "z3"], tmp_path: Path) -> None:
    item = golden("product/int4xint4")
    wires = [(name, const(1, 1) if name == "open" else node) for name, node in item.circuit.wires]
    blind = replace(item, circuit=replace(item.circuit, wires=wires))
    for body in (RIGHT, "assign p = 0;"):
        found = prove(blind, written(tmp_path, body=body), solver=solver)
        assert found[:4] == ("unknown", None, False, VACUOUS)


@needs_yosys
@pytest.mark.parametrize("new", ["1'b0 & (", "~valid | (valid ^ 1'b1) & ("])
def test_a_miter_that_compares_nothing_is_found_out(new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, old = prove_module.TEMPLATE.read_text(), "~valid | ~want_open & ("
    assert text.count(old) == 1
    (tmp_path / "blind.v.j2").write_text(text.replace(old, new))
    shutil.copy(prove_module.TEMPLATE.with_name("compare.v.j2"), tmp_path)
    monkeypatch.setattr(prove_module, "TEMPLATE", tmp_path / "blind.v.j2")
    for body in (RIGHT, "assign p = 0;"):
        assert prove(golden("product/int4xint4"), written(tmp_path, body=body))[:4] == ("unknown", None, False, VACUOUS)


@needs_yosys
@needs_icarus
def test_a_counterexample_that_does_not_come_back_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_module, "solve", lambda work, seconds, output=None: Verdict("counterexample", {"a": 3, "b": 5}))
    with pytest.raises(EngineError, match="a false counterexample: in icarus the design gives what the row wants, p = 0f"):
        prove(golden("product/int4xint4"), written(tmp_path))


@needs_yosys
@needs_icarus
@pytest.mark.exhaustive
def test_a_counterexample_is_replayed_and_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, defines = sources_of(read_units(simulator.path())["convert_fp32_e2m1_rne"])
    text = (simulator.path() / "rtl" / "convert4.sv").read_text()
    wrong = tmp_path / "wrong.sv"
    wrong.write_text(text.replace("0: up = half & (rest | is_odd);", "0: up = half;"))
    words = [word for define in defines for word in ("-D", define)]
    names = [str(wrong if path.name == "convert4.sv" else path) for path in files]
    assert run(["rtl", "prove", "convert/e2m1/rne/nvidia", *names, *words]) == 1
    said = capsys.readouterr()
    line = said.out.splitlines()[2]
    assert line.startswith("MISMATCH suite=convert__fp32_to_e2m1__nvidia_rne__formal tc=1 out=y in=")
    assert "replayed in icarus: the design gives y = " in said.err
    assert f"--open 'number?from=fp32&code=0x{line.partition(' in=')[2].split()[0].upper()}&to=e2m1&round=rne" in said.err
    assert run(["explain", "mismatch", line]) == 0
    assert "first wrong stage: round" in capsys.readouterr().out
    assert run(["explain", "mismatch", line.replace(" in=", " in=0,")]) == 2
    assert "write x of 32 bits" in capsys.readouterr().err


@needs_yosys
def test_an_accumulator_is_no_function_of_one_row(tmp_path: Path) -> None:
    body = "reg [7:0] s; wire signed [3:0] x = a, y = b; always @(posedge clk) s <= s + x * y; assign p = s;"
    found = prove(golden("product/int4xint4"), written(tmp_path, more="input clk,", body=body))
    assert (found.kind, found.row) == ("unknown", None)
    assert "registers feed themselves" in found.why


@needs_yosys
def test_a_register_that_waits_for_valid_is_no_loop(tmp_path: Path) -> None:
    body = "reg [7:0] s; wire signed [3:0] x = a, y = b; always @(posedge clk) if (in_valid) s <= x * y; assign p = s;"
    files = written(tmp_path, more="input clk, input in_valid,", body=body)
    assert prove(golden("product/int4xint4"), files)[:4] == ("proven", None, True, "")


LANE = """kind: "datapath"
id: "my_lane"
title: "Four products into six bits"
status: "proposed"
facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "none"
  k: 2
  levels:
    - {id: "k", of: "all", add: "chain", start: "zero", hold: {bits: 6, unit_exp: 0, rounding: "rz", overflow: "saturate"}}
  out: {format: "fp32"}
  special: {when: "once", nan: "0x7FC00000"}
open: []
sources:
  - {ref: "emu", where: "an example"}
"""
DESIGN = """module dut(input [7:0] a, input [7:0] b, output reg [31:0] d);
    function signed [9:0] value(input [3:0] c);  // in halves
        reg [4:0] m;
        begin
            m = c[2:1] == 0 ? {4'd0, c[0]} : {3'd0, 1'b1, c[0]} << (c[2:1] - 2'd1);
            value = c[3] ? -$signed({5'd0, m}) : $signed({5'd0, m});
        end
    endfunction
    function signed [9:0] cut(input signed [9:0] quarters);  // toward zero
        cut = quarters < 0 ? -((-quarters) >>> 2) : quarters >>> 2;
    endfunction
    function signed [9:0] stop(input signed [9:0] s);
        stop = s > 31 ? 10'sd31 : s < -32 ? LOWEST : s;
    endfunction
    wire signed [9:0] first = stop(cut(value(a[3:0]) * value(b[3:0])));
    wire signed [9:0] s = stop(cut((first <<< 2) + value(a[7:4]) * value(b[7:4])));
    wire [9:0] g = s < 0 ? -s : s;
    integer i;
    always @* begin
        d = 0;
        for (i = 0; i < 6; i = i + 1)
            if (g[i]) d = {s < 0, 8'd127 + i[7:0], 23'd0} | ({22'd0, g} << (23 - i) & 32'h7fffff);
    end
endmodule
"""


@needs_yosys
@needs_icarus
@pytest.mark.exhaustive
def test_a_users_datapath_is_proven_and_its_fault_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec" / "datapath").mkdir(parents=True)
    (tmp_path / "spec" / "datapath" / "my_lane.yaml").write_text(LANE)
    design = tmp_path / "dut.sv"
    design.write_text(DESIGN.replace("LOWEST", "-10'sd32"))
    words = ["--spec", str(tmp_path / "spec")]
    assert run(["rtl", "prove", "dot/my_lane", str(design), *words]) == 0
    assert capsys.readouterr().out == "PROVEN dot/my_lane\n"
    design.write_text(DESIGN.replace("LOWEST", "-10'sd31"))
    assert run(["rtl", "prove", "dot/my_lane", str(design), *words]) == 1
    said = capsys.readouterr()
    line = said.out.splitlines()[2]
    assert line.startswith("MISMATCH suite=dot__e2m1xe2m1_to_fp32__my_lane__formal tc=1 out=d in=") and "replayed in icarus" in said.err
    assert (
        f"see it: emu explore --spec {tmp_path / 'spec'} " in said.err and "--open 'dot?m1=my_lane&m2=none&m3=none&a=f6&b=77&" in said.err
    )
    assert run(["explain", "mismatch", line, *words]) == 0
    assert "saturate_symmetric" in capsys.readouterr().out


REGISTER = """module dut(input [63:0] a, input [63:0] b, output reg [31:0] d);
    wire [11:0] s [0:16];
    assign s[0] = 0;
    genvar i;
    generate for (i = 0; i < 16; i = i + 1) begin : step
        wire signed [3:0] x = a[4*i +: 4], y = b[4*i +: 4];
        wire signed [7:0] p = x * y;
        wire [12:0] sum = {s[i][11], s[i]} + {{5{p[7]}}, p};
        assign s[i+1] = sum[12] != sum[11] ? {sum[12], {11{~sum[12]}}} : sum[11:0];
    end endgenerate
    wire [11:0] q = s[16], g = q[11] ? ~q + 1'b1 : q;
    integer j;
    always @* begin
        d = 0;
        for (j = 0; j < 12; j = j + 1)
            if (g[j]) d = {q[11], 8'd127 + j[7:0], 23'd0} | ({20'd0, g} << (23 - j) & 32'h7fffff);
    end
endmodule
"""


@needs_yosys
@pytest.mark.exhaustive
def test_a_register_of_int4_is_proven_where_abc_breaks_off_in_rewriting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec" / "datapath").mkdir(parents=True)
    text = LANE.replace('["e2m1"]', '["int4"]').replace("k: 2", "k: 16").replace("bits: 6", "bits: 12").replace("my_lane", "my_register")
    (tmp_path / "spec" / "datapath" / "my_register.yaml").write_text(text)
    (tmp_path / "dut.sv").write_text(REGISTER)
    assert run(["rtl", "prove", "dot/my_register", str(tmp_path / "dut.sv"), "--spec", str(tmp_path / "spec")]) == 0
    assert capsys.readouterr().out == "PROVEN dot/my_register\n"


@needs_yosys
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"high": 8}, "needs the output port p of 8 bits: it has output of 9 bits"),
        ({"more": "input mode,"}, "input port mode is no column of product/int4xint4"),
        ({"body": "assign p = a +;"}, "syntax error"),
    ],
)
def test_a_wrong_port_is_said(change: dict[str, object], what: str, tmp_path: Path) -> None:
    with pytest.raises((FileError, EngineError), match=what):
        prove(golden("product/int4xint4"), written(tmp_path, **change))  # type: ignore[arg-type]


@needs_yosys
def test_the_command_says_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = str(written(tmp_path, body="assign p = {4'h0, a} * {4'h0, b};")[0])
    out = tmp_path / "row.tv"
    assert run(["rtl", "prove", "product/int4xint4", wrong, "--out", str(out)]) == 1
    told = capsys.readouterr()
    said = told.out.splitlines()
    assert said[0] == "COUNTEREXAMPLE product/int4xint4"
    assert "see it (the exact sum): emu explore " in told.err and "--open 'dot?m1=int64%2Fint4xint4%2F16&m2=none" in told.err
    assert out.read_text().splitlines()[0] == said[1].split(" //")[0].replace("_", " ")
    right = str(written(tmp_path)[0])
    assert run(["rtl", "prove", "product/int4xint4", right, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == "proven"
    assert run(["rtl", "prove", "product/int4xint4", str(tmp_path / "none.sv")]) == 2
    assert "no such file" in capsys.readouterr().err
    other = tmp_path / "other.sv"
    other.write_text("module other(input [3:0] a, b, output [7:0] p); assign p = 0; endmodule\n")
    assert run(["rtl", "prove", "product/int4xint4", str(other)]) == 2
    assert "other.sv: no module dut: name the top module of the design so, or give a port map (--map)\n" in capsys.readouterr().err


def test_a_missing_tool_is_exit_code_5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(yosys.shutil, "which", lambda name: None)
    assert run(["rtl", "prove", "product/int4xint4", str(written(tmp_path)[0])]) == 5
    assert capsys.readouterr().err == "emu: yosys-abc: not found: install yosys (Debian: apt-get install yosys), or put it on PATH\n"


def test_the_units_tried_here_are_there() -> None:
    known = read_units(simulator.path())
    assert {*QUICK, *(fault[0] for fault in FAULTS)} <= set(known)
    assert len(list(itertools.chain(QUICK, FAULTS))) == 9
