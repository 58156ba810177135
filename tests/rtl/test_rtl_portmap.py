"""Port maps as files: what a good one says, and one line with file and line for every bad one."""

import pytest

from emu.base.errors import EmuError
from emu.rtl.portmap.file import check_columns, load_map
from emu.rtl.portmap.suite import plans_for

GOOD = """kind: "portmap"
module: "fp4_pack2"
files: ["design.sv"]
contract: "convert/e2m1/rz/nvidia"
source: "fp32"
clock: "clk_i"
reset: {port: "rst_ni", active: "low", kind: "async"}
latency: 2
rows_per_beat: 2
ports:
  x: {port: "data_i"}
  y: {port: "code_o", order: "element_0_highest"}
ties:
  - {port: "bypass_i", value: "0x0"}
unsupported:
  - {class: "nan"}
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "design.sv").write_text("module fp4_pack2; endmodule\n")

    def write(*changes):
        text = GOOD
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = tmp_path / "map.yaml"
        path.write_text(text)
        return path

    return write


def checked(path):
    file = load_map(path)
    plan = plans_for(file.map)[0]
    check_columns(file, plan.operation.layout, plan.stem)


def fault(path):
    with pytest.raises(EmuError) as caught:
        checked(path)
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(f"{path}:", "map.yaml:")


def test_a_good_map_names_its_suites(write):
    file = load_map(write())
    plans = plans_for(file.map)
    assert [plan.stem for plan in plans] == [f"convert__fp32_to_e2m1__nvidia_rz__{suite}" for suite in ("smoke", "directed")]
    check_columns(file, plans[0].operation.layout, plans[0].stem)
    assert file.files == (file.path.parent / "design.sv",) and file.map.ports["y"].order == "element_0_highest"


def test_suites_by_name_by_stem_and_of_another_contract(write):
    model = load_map(write()).map
    assert [plan.suite for plan in plans_for(model, ["random"])] == ["random"]
    other = plans_for(model, ["smoke"], "convert/e1m2/rne/nvidia")
    assert [plan.stem for plan in other] == ["convert__fp32_to_e1m2__nvidia_rne__smoke"]
    stem = "convert__bf16_to_e2m1__nvidia_rz__all"
    assert [plan.stem for plan in plans_for(model, [stem, stem])] == [stem]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('module: "fp4_pack2"', 'module: "fp4_pack2"\nmodul: "x"', "map.yaml:3: modul: key modul is unknown here: did you mean module?"),
        ("latency: 2", "latency: two", 'map.yaml:8: bare two is ambiguous in YAML: write "two" in double quotes'),
        ("latency: 2", "latency: 2\nlatency: 3", "map.yaml:9: key latency appears twice (first on line 8): keep one"),
        ('active: "low"', 'active: "0"', 'map.yaml:7: reset.active: "0" is not one of high, low'),
        ("latency: 2", 'latency: 2\nvalid: {in: "v", out: "w"}', "map.yaml:9: valid: say either valid"),
        ("latency: 2\n", "", "map.yaml:2: module: say either valid"),
        ("latency: 2", 'latency: 2\nready: {in: "r", out: "s"}', "map.yaml:9: ready: ready ports need valid ports"),
        ('clock: "clk_i"\n', "", "map.yaml:7: latency: a design with registers needs key clock"),
        ('source: "fp32"\n', "", "map.yaml:4: contract: convert needs key source"),
        ('"convert/e2m1/rz/nvidia"', '"convert/e2m1/rzz/nvidia"', "map.yaml:4: contract: "),
        ('contract: "convert/e2m1/rz/nvidia"\nsource: "fp32"\n', "", "map.yaml:2: module: say either contract or suite"),
        ('contract: "convert/e2m1/rz/nvidia"', 'suite: "convert__x"', "map.yaml:5: source: does not go with suite"),
        ('files: ["design.sv"]', 'files: ["none.sv"]', "none.sv: no such file: names are relative to the folder of the port map"),
        ('module: "fp4_pack2"', 'module: "bench"', "map.yaml:2: module: bench is a module of the bench kit"),
        ('module: "fp4_pack2"', 'module: "fp4 pack2"', "map.yaml:2: module: "),
        ('x: {port: "data_i"}', 'x: {port: "data_i", value: "0x0"}', "map.yaml:11: ports.x: say one of port, ports, pieces, value"),
        ('x: {port: "data_i"}', 'x: {value: "0x0", lsb: 1}', "map.yaml:11: ports.x: lsb does not go with value"),
        ('  x: {port: "data_i"}\n', "", "column x of convert__fp32_to_e2m1__nvidia_rz__smoke is not mapped"),
        ('x: {port: "data_i"}', 'xx: {port: "data_i"}', "has no column xx: did you mean x?"),
        ('x: {port: "data_i"}', 'x: {port: "clk_i"}', "map.yaml:11: ports.x: port clk_i is the clock of the design"),
        ('x: {port: "data_i"}', 'x: {port: "code_o"}', "map.yaml:11: ports.x: port code_o is read as an output elsewhere"),
        ('x: {port: "data_i"}', 'x: {port: "bypass_i"}', "ties.0: bits 0:0 of bypass_i are driven by x too"),
        ('x: {port: "data_i"}', 'x: {ports: ["a", "b", "c"]}', "map.yaml:11: ports.x.ports: 3 ports do not share 2 elements evenly"),
        ('x: {port: "data_i"}', 'x: {pieces: [{port: "a", bits: 8}]}', "map.yaml:11: ports.x.pieces: hold 8 bits, the column has 64"),
        ('x: {port: "data_i"}', 'x: {port: "data_i", element_bits: 16}', "is narrower than the 32 bits of an element"),
        ('x: {port: "data_i"}', 'x: {value: "0x100000000"}', "ports.x.value: has more than the 32 bits of the column"),
        ('y: {port: "code_o", order: "element_0_highest"}', 'y: {value: "0x0"}', "an output has no value: name it under waived"),
        ('value: "0x0"}', 'value: "0x2"}', "ties.0.value: has more than 1 bits"),
        ('{class: "nan"}', '{class: "nan", flag: "tie"}', "map.yaml:16: unsupported.0: say either class or flag"),
        ('{class: "nan"}', '{flag: "ties"}', "map.yaml:16: unsupported.0.flag: ties is no flag of a suite"),
        ('{class: "nan"}', '{class: "nan", column: "c"}', "has no input column c: it has x"),
        ("ties:", 'flags: {port: "f", order: ["nx"]}\nties:', "rows_per_beat: flags can only be compared with one row per beat"),
        ("rows_per_beat: 2", 'rows_per_beat: 1\nflags: {port: "f", order: ["nx"]}', "has no column fl: remove it"),
        ("rows_per_beat: 2", 'rows_per_beat: 1\nmissing: ["z"]', "has no column z"),
        ("latency: 2", 'latency: 2\nincludes: ["nowhere"]', "includes.0: "),
        ("ties:", 'unpacked: [{port: "q", first: 0, last: 3}]\nties:', "map.yaml:13: unpacked.0.port: q carries no column: remove it"),
        ("ties:", 'unpacked: [{port: "data_i", first: 0, last: 2}]\nties:', "3 elements do not share the 64 bits of data_i evenly"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line(write, old, new, text):
    assert text in fault(write((old, new)))


def test_suite_names_a_stem_or_a_level(write):
    model = load_map(write()).map
    for wanted, text in (
        (["smoky"], "name a stem, or one of smoke"),
        (["convert__fp32_to_e2m1__nvidia_rzz__smoke"], "plans no suite of this name"),
        (["all"], "no suite all: there is smoke, directed"),
        (["convert__bf16_to_e2m1__nvidia_rz__all", "decode__e2m1_to_fp32__exact__all"], "one design has one operation"),
    ):
        with pytest.raises(EmuError, match=text):
            plans_for(model, wanted)
