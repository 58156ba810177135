"""Clocks, beats, ready ports and unknown latencies in port maps: right designs pass, every fault of a protocol fails and is named."""

import shutil
import subprocess

import jsonschema
import pytest
import yaml

from emu.cli.main import run
from emu.rtl.portmap.file import load_map
from emu.rtl.portmap.suite import plans_for
from emu.rtl.portmap.wrapper import wrapper_text
from tools.docs.schemas import portmap_schema

DESIGNS = ("pressed", "three_clocks", "two_beats", "bit_serial", "some_latency")
VHDL = "bit_serial"


@pytest.fixture
def trial(kit, tmp_path, capsys, need):
    """Run an example with some texts of it changed; return exit code, stdout, stderr."""

    def trial(name, *words, design=(), maps=(), sim="icarus"):
        need("iverilog" if sim == "icarus" else sim)
        if name == VHDL:
            need("ghdl")
        folder = tmp_path / "design"
        shutil.copytree(kit / "examples", folder, dirs_exist_ok=True)
        source = folder / f"{name}{'.vhd' if name == VHDL else '.sv'}"
        for path, changes in ((source, design), (folder / f"{name}.yaml", maps)):
            for old, new in changes:
                text = path.read_text()
                assert text.count(old) == 1, (path.name, old)
                path.write_text(text.replace(old, new))
        code = run(["rtl", "run", str(folder / f"{name}.yaml"), "--sim", sim, "--suite", "smoke", *words])
        return code, *capsys.readouterr()

    return trial


@pytest.mark.parametrize("name", DESIGNS)
def test_a_right_design_passes_in_every_way(trial, name):
    code, out, err = trial(name)
    assert code == 0, out + err
    ways = {"bit_serial": "plain stall reordered ", "some_latency": "plain stall reordered "}.get(name, "plain press stall reordered ")
    assert f"  {ways}" in out and "compared=48 mismatch=0 x=0 masked=0" in out
    assert ("latency found: 5 clock edges" in out) == (name == "some_latency")


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_right_design_passes_in_verilator_and_on_all_directed_rows(trial, name):
    assert trial(name, sim="verilator")[0] == 0
    assert trial(name, "--suite", "directed", "--seed", "7")[0] == 0


FAULTS = {
    "pressed: ready although full": ("pressed", (("assign in_ready = !first_valid || first_moves;", "assign in_ready = 1'b1;"),), "press"),
    "pressed: data moves on while it waits": (
        "pressed",
        (("out_data <= first_code;\n", "\n"), ("if (in_ready) begin", "out_data <= first_code;\nif (in_ready) begin")),
        "held: an answer changed",
    ),
    "pressed: valid falls while it waits": (
        "pressed",
        (
            (
                "            if (first_moves) begin",
                "            if (out_valid && !out_ready) out_valid <= 1'b0;\n            if (first_moves) begin",
            ),
        ),
        "held: an answer changed",
    ),
    "three_clocks: the sender does not wait": (
        "three_clocks",
        (("assign in_ready = sent == back_2;", "assign in_ready = 1'b1;"),),
        "reason=",
    ),
    "three_clocks: the core does not wait": (
        "three_clocks",
        (("if (sent_2 != done && taken_2 == done)", "if (sent_2 != done)"),),
        "reason=",
    ),
    "three_clocks: an answer is given twice": (
        "three_clocks",
        (
            ("if (out_valid && out_ready) taken <= done_2;", "taken <= taken_1 & done_2; taken_1x <= out_ready;"),
            ("logic        sent,", "logic taken_1x;\n logic        sent,"),
        ),
        "reason=",
    ),
    "two_beats: bytes the other way round": ("two_beats", ((".bf16({in_data, low})", ".bf16({low, in_data})"),), "reason=mismatch"),
    "two_beats: pairs the other way round": (
        "two_beats",
        (("left == 2'd2 ? kept[3:2] : kept[1:0]", "left == 2'd1 ? kept[3:2] : kept[1:0]"),),
        "reason=mismatch",
    ),
    "two_beats: a beat is dropped": (
        "two_beats",
        (("if (!in_last) low <= in_data;", "if (!in_last && !out_valid) low <= in_data;"),),
        "FAIL",
    ),
    "two_beats: the mark comes early": (
        "two_beats",
        (("assign out_last = left == 2'd1;", "assign out_last = left == 2'd2;"),),
        "last: out_last does not mark",
    ),
    "two_beats: one beat too few": ("two_beats", (("left <= 2'd2;", "left <= 2'd1;"),), "last: out_last does not mark"),
    "bit_serial: code bits the other way round": (
        "bit_serial",
        (("bit_o <= code(3);", "bit_o <= code(0);"), ("code <= code(2 downto 0) & '0';", "code <= '0' & code(3 downto 1);")),
        "reason=mismatch",
    ),
    "bit_serial: number bits the other way round": (
        "bit_serial",
        (("whole := bit_i & word(15 downto 1);", "whole := word(14 downto 0) & bit_i;"),),
        "reason=mismatch",
    ),
    "bit_serial: one bit late": ("bit_serial", (("bit_o <= code(3);", "bit_o <= code(2);"),), "reason=mismatch"),
    "some_latency: not always the same": (
        "some_latency",
        (("assign result = pipe[4*EDGES-1 -: 4];", "assign result = data[15] ? pipe[4*EDGES-1 -: 4] : pipe[4*EDGES-5 -: 4];"),),
        "the latency is not always the same",
    ),
}


