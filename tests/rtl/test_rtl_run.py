"""emu rtl run: designs of every kind pass, and no broken one does; each failure says why and exits with its code."""

import json
import re
import shutil

import pytest

from emu.cli.main import run
from emu.rtl.simulate.units import built
from emu.vectors import build, find
from emu.vectors.files.suite import Suite, load, refreshed, render

ROUND = """module cvt #(parameter LATENCY = 2, parameter EDGE = 1) (
  input clk_i, input rst_i, input vld_i, input [15:0] d_i, output vld_o, output [3:0] q_o, output rdy_o);
  reg [3:0] code;  // bf16 to e2m1, toward zero, saturating; NaN and Inf to +-6
  wire [14:0] m = d_i[14:0];
  always @* code = {d_i[15], m >= 15'h40c0 ? 3'd7 : m >= 15'h4080 ? 3'd6 : m >= 15'h4040 ? 3'd5 : m >= 15'h4000 ? 3'd4 :
    m >= 15'h3fc0 ? 3'd3 : m >= 15'h3f80 ? 3'd2 : m >= 15'h3f00 ? 3'd1 : 3'd0};
  reg [5*LATENCY-1:0] pipe;
  assign rdy_o = 1'b1;
  always @(posedge clk_i) pipe <= rst_i ? 0 : {pipe, vld_i, code};
  assign {vld_o, q_o} = pipe[5*LATENCY-1 -: 5];
endmodule
"""
MAP = """kind: "portmap"
module: "cvt"
files: ["cvt.v"]
contract: "convert/e2m1/rz/nvidia"
source: "bf16"
suites: ["smoke"]
clock: "clk_i"
reset: {port: "rst_i", active: "high", kind: "sync"}
valid: {in: "vld_i", out: "vld_o"}
ports:
  x: {port: "d_i"}
  y: {port: "q_o"}
unsupported:
  - {class: "nan", why: "none here"}
"""
EVERY_ROW = "".join(f'  - {{flag: "{flag}", why: "none"}}\n' for flag in (
    "value", "near_value", "sticky_bit", "tie", "near_tie", "huge", "min_normal", "source_subnormal", "inf", "nan_quiet", "nan_signalling",
))  # fmt: skip
STEM = "convert__bf16_to_e2m1__nvidia_rz__smoke"


@pytest.fixture
def trial(tmp_path, capsys, need):
    """Run a design and map with some texts changed; return exit code, stdout, stderr."""
    need("iverilog")

    def trial(*words, design=(), yaml=()):
        texts = {"cvt.v": (ROUND, design), "map.yaml": (MAP, yaml)}
        for name, (whole, changes) in texts.items():
            text = whole
            for old, new in changes:
                assert whole.count(old) == 1, old
                text = text.replace(old, new)
            (tmp_path / name).write_text(text)
        code = run(["rtl", "run", str(tmp_path / "map.yaml"), "--sim", "icarus", *words])
        return code, *capsys.readouterr()

    return trial


TIED = ('  - {class: "nan", why: "none here"}\n', '  - {class: "nan", why: "none here"}\nties:\n  - {port: "vld_i", value: "0x1"}\n')


def test_a_right_design_passes_and_the_report_counts(trial, tmp_path):
    code, out, err = trial("--json")
    (found,) = json.loads(out)["runs"]
    assert (code, err) == (0, "") and found["ways"] == ["plain", "stall", "reordered"]
    nan = found["unsupported"]["nan in x (none here)"]
    assert nan >= 2 and found["counts"] == {"compared": found["rows"] - nan, "mismatch": 0, "x": 0, "masked": nan}
    code, out, err = trial()
    assert code == 0 and f"{STEM}: {nan} rows unsupported: nan in x (none here)\n" in out
    assert len(re.findall(r"^RESULT PASS reason=none .* masked=\d+$", out, re.MULTILINE)) == 1


