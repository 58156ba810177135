"""A pipelined lane of 64 products with its inner ports as stages, by a port map: it passes; a fault is named by its first wrong stage."""

import json
import shutil
from pathlib import Path

import pytest

from emu.cli.main import run
from emu.rtl.simulate.units import read_units

STEM = "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke"
CHAIN = "accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__"
STAGES = {"sg": 11, "tm": 19, "xa": 46}  # packed outputs: group sums, terms, aligned terms; bits of each of four


@pytest.fixture
def lane(kit, tmp_path, need):
    """Write the lane's files with one text changed, and its map; return the map's path."""
    need("iverilog")
    unit = read_units(kit)["lane_nv_like_e1m2"]

    def lane(file=None, old="", new=""):
        for path in unit.files:
            shutil.copy(path, tmp_path / path.name)
        if file is not None:
            text = (tmp_path / file).read_text()
            assert text.count(old) == 1
            (tmp_path / file).write_text(text.replace(old, new))
        names = {name.upper(): value for name, value in unit.defines.items()} | {"PIPELINE": 1}
        files = json.dumps([path.name for path in unit.files])
        lines = ['kind: "portmap"', 'module: "lane_nv_like"', f"files: {files}", f'suite: "{STEM}"', "parameters:"]
        lines += [f'  - {{name: "{name}", value: {value}}}' for name, value in names.items()]
        lines += ['clock: "clk"', 'reset: {port: "rst", active: "high", kind: "sync"}', 'valid: {in: "in_valid", out: "out_valid"}']
        lines += ["ports:", *(f'  {name}: {{port: "{name}"}}' for name in ("a", "sa", "b", "sb", "c", "d"))]
        for name, bits in STAGES.items():
            lines += [f'  u0_{name}{i}: {{port: "{name}", lsb: {i * bits}}}' for i in range(4)]
        lines += [f'  u0_{name}: {{port: "{port}"}}' for name, port in (("lv", "lv"), ("xc", "xc"), ("s", "s"), ("rs", "d"))]
        path = tmp_path / "lane.yaml"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return lane


def test_the_lane_passes_with_its_stages(lane, capsys):
    assert run(["rtl", "run", lane(), "--sim", "icarus", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["missing"] == ["u0_e"] and found["counts"]["compared"] == found["rows"] - found["open"] > 10


FLOORED = "assign aligned = ($signed({{(WIDTH-BITS){term[BITS-1]}}, term}) <<< LEFT) >>> places;"
FAULTS = [
    ("align_term.sv", "assign aligned = sign ? -kept : kept;", FLOORED, "u0_x", "aligned terms rd"),
    ("group_term.sv", "live = any && factor != 0;", "live = sum != 0 && factor != 0;", "u0_lv", "a cancelled group does not count"),
    ("lane_nv_like.sv", ".scale_b(sb[16*g/BLOCK*8+:8])", ".scale_b(8'h38)", "u0_tm", "the scales of b are not applied"),
    ("lane_nv_like.sv", ".a(a[64*g+:64])", ".a({a[64*g+4+:60], a[64*g+:4] & {4{g != 2}}})", "u0_sg2", "the product of element 32 is lost"),
]


def tie_c(path):
    one = 'value: "0x3F800000"'
    text = Path(path).read_text().replace('  c: {port: "c"}', f"  c: {{{one}}}")
    Path(path).write_text(text + f'ties: [{{port: "c", bits: 32, {one}}}]\n')
    return path


@pytest.mark.exhaustive
def test_a_tied_input_gets_rows_of_its_own(lane, tmp_path, capsys):
    """Rows with another C are computed again with that of the design: all are compared, and one that differs is explained."""
    assert run(["rtl", "run", tie_c(lane()), "--sim", "icarus", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["verdict"] == "pass" and found["unsupported"] == {} and found["remade"] > 10
    assert found["counts"]["compared"] == found["rows"] - found["open"]
    log = tmp_path / "lane.log"
    assert run(["rtl", "run", tie_c(lane(*FAULTS[0][:3])), "--sim", "icarus", "--log", str(log)]) == 1
    out = capsys.readouterr().out
    assert run(["explain", "mismatch", str(log), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["first_wrong"]["stage"].startswith("u0_x")
    line = next(line for line in out.splitlines() if line.startswith("MISMATCH"))
    assert run(["explain", "mismatch", line]) == 0 and "(tied)" in capsys.readouterr().out
    assert run(["explain", "mismatch", line.replace("want=", "want=f")]) == 2


SLOW = [pytest.param(*item, marks=pytest.mark.exhaustive) for item in FAULTS[1:]]


@pytest.mark.parametrize(("file", "old", "new", "stage", "text"), [FAULTS[0], *SLOW])
def test_a_fault_is_named_by_its_first_wrong_stage(lane, tmp_path, capsys, file, old, new, stage, text):
    log = tmp_path / "lane.log"
    assert run(["rtl", "run", lane(file, old, new), "--sim", "icarus", "--log", str(log)]) == 1
    capsys.readouterr()
    assert run(["explain", "mismatch", str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_wrong"]["stage"].startswith(stage) and "stage columns" in found["first_wrong"]["by"]
    best = found["hypotheses"][0]
    assert text in best["text"] and best["mismatches"] == best["mismatchesTried"] and best["agreeing"] == best["agreeingTried"]


@pytest.mark.parametrize(
    ("chain", "suite"),
    [("golden", "smoke"), ("dut", "smoke"), *(pytest.param(name, "directed", marks=pytest.mark.exhaustive) for name in ("golden", "dut"))],
)
def test_a_chain_with_the_state_given_or_its_own(kit, tmp_path, need, capsys, chain, suite):
    """The lane into a 64-bit register: `first` is one bit, `last` is no port; with its own state it has no acc_in."""
    need("iverilog")
    unit = read_units(kit)["chain_int64_e1m2"]
    for path in unit.files:
        shutil.copy(path, tmp_path / path.name)
    own = int(chain == "dut")
    names = {name.upper(): value for name, value in unit.defines.items()} | {"OWN_STATE": own}
    files = json.dumps([path.name for path in unit.files])
    lines = ['kind: "portmap"', 'module: "lane_int64"', f"files: {files}", f'suite: "{CHAIN}{suite}"', f'chain: "{chain}"', "parameters:"]
    lines += [f'  - {{name: "{name}", value: {value}}}' for name, value in names.items()]
    lines += ['clock: "clk"', 'reset: {port: "rst", active: "high", kind: "sync"}', 'valid: {in: "in_valid", out: "out_valid"}']
    lines += ["ports:", *(f'  {name}: {{port: "{name}"}}' for name in ("a", "sa", "b", "sb", "c", "d"))]
    lines += ['  first: {port: "first", low_bits: 1}', *(['  acc_in: {port: "acc_in"}'] if not own else [])]
    lines += ['missing: ["last", "acc_in"]', 'ties: [{port: "acc_in", bits: 64, value: "0x0"}]'] if own else ['missing: ["last"]']
    path = tmp_path / "chain.yaml"
    path.write_text("\n".join(lines) + "\n")
    assert run(["rtl", "run", str(path), "--sim", "icarus", "--json"]) == 0, capsys.readouterr()
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["counts"]["compared"] > (2 if suite == "directed" else 0) and found["ways"] == ["plain", "stall"]
    text = path.read_text().replace('"golden"', '"dut"') if not own else path.read_text().replace('"dut"', '"golden"')
    path.write_text(text)
    assert run(["rtl", "run", str(path), "--sim", "icarus"]) == (4 if chain == "golden" else 2)
