"""Packing of ports: designs that answer from a table of the golden rows, with ports packed by hand in every documented way, must pass."""

import pytest
from support.verilog_table import table

from emu.base.errors import SpecError
from emu.contracts.rows import unpack, value_of
from emu.rtl.portmap.file import load_map
from emu.rtl.portmap.suite import plans_for
from emu.rtl.simulate.run import run_map
from emu.rtl.simulate.simulator import find
from emu.rtl.simulate.units import built
from emu.vectors.suites.plan import find as find_plan

QUANTIZE = "quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke"
CONVERT = "convert__fp32_to_e2m1__nvidia_rz__smoke"


def packed(elements, width, highest=False, mirrored=False, stride=None):
    """Elements as one integer, written apart from the code under test: by text, highest element first."""
    words = [f"{code:0{width}b}" for code in elements]
    words = [word[::-1] for word in words] if mirrored else words
    words = [word.rjust(stride or width, "0") for word in words]
    return int("".join(words if highest else reversed(words)), 2), len(words) * (stride or width)


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    return {stem: built(find_plan(stem), tmp_path_factory.mktemp("suite")) for stem in (QUANTIZE, CONVERT)}


def judged(tmp_path, yaml, plans=None):
    path = tmp_path / "map.yaml"
    path.write_text(yaml)
    file = load_map(path)
    return run_map(file, plans or plans_for(file.map), [find("icarus")], tmp_path)


def quantizer(suite, tmp_path, x, codes, ins, outs, yaml):
    """Write a table of a quantize suite, its map, and run it. x, codes: elements -> list of port values."""
    cases = []
    for row in suite.rows:
        layout = suite.layout
        lanes = {name: unpack(value_of(layout, row, name), layout.columns[layout.index(name)]) for name in ("x", "codes")}
        plain = {name: value_of(layout, row, name) for name in ("ts", "scale")}
        cases.append(([*x(lanes["x"]), plain["ts"]], [*codes(lanes["codes"]), plain["scale"]]))
    (tmp_path / "q.v").write_text(table("q", [*ins, ("ts_i", 32)], [*outs, ("sc_o", 8)], cases))
    head = f'kind: "portmap"\nmodule: "q"\nfiles: ["q.v"]\nsuite: "{QUANTIZE}"\nlatency: 0\nports:\n'
    report = judged(tmp_path, head + '  ts: {port: "ts_i"}\n  n_valid: {value: "0x10"}\n  scale: {port: "sc_o"}\n' + yaml)
    (run,) = report.runs
    return report.exit_code, run


def listed(name):
    return ", ".join(f'"{name}{i}"' for i in range(16))


WAYS = {
    "highest": (
        lambda e: [packed(e, 16, highest=True)[0]], lambda e: [packed(e, 4, highest=True)[0]], [("a", 256)], [("b", 64)],
        '  x: {port: "a", order: "element_0_highest"}\n  codes: {port: "b", order: "element_0_highest"}\n',
    ),
    "mirrored": (
        lambda e: [packed(e, 16, mirrored=True)[0]], lambda e: [packed(e, 4, True, True)[0]], [("a", 256)], [("b", 64)],
        '  x: {port: "a", bits: "msb_lowest"}\n  codes: {port: "b", bits: "msb_lowest", order: "element_0_highest"}\n',
    ),
    "one port per element": (
        list, list, [(f"a{i}", 16) for i in range(16)], [(f"b{i}", 4) for i in range(16)],
        f"  x: {{ports: [{listed('a')}]}}\n  codes: {{ports: [{listed('b')}]}}\n",
    ),
    "two ports, codes in bytes": (
        lambda e: [packed(e[:8], 16)[0], packed(e[8:], 16)[0]],
        lambda e: [packed(e[:8], 4, True, False, 8)[0], packed(e[8:], 4, True, False, 8)[0]],
        [("lo", 128), ("hi", 128)], [("blo", 64), ("bhi", 64)],
        '  x: {ports: ["lo", "hi"]}\n  codes: {ports: ["blo", "bhi"], element_bits: 8, order: "element_0_highest"}\n',
    ),
    "pieces": (
        lambda e: [packed(e, 16)[0] & ((1 << 200) - 1), packed(e, 16)[0] >> 200], lambda e: [packed(e, 4)[0]], [("a", 200), ("c", 56)],
        [("b", 64)],
        """  x: {pieces: [{port: "c", bits: 56}, {port: "a", bits: 200}]}
  codes: {pieces: [{port: "b", bits: 32, lsb: 32}, {port: "b", bits: 32}]}
""",
    ),
}  # fmt: skip