@pytest.mark.cases(5)
@pytest.mark.parametrize(("name", "design", "said"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_of_the_protocol_fails(trial, name, design, said):
    code, out, err = trial(name, design=design)
    assert code == 1, out + err
    assert said in out + err


@pytest.mark.parametrize("edges", [4, 5, 6])
def test_a_latency_that_is_written_down_passes_only_if_right(trial, edges):
    code, _, err = trial("some_latency", "--suite", "directed", maps=(('latency: "find"', f"latency: {edges}"),))
    assert code == (0 if edges == 5 else 1) and ("outputs fit latency 5" in err) == (edges != 5)


def test_without_back_pressure_a_fault_of_it_is_not_seen(trial):
    fault = FAULTS["pressed: data moves on while it waits"][1]
    assert trial("pressed", design=fault)[0] == 1
    code, out, _ = trial("pressed", maps=(("ports:\n", 'back_pressure: "no"\nports:\n'),))
    assert code == 0 and "press" not in out.splitlines()[2]


WRONG = {
    "two clocks for one side": ("three_clocks", ("percent: 37", 'percent: 37, sides: ["in"]'), "clocks: exactly one of them has 'in'"),
    "clock and clocks": ("three_clocks", ("clocks:\n", 'clock: "c"\nclocks:\n'), "clock: does not go with clocks"),
    "too fast": ("three_clocks", ("percent: 37", "percent: 3"), "percent"),
    "beats that do not share": (
        "two_beats",
        ('{port: "in_data", beats: 2}', '{port: "in_data", beats: 3}'),
        "3 beats do not share 16 bits evenly",
    ),
    "parts of one beat": (
        "two_beats",
        ('{port: "in_data", beats: 2}', '{port: "in_data", first: "highest"}'),
        "beat and first are for columns",
    ),
    "no valid": (
        "two_beats",
        ('valid: {in: "in_valid", out: "out_valid"}\nready: {in: "in_ready", out: "out_ready"}', "latency: 2"),
        "needs valid ports",
    ),
    "ready and no break": ("two_beats", ("last: {", 'valid_beats: {in: "first"}\nlast: {'), "cannot be made to wait"),
    "ready of nothing": ("pressed", ('ready: {in: "in_ready", out: "out_ready"}', "ready: {}"), "ready"),
    "a mark without beats": ("pressed", ("ports:\n", 'last: {in: "l"}\nports:\n'), "last: no column comes in several beats"),
}


@pytest.mark.parametrize(("name", "change", "said"), WRONG.values(), ids=list(WRONG))
def test_a_map_that_contradicts_itself_is_one_line(trial, name, change, said):
    code, out, err = trial(name, maps=(change,))
    assert code == 2 and out == "" and err.count("\n") == 1 and said in err, err


def test_vhdl_without_ghdl_and_with_a_fault(trial, monkeypatch):
    code, _, err = trial(VHDL, design=(("end architecture;", "end architektur;"),))
    assert code == 2 and "ghdl: the design does not compile" in err and err.count("\n") == 1
    monkeypatch.setattr(shutil, "which", lambda name, *_: None if name == "ghdl" else f"/usr/bin/{name}")
    code, _, err = trial(VHDL, design=(("end architektur;", "end architecture;"),))
    assert code == 5 and "ghdl: not installed: bit_serial.vhd is VHDL" in err


def test_the_schema_takes_the_examples(kit):
    judge = jsonschema.Draft202012Validator(portmap_schema())
    for name in DESIGNS:
        judge.validate(yaml.safe_load((kit / "examples" / f"{name}.yaml").read_text()))


def test_the_wrapper_serves_the_other_benches(kit, tmp_path, need):
    """The same wrapper under the kit's Makefile and, where it is there, cocotb."""
    need("iverilog")
    file = load_map(kit / "examples" / "two_beats.yaml")
    (plan,) = plans_for(file.map, ("smoke",))
    (tmp_path / "wrapper.sv").write_text(wrapper_text(file.map, plan.operation.layout, "two_beats.yaml", plan.stem))
    suite = kit.parent / "convert" / plan.stem
    if not suite.with_suffix(".mem").is_file():
        pytest.skip("an installed kit has no suites beside it")
    designs = [str(path) for path in file.files]
    words = [
        "make",
        "-s",
        "-f",
        str(kit / "Makefile"),
        "SIM=icarus",
        f"SUITE={suite}",
        f"DUT={' '.join(designs)}",
        "WRAP=wrapper.sv",
        "STALL=3",
        "ARGS=+press=5",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "judge: passed" in done.stdout, done.stdout + done.stderr


CI = "convert__bf16_to_e2m1__nvidia_rne__*"
WRAPPER = """module dut (input clk, rst, in_valid, input [`TC_X_BITS-1:0] x, output out_valid, output [`TC_Y_BITS-1:0] y);
  e2m1_nearest unit (.bf16(x), .e2m1(y));
  assign out_valid = in_valid;
endmodule
"""


def test_the_recipe_for_ci_passes_and_fails(kit, tmp_path, need):
    need("iverilog", "make", "sha256sum")
    if not (kit.parent / "convert").is_dir():
        pytest.skip("an installed kit has no suites beside it")
    (tmp_path / "wrapper.sv").write_text(WRAPPER)
    design = (kit / "examples" / "e2m1_nearest.sv").read_text()
    (tmp_path / "right.sv").write_text(design)
    (tmp_path / "wrong.sv").write_text(design.replace("size >= 15'h4060", "size > 15'h4060"))

    def ci(design, match=CI):
        words = [
            "make",
            "-s",
            "-f",
            str(kit / "examples/ci/Makefile"),
            f"VECTORS={kit.parent}",
            f"MATCH={match}",
            f"DUT={design}",
            "WRAP=wrapper.sv",
        ]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    code, said = ci("right.sv")
    assert code == 0 and said.count("judge: passed") == 3 and "judge: 3 suites, code 0" in said
    code, said = ci("wrong.sv")
    assert code != 0 and "reason=mismatch" in said and "judge: passed" not in said.splitlines()[-1]
    assert ci("right.sv", "convert__nothing*")[0] != 0
    workflow = yaml.safe_load((kit / "examples/ci/golden.yml").read_text())
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert any("examples/ci/Makefile" in step for step in steps) and any(step.startswith("emu rtl run ") for step in steps)
