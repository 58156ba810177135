"""Exception flags of a design by their names: constant flags fail, right ones pass in any order of pins, what is left out is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.verilog_table import table

from emu.cli.main import run
from emu.contracts.columns import Layout, layout_from
from emu.contracts.rows import Row, inputs_of, value_of
from emu.rtl.simulate.units import built
from emu.vectors.suites.plan import find

SUITES = {
    "nv_of": ("dot__bf16xbf16_to_fp32__rvbna4_flags__smoke", ("nv", "of")),
    "five": ("insn__fp32x1_to_fp16x1__fcvt_h_s_rne__smoke", ("nx", "uf", "of", "dz", "nv")),
}
ORDERS = {
    "nv_of": (("of", "nv"), ("nv", "dz", "of", "uf", "nx")),
    "five": (("nv", "dz", "of", "uf", "nx"), ("uf", "nx", "dz", "nv", "of")),
}
SIMULATORS = {"icarus": "iverilog", "verilator": "verilator"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Layout, Sequence[Row]]]:
    """A function of a name in SUITES: columns and rows."""
    folder, kept = tmp_path_factory.mktemp("suites"), dict[str, tuple[Layout, Sequence[Row]]]()

    def rows(name: str) -> tuple[Layout, Sequence[Row]]:
        if name not in kept:
            suite = built(find(SUITES[name][0]), folder)
            kept[name] = suite.layout, suite.rows
        return kept[name]

    return rows


@pytest.fixture
def judged(rows: Callable[[str], tuple[Layout, Sequence[Row]]], tmp_path: Path) -> Callable[..., int]:
    """Judge a design whose flags port has the flags of `order`, highest first; of those in `lost` it always gives 0."""

    def judged(name: str, simulator: str, order: Sequence[str], lost: Sequence[str] = (), more: str = "", words: Sequence[str] = ()) -> int:
        layout, every = rows(name)
        cases = []
        for row in every:
            raised = {flag for place, flag in enumerate(SUITES[name][1]) if value_of(layout, row, "fl") >> place & 1} - {*lost}
            pins = int("".join(str(int(flag in raised)) for flag in order) or "0", 2)
            cases.append((inputs_of(layout, row), (value_of(layout, row, "d"), pins)))
        ins = [(f"{column.name}_i", column.bits) for column in layout.inputs]
        bits = layout.columns[layout.index("d")].bits
        (tmp_path / "unit.v").write_text(table("unit", ins, [("d_o", bits), ("raised_o", max(len(order), 1))], cases))
        lines = ['kind: "portmap"', 'module: "unit"', 'files: ["unit.v"]', f'suite: "{SUITES[name][0]}"', "latency: 0", "ports:"]
        lines += [f'  {column.name}: {{port: "{column.name}_i"}}' for column in layout.inputs] + ['  d: {port: "d_o"}']
        lines += [f'flags: {{port: "raised_o", order: {json.dumps(list(order))}}}'] if order else []
        (tmp_path / "map.yaml").write_text("\n".join([*lines, more]) + "\n")
        return run(["rtl", "run", str(tmp_path / "map.yaml"), "--sim", simulator, *words])

    return judged


@pytest.mark.exhaustive
def test_rows_raise_every_flag_of_a_contract(rows: Callable[[str], tuple[Layout, Sequence[Row]]]) -> None:
    """Else a design whose flag is always 0 passes. No conversion divides by zero. A layout that was read back lacks the names."""
    for name, (stem, names) in SUITES.items():
        layout, every = rows(name)
        column = find(stem).operation.layout.columns[layout.index("fl")]
        assert column.flags == names and layout_from(layout.described()).columns[layout.index("fl")].flags == ()
        seen = {flag for row in every for place, flag in enumerate(names) if value_of(layout, row, "fl") >> place & 1}
        assert seen == {*names} - {"dz"}


@pytest.mark.cases(1)
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", SUITES)
def test_constant_flags_fail_and_right_ones_pass(
    name: str, simulator: str, judged: Callable[..., int], need: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The must-fail test: the flags were once compared at the bit places of conversions, whatever the contract."""
    need(SIMULATORS[simulator])
    names = [flag for flag in SUITES[name][1] if flag != "dz"]
    assert judged(name, simulator, names, names) == 1
    assert "out=fl" in capsys.readouterr().out
    for order in ORDERS[name]:
        assert judged(name, simulator, order) == 0
        assert "compared" not in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("name", SUITES)