def test_a_latch_on_one_input_is_found_behind_a_row_with_another_result(trial, tmp_path):
    """In the order of the suite the row before has the same result, and no gap comes between. Its number is that of the suite."""
    code, out, _ = trial("--json", "--log", str(tmp_path / "log"), design=[("always @* code =", "always @* if (d_i != 16'h3fe8) code =")])
    (found,) = json.loads(out)["runs"]
    assert (code, found["ways"]) == (1, ["plain", "stall", "reordered"]) and found["counts"]["mismatch"] == 1
    lines = (tmp_path / "log").read_text().splitlines()
    rows = {line.split(" tc=")[1].split()[0]: re.search(r"in=(\w+)", line)[1] for line in lines if line.startswith("ROW")}
    (line,) = [line for line in lines if line.startswith("MISMATCH")]
    suite = built(find(STEM), tmp_path)
    place = [row.values[suite.layout.index("x")] for row in suite.rows].index(0x3FE8)
    assert f" tc={place + 1} " in line and " in=3fe8 want=3 " in line
    wanted = {str(at): f"{row.values[suite.layout.index('x')]:04x}" for at, row in enumerate(suite.rows, 1)}
    assert rows.items() <= wanted.items() and len(rows) == found["counts"]["compared"] > 40
    code, out, err = trial(design=[("always @* code =", "always @* if (d_i != 16'h3fe8) code =")])
    assert code == 1 and "keeps something of the row before, as a latch does" in out + err


def test_rows_left_out_without_a_reason_are_a_partial_verdict(trial):
    bare = ('{class: "nan", why: "none here"}', '{class: "nan"}')
    code, out, err = trial(yaml=(bare,))
    assert code == 1 and re.search(rf"^{STEM} .* partial$", out, re.MULTILINE)
    assert "6 rows are left out without a reason: give each entry of `unsupported` a `why`, or say --allow-partial" in err
    code, out, err = trial("--allow-partial", yaml=(bare,))
    assert (code, err) == (0, "") and re.search(rf"^{STEM} .* pass$", out, re.MULTILINE)
    assert json.loads(trial("--json", yaml=(bare,))[1])["runs"][0]["verdict"] == "partial"


def test_a_waiver_that_matches_no_row_is_an_error(trial):
    more = ('  - {class: "nan", why: "none here"}\n', '  - {class: "nan", why: "none here"}\n  - {flag: "chain", why: "old"}\n')
    code, out, err = trial(yaml=(more,))
    assert code == 2 and "map.yaml:15: unsupported.1: matches no row of smoke: remove it" in err and "RESULT" not in out


def test_a_suite_that_a_map_names_must_be_there(trial):
    code, out, err = trial(yaml=(('suites: ["smoke"]', 'suites: ["smoke", "all"]'), ('source: "bf16"', 'source: "fp32"')))
    assert code == 2 and "convert/e2m1/rz/nvidia from fp32: no suite all: there is smoke, directed" in err and "RESULT" not in out


def test_the_rows_that_a_map_leaves_out_must_be_named(trial):
    """The design gives -6 for -NaN, the contract +6: without `unsupported` it fails."""
    code, out, _ = trial(yaml=(('unsupported:\n  - {class: "nan", why: "none here"}\n', ""),))
    assert code == 1 and " want=7 got=f " in out


@pytest.mark.parametrize("edge", [0, 1, 2, 3, 4])
def test_a_fixed_latency_passes_only_if_right(trial, edge):
    code, _, err = trial("--suite", "directed", yaml=(('valid: {in: "vld_i", out: "vld_o"}', f"latency: {edge}"), TIED))
    assert code == (0 if edge == 2 else 1)
    assert ("outputs fit latency 2" in err) == (edge != 2)


def test_active_low_asynchronous_reset_and_parameters(trial):
    design = (("rst_i ?", "!rst_i ?"), ("posedge clk_i)", "posedge clk_i or negedge rst_i)"))
    parameters = 'module: "cvt"\nparameters:\n  - {name: "LATENCY", value: 5}'
    yaml = (('active: "high", kind: "sync"', 'active: "low", kind: "async"'), ('module: "cvt"', parameters))
    assert trial(design=design, yaml=yaml)[0] == 0
    code, _, err = trial(design=design)
    assert code == 1 and "the design never answers: are clock, reset (active high or low)" in err