@pytest.mark.cases(2)
@pytest.mark.parametrize("way", WAYS)
def test_a_table_packed_by_hand_passes(way, suites, tmp_path, need):
    need("iverilog")
    x, codes, ins, outs, yaml = WAYS[way]
    suite = suites[QUANTIZE]
    assert {column.name: column.lanes for column in suite.layout.columns if column.name in ("x", "codes")} == {"x": 16, "codes": 16}
    code, run = quantizer(suite, tmp_path, x, codes, ins, outs, yaml)
    assert (code, run.modes, run.derived.unsupported) == (0, ["plain", "stall", "reordered"], {}), run.why
    assert run.counts == {"compared": len(suite.rows), "mismatch": 0, "x": 0, "masked": 0}


def test_another_packing_fails(suites, tmp_path, need):
    need("iverilog")
    x, codes, ins, outs, _ = WAYS["highest"]
    wrong = '  x: {port: "a", order: "element_0_highest"}\n  codes: {port: "b"}\n'
    code, run = quantizer(suites[QUANTIZE], tmp_path, x, codes, ins, outs, wrong)
    assert code == 1 and run.counts["mismatch"] > 0


def test_a_slice_of_a_port_beside_ties(suites, tmp_path, need):
    """Bits 35:4 of a port of 40 carry x; the low four are tied to 5, the top four to 10; unread output bits are ones."""
    need("iverilog")
    suite = suites[CONVERT]
    cases = [
        ([10 << 36 | value_of(suite.layout, row, "x") << 4 | 5], [0xF0F | value_of(suite.layout, row, "y") << 4]) for row in suite.rows
    ]
    (tmp_path / "c.v").write_text(table("c", [("a", 40)], [("b", 12)], cases))
    head = f'kind: "portmap"\nmodule: "c"\nfiles: ["c.v"]\nsuite: "{CONVERT}"\nlatency: 0\n'
    ports = 'ports:\n  x: {port: "a", lsb: 4}\n  y: {port: "b", lsb: 4}\n'
    ties = 'ties:\n  - {port: "a", bits: 4, value: "0x5"}\n  - {port: "a", bits: 4, lsb: 36, value: "0xA"}\n'
    report = judged(tmp_path, head + ports + ties)
    assert report.exit_code == 2 and report.runs[0].why == (
        "port b of the design has 12 bits, the port map says 8: of an output whose upper bits mean nothing, name the port in `wider`"
    )
    named = head + 'wider: ["b"]\n' + ports
    report = judged(tmp_path, named + ties)
    assert report.exit_code == 0 and report.runs[0].counts["compared"] == len(suite.rows)
    assert judged(tmp_path, named + ties.replace("0xA", "0xB")).exit_code == 1
    report = judged(tmp_path, named.replace('"b", lsb: 4', '"b", lsb: 8') + ties)
    assert report.exit_code == 2 and report.runs[0].why == "port b of the design has 12 bits, the port map says 12: remove it from `wider`"
    with pytest.raises(SpecError, match="a carries no output column: remove it"):
        judged(tmp_path, named.replace('["b"]', '["a"]') + ties)


@pytest.mark.parametrize(
    ("port", "text"), [("lsb: 3", "port a of the design has 40 bits, the port map says 35"), ("lsb: 8", "port a of the design has 40 bits")]
)
def test_ports_of_another_width_are_refused(port, text, suites, tmp_path, need):
    need("iverilog")
    (tmp_path / "c.v").write_text("module c (input [39:0] a, output [3:0] b); assign b = a[7:4]; endmodule\n")
    head = f'kind: "portmap"\nmodule: "c"\nfiles: ["c.v"]\nsuite: "{CONVERT}"\nlatency: 0\n'
    report = judged(tmp_path, head + f'ports:\n  x: {{port: "a", {port}}}\n  y: {{port: "b"}}\n')
    (run,) = report.runs
    assert (report.exit_code == 2 and text in run.why) if "3" in port else report.exit_code == 1