def test_each_flag_counts(name: str, judged: Callable[..., int], need: Callable[[str], None]) -> None:
    need("iverilog")
    for flag in set(SUITES[name][1]) - {"dz"}:
        assert judged(name, "icarus", ORDERS[name][-1], [flag]) == 1, flag


def test_what_is_not_compared_is_in_the_first_line(
    judged: Callable[..., int], need: Callable[[str], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    need("iverilog")
    assert judged("nv_of", "icarus", ["nv"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[0].endswith(": partial, of not compared") and "MISMATCH" not in said.out
    assert "of: the contract has it and the run does not compare it" in said.err
    assert judged("nv_of", "icarus", ["nv"], words=["--allow-partial"]) == 1
    assert judged("nv_of", "icarus", [], more='missing: ["fl"]') == 1
    capsys.readouterr()
    assert judged("nv_of", "icarus", ["nv"], more='waived: {of: "no register overflows here"}') == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(": not whole, of (no register overflows here) not compared")
    assert judged("nv_of", "icarus", [], more='waived: {fl: "the unit keeps none"}', words=["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leftOut"] == {"fl": "the unit keeps none"}


def test_a_log_and_its_explanation_say_so_too(
    judged: Callable[..., int], need: Callable[[str], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    need("iverilog")
    for number, lost in enumerate((["nv"], [])):
        log = tmp_path / f"{number}.log"
        waived = 'waived: {of: "none"}'
        assert judged("nv_of", "icarus", ["nv"], lost, more=waived, words=["--log", str(log)]) == len(lost)
        assert f"LEFTOUT suite={SUITES['nv_of'][0]} out=fl mask=2\n" in log.read_text()
    capsys.readouterr()
    assert run(["explain", "mismatch", str(tmp_path / "0.log")]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("; not compared: of")


def test_a_wrapper_gives_x_where_nothing_is_compared(judged: Callable[..., int], need: Callable[[str], None], tmp_path: Path) -> None:
    """So that judge.sh, which knows no port map, cannot take a column that is not there for one that is 0."""
    need("iverilog")
    for order, more, text in ((["nv"], 'waived: {of: "none"}', "assign fl[1] = 1'bx;"), ([], 'waived: {fl: "none"}', "assign fl = 2'bx;")):
        judged("nv_of", "icarus", order, more=more)
        assert run(["rtl", "wrap", str(tmp_path / "map.yaml"), "--out", str(tmp_path / "wrapper.sv"), "--force"]) == 0
        assert text in (tmp_path / "wrapper.sv").read_text()


@pytest.mark.parametrize(
    ("order", "more", "text"),
    [
        (["nv", "nv"], "", "flags.order: nv, nv: each flag once"),
        (["uf"], "", "flags.order: names no flag of dot__bf16xbf16_to_fp32__rvbna4_flags__smoke: it has nv, of"),
        (["nv"], 'waived: {nv: "w"}', "waived.nv: it is compared: remove it"),
        (["nv"], 'waived: {uf: "w"}', "rvbna4_flags__smoke has no such output or flag: it has d, fl, nv, of"),
        (["nv"], 'waived: {a: "w"}', "waived.a: it is compared: remove it"),
        (["nv"], 'waived: {of: ""}', "waived.of"),
        ([], 'waived: {of: "w"}', "waived.of: is a flag, and the map wires none by name"),
        ([], 'missing: ["fl"]\nwaived: {fl: "w"}', "waived.fl: it is in missing too"),
    ],
)  # fmt: skip
def test_a_wrong_map_is_refused(
    order: list[str], more: str, text: str, judged: Callable[..., int], need: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    need("iverilog")
    assert judged("nv_of", "icarus", order, more=more) == 2
    assert text in capsys.readouterr().err