def test_a_design_that_takes_a_row_now_and_then(trial):
    """One row in three clocks: without ready ports rows get lost, with them the wrapper queues."""
    busy = (
        ("reg [5*LATENCY-1:0] pipe;", "reg [5*LATENCY-1:0] pipe; reg [1:0] busy; wire take = vld_i & rdy_o;"),
        ("assign rdy_o = 1'b1;", "assign rdy_o = busy == 0; always @(posedge clk_i) busy <= rst_i ? 0 : take ? 2 : busy ? busy - 1 : 0;"),
        ("{pipe, vld_i, code}", "{pipe, take, code}"),
    )
    valid = 'valid: {in: "vld_i", out: "vld_o"}'
    ready = (valid, f'{valid}\nready: {{in: "rdy_o", out: "go_i"}}\nback_pressure: "no"')
    design = (*busy, ("input vld_i,", "input vld_i, input go_i,"))
    assert trial(design=design, yaml=(ready,))[0] == 0
    code, _, err = trial(design=busy)
    assert code == 1 and ("rows got lost" in err or "reason=mismatch" in err)
    assert trial(design=busy, yaml=((ready[0], ready[0] + '\npipelined: "no"'),))[0] == 0


@pytest.mark.parametrize(
    ("design", "yaml", "code", "text"),
    [
        ((("3'd0};", "3'bx};"),), (), 4, "reason=x"),
        ((("rst_i ? 0", "1 ? 0"),), (), 1, "reason=timeout"),
        ((("vld_i, code}", "vld_i, code"),), (), 2, "the design does not compile:"),
        ((("input [15:0] d_i", "input [14:0] d_i"),), (), 2, "port d_i of the design has 15 bits, the port map says 16"),
        ((("output vld_o", "output vldo"),), (), 2, "the design does not compile:"),
        ((), (('module: "', 'parameters: [{name: "LATENSY", value: 2}]\nmodule: "'),), 2, "parameter LATENSY not found in"),
        ((("endmodule", "initial $finish; endmodule"),), (), 2, "without a RESULT line of the bench: does the design call $finish"),
        ((), (('  - {class: "nan", why: "none here"}\n', EVERY_ROW),), 3, "the port map leaves no row of this suite to compare"),
    ],
)  # fmt: skip
def test_a_broken_design_never_passes(trial, design, yaml, code, text):
    """The reason is said under --quiet too."""
    found, out, err = trial("-q", design=design, yaml=yaml)
    assert found == code and text in err and "RESULT PASS" not in out


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("RESULT hello", "2 RESULT lines, or one of another form: one is expected, of the bench"),
        ("PORTMAP width", "the design prints a line that is kept for the wrapper: PORTMAP width"),
        ("PORTMAP width port=d_i", "the design prints a line that is kept for the wrapper: PORTMAP width port=d_i"),
    ],
)
def test_a_design_that_prints_lines_of_the_bench_is_refused(trial, line, text):
    code, out, err = trial(design=(("endmodule", f'initial $display("{line}"); endmodule'),))
    assert code == 2 and text in err and re.search(rf"^{STEM} .* BAD$", out, re.MULTILINE)


def test_lines_of_a_designs_own_are_no_rows(trial):
    """A wrong latency is told from the ROW lines of the bench: those of a design are others."""
    late = (('valid: {in: "vld_i", out: "vld_o"}', "latency: 3"), TIED)
    code, _, err = trial("--suite", "directed", design=(("endmodule", 'initial $display("ROW hello"); endmodule'),), yaml=late)
    assert code == 1 and "outputs fit latency 2" in err


def test_no_simulator(trial, tmp_path, monkeypatch, capsys):
    trial()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for words in ([], ["--sim", "icarus"], ["--sim", "all"]):
        assert run(["rtl", "run", str(tmp_path / "map.yaml"), *words]) == 5
        assert "not installed" in capsys.readouterr().err or words != ["--sim", "icarus"]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors") / "v"
    build(folder, ["smoke"], ["convert/e2m1/rz/nvidia"])
    return folder


def edited(vectors, tmp_path, ending, change):
    """A copy of the vectors with one file changed."""
    folder = tmp_path / "v"
    shutil.copytree(vectors, folder)
    path = folder / "convert" / f"{STEM}{ending}"
    path.write_text(change(path.read_text()))
    return str(folder)