RANGES = (("[0:1]", 0, 1), ("[7:4]", 7, 4))
TURNED = (("[0:1]", 1, 0), ("[7:4]", 7, 4))  # Icarus connects by index whatever the order, Verilator as the standard says: from the left


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("tool", "given", "code"),
    [
        ("iverilog", RANGES, 0),
        pytest.param("verilator", RANGES, 0, marks=pytest.mark.exhaustive),
        pytest.param("verilator", TURNED, 1, marks=pytest.mark.exhaustive),
    ],
)
def test_unpacked_ports_and_included_files(given, code, tool, suites, tmp_path, need):
    """Two halves of x and four bits of y as unpacked arrays, whose ranges run either way; the design's table lies in an include folder."""
    need(tool)
    suite = suites[CONVERT]
    cases = [([value_of(suite.layout, row, "x")], [value_of(suite.layout, row, "y")]) for row in suite.rows]
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "t.vh").write_text(table("t", [("a", 32)], [("b", 4)], cases))
    (x_range, x_first, x_last), (y_range, y_first, y_last) = given
    (tmp_path / "u.sv").write_text(
        f'`include "t.vh"\nmodule u (input [15:0] a {x_range}, output b {y_range});\n  wire [3:0] y;\n'
        "  t u0 ({a[1], a[0]}, y);\n" + "".join(f"  assign b[{4 + i}] = y[{i}];\n" for i in range(4)) + "endmodule\n"
    )
    head = f'kind: "portmap"\nmodule: "u"\nfiles: ["u.sv"]\nincludes: ["inc"]\nsuite: "{CONVERT}"\nlatency: 0\n'
    arrays = f'  - {{port: "a", first: {x_first}, last: {x_last}}}\n  - {{port: "b", first: {y_first}, last: {y_last}}}\n'
    (tmp_path / "map.yaml").write_text(head + 'ports:\n  x: {port: "a"}\n  y: {port: "b"}\nunpacked:\n' + arrays)
    file = load_map(tmp_path / "map.yaml")
    report = run_map(file, plans_for(file.map), [find("icarus" if tool == "iverilog" else tool)], tmp_path)
    assert report.exit_code == code, report.runs[0].why


def test_units_side_by_side_each_take_every_row(suites, tmp_path, need):
    """Three units; the middle one drops a bit of one row: only the run whose rows start elsewhere meets it."""
    need("iverilog")
    suite = suites[CONVERT]
    value = {name: [value_of(suite.layout, row, name) for row in suite.rows] for name in ("x", "y")}
    kept = [place for place, x in enumerate(value["x"]) if value["y"][place] and value["x"].count(x) == 1]
    victim = next(place for place in kept if 16 <= place < 24 and place % 3 == 0)  # after the self-test's rows, before the second reset
    good = [([x], [y]) for x, y in zip(value["x"], value["y"], strict=True)]
    bad = [([x], [0 if place == victim else y]) for place, (x, y) in enumerate(zip(value["x"], value["y"], strict=True))]
    (tmp_path / "t.v").write_text(table("good", [("a", 32)], [("b", 4)], good) + table("bad", [("a", 32)], [("b", 4)], bad))
    (tmp_path / "u.v").write_text(
        "module three (input [95:0] a, output [11:0] b);\n"
        "good u0 (a[95:64], b[3:0]);\nMIDDLE u1 (a[63:32], b[7:4]);\ngood u2 (a[31:0], b[11:8]);\nendmodule\n".replace("MIDDLE", "`MIDDLE")
    )
    yaml = (
        f'kind: "portmap"\nmodule: "three"\nfiles: ["t.v", "u.v"]\nsuite: "{CONVERT}"\nlatency: 0\nrows_per_beat: 3\n'
        'defines:\n  - {name: "MIDDLE", value: "good"}\n'
        'ports:\n  x: {port: "a", order: "element_0_highest"}\n  y: {port: "b"}\n'
    )
    report = judged(tmp_path, yaml)
    assert report.exit_code == 0 and report.runs[0].modes == ["plain", "slot1", "slot2", "stall", "reordered"]
    report = judged(tmp_path, yaml.replace('"good"}', '"bad"}'))
    assert report.exit_code == 1 and report.runs[0].modes == ["plain", "slot1"] and report.runs[0].counts["mismatch"] == 1
    assert f"tc={victim + 1} " in report.runs[0].lines[0]
    early = next(place for place in kept if 3 <= place < 16 and place % 3 == 0)
    bad = [([x], [0 if place == early else y]) for place, (x, y) in enumerate(zip(value["x"], value["y"], strict=True))]
    (tmp_path / "t.v").write_text(table("good", [("a", 32)], [("b", 4)], good) + table("bad", [("a", 32)], [("b", 4)], bad))
    assert judged(tmp_path, yaml.replace('"good"}', '"bad"}')).exit_code == 1