def test_stored_vectors_give_the_same_verdict(trial, vectors):
    code, out, _ = trial("--vectors", str(vectors))
    assert code == 0 and out == trial()[1]
    assert trial("--vectors", str(vectors / "convert"))[1] == out
    code, _, err = trial("--vectors", str(vectors), "--suite", "directed")
    assert code == 2 and "holds no convert__bf16_to_e2m1__nvidia_rz__directed" in err


@pytest.mark.parametrize(
    ("ending", "change", "text"),
    [
        (".mem", lambda text: text[: len(text) // 2], "the last line does not end in LF"),
        (".mem", lambda text: "\n".join(text.split("\n")[2:]), "tc=3, expected 1"),
        (".mem", lambda text: "\n".join([*text.split("\n")[:-3], *text.split("\n")[-2:]]), "the trailer counts"),
        (".mem", lambda text: re.sub(r"_(.)_f // tc=5 ", lambda m: f"_{(int(m[1], 16) ^ 1):x}_f // tc=5 ", text), "its rows differ"),
        (".mem", lambda text: text.replace("_f // tc=5 ", "_0 // tc=5 "), "its rows differ"),
        (".svh", lambda text: text.replace("_N 4", "_N 3"), "differs from what its rows"),
    ],
)
def test_a_truncated_or_edited_suite_is_refused(trial, vectors, tmp_path, ending, change, text):
    code, out, err = trial("--vectors", edited(vectors, tmp_path, ending, change))
    assert code == 2 and text in err and "RESULT" not in out


def test_an_edited_suite_whose_files_agree_is_refused_by_the_manifest(trial, vectors, tmp_path):
    """One expected bit, changed in every file of the suite as its writer would: only MANIFEST.sha256 tells."""
    folder = tmp_path / "v"
    shutil.copytree(vectors, folder)
    suite = load(folder / "convert", STEM)
    place, row = next((place, row) for place, row in enumerate(suite.rows) if place > 20)
    at = suite.layout.index("y")
    changed = row._replace(values=(*row.values[:at], row.values[at] ^ 1, *row.values[at + 1 :]))
    rows = (*suite.rows[:place], changed, *suite.rows[place + 1 :])
    for name, text in render(Suite(refreshed(suite.record, suite.layout, rows), suite.layout, rows)).items():
        (folder / "convert" / name).write_text(text)
    assert load(folder / "convert", STEM).rows == rows
    code, out, err = trial("--vectors", str(folder))
    assert code == 2 and "it was edited" in err and "RESULT" not in out
    (folder / "convert" / "MANIFEST.sha256").unlink()
    code, out, err = trial("--vectors", str(folder))
    assert code == 2 and "has no MANIFEST.sha256" in err and "RESULT" not in out


def test_the_log_and_the_kept_folder(trial, tmp_path):
    log, keep = tmp_path / "run.log", tmp_path / "keep"
    code, out, err = trial("--log", str(log), "--keep", str(keep), "--contract", "convert/e2m1/rne/nvidia")
    assert code == 1 and f"emu explain mismatch {log}" in err
    kinds = [line.split()[0] for line in log.read_text().splitlines()]
    assert kinds.count("RESULT") == 1 and kinds.count("MISMATCH") == 3 and kinds.count("ROW") > 20
    assert {"wrapper0.sv", "suites", "golden"} <= {path.name for path in keep.iterdir()}
    assert "ROW" not in out
    code, _, err = trial("--log", str(log))
    assert code == 2 and "exists already" in err


@pytest.mark.exhaustive
def test_verilator_gives_the_same_verdicts(trial, tmp_path, need, capsys):
    need("verilator")
    trial()
    assert run(["rtl", "run", str(tmp_path / "map.yaml"), "--sim", "verilator"]) == 0
    out = capsys.readouterr().out
    assert re.findall("RESULT.*", out) == re.findall("RESULT.*", trial()[1])
    trial(design=(("3'd0};", "3'bx};"),))
    assert run(["rtl", "run", str(tmp_path / "map.yaml"), "--sim", "verilator"]) in (1, 4)
    trial(design=(("input [15:0] d_i", "input [14:0] d_i"),))
    assert run(["rtl", "run", str(tmp_path / "map.yaml"), "--sim", "verilator"]) == 2
