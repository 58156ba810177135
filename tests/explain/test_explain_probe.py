"""Probes: our own models, asked as if they were machines, are named; the three probes of the fact sheet give their table."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from emu.base.errors import FileError, OpenError, OperandError, SpecError
from emu.contracts.dot.rows import DotRow, answer, plan_of, row_of
from emu.contracts.dot.variants import Hypothesis, bases, combined, hypotheses
from emu.engines.exact.datapath import dot
from emu.explain.probe.files import answers_template, data_of, read_answers, readme, rows_text, write_probe
from emu.explain.probe.run import Finding, Probe, identify, make_probe
from emu.spec import get, names
from emu.spec.datapath import DatapathPlan, known_facts, pairs

NVFP4 = "blackwell_mxf4nvf4_b16_ue4m3"
MAIN = {
    NVFP4: (),
    "blackwell_mxf4_b32_ue8m0": (),
    "hopper_fp8": ("e4m3", "e4m3"),
    "cdna3_fp8": ("e4m3fnuz", "e4m3fnuz"),
    "blackwell_e0m3": (),
    "promote": ("e1m2", "e1m2", None, 16),
}


@cache
def probe_of(name: str) -> Probe:
    return make_probe(name, *MAIN[name], depth=1)  # type: ignore[arg-type]


def _every() -> list[tuple[str, tuple[object, ...]]]:
    out = []
    for name in names("datapath"):
        try:
            facts = known_facts(get("datapath", name))
        except OpenError:
            continue
        scales, blocks = facts.scale.formats or (None,), facts.scale.blocks or (None,)
        out.append((name, (*pairs(facts)[0], scales[0], blocks[0])))
    return out


def _of_machine(item: Hypothesis, probe: Probe) -> Finding:
    """Answer the rows as a machine would: by the reference model, from the hex text that the owner gets."""
    given = []
    for row in data_of(probe)["rows"]:
        codes = row_of(item.plan, row["a"], row["b"], row.get("sa"), row.get("sb"), row["c"])
        given.append(dot(codes.a, codes.b, codes.scale_a, codes.scale_b, codes.c, item.plan).code)
    return identify(probe, given)


def _each_is_named(probe: Probe) -> int:
    """Check that every hypothesis is identified as its class and as nothing else; return how many are alone in theirs."""
    alone = 0
    for members in probe.classes:
        wanted = [probe.hypotheses[number] for number in members]
        try:
            found = _of_machine(wanted[0], probe)
        except OpenError:
            continue  # a model that refuses a row answers nothing
        assert list(found.fits) == wanted and not found.unexplained and not found.combined and not found.nearest
        alone += len(wanted) == 1
    return alone


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", MAIN)
def test_every_hypothesis_is_named(name: str) -> None:
    probe = probe_of(name)
    assert len(probe.rows) <= 16 and len(probe.classes) >= 2
    assert _each_is_named(probe) >= 2
    assert sorted(number for members in probe.classes for number in members) == list(range(len(probe.hypotheses)))


@pytest.mark.cases(0, 8)
@pytest.mark.parametrize(("name", "choices"), _every(), ids=[name for name, _ in _every()])
def test_every_shipped_datapath_is_named(name: str, choices: tuple[object, ...]) -> None:
    assert _each_is_named(make_probe(name, *choices, depth=1)) >= 1  # type: ignore[arg-type]


def _texts(probe: Probe) -> list[list[str]]:
    return [[probe.hypotheses[number].text for number in members] for members in probe.classes]


def test_what_no_row_can_show_on_nvfp4_is_the_floor() -> None:
    """UE4M3 scales never bring E near the floor; every other single change of a fact is told apart."""
    classes = [members for members in _texts(probe_of(NVFP4)) if len(members) > 1]
    floors = [f"{NVFP4} as it stands (= nv_like)", f"{NVFP4}: floor -140", f"{NVFP4}: floor -138", f"{NVFP4}: no floor"]
    assert floors in classes
    assert all(
        set(members) <= {*floors, f"{NVFP4}: F exact, result rne", "ideal as it stands", "int64 as it stands"} for members in classes
    )


def test_the_floor_is_told_apart_where_scales_reach_it() -> None:
    alone = {members[0] for members in _texts(probe_of("blackwell_mxf4_b32_ue8m0")) if len(members) == 1}
    start = "blackwell_mxf4_b32_ue8m0: "
    assert {start + text for text in ("floor -140", "floor -138", "no floor", "groups of 8", "groups of 32", "result rne")} <= alone


@pytest.mark.exhaustive
def test_the_readings_of_e0m3_are_told_apart() -> None:
    probe = probe_of("blackwell_e0m3")
    stands = [item for item in probe.hypotheses if item.plan.datapath.id.startswith("blackwell_e0m3_") and not item.changes]
    assert [item.plan.datapath.id.removeprefix("blackwell_e0m3_") for item in stands] == ["f34", "f35", "raised", "wrap"]
    for item in stands:
        found = _of_machine(item, probe)
        assert found.fits[0] == item
        assert not set(found.fits) & (set(stands) - {item})


def test_e0m3_times_e2m1_has_the_readings_that_take_it() -> None:
    plans = bases("blackwell_e0m3", "e0m3", "e2m1")
    assert [plan.datapath.id for plan in plans] == ["blackwell_e0m3_f34", "blackwell_e0m3_f35", "blackwell_e0m3_wrap"]
    with pytest.raises(SpecError, match="no reading of it takes int4 x int4"):
        bases("blackwell_e0m3", "int4", "int4")
    with pytest.raises(OpenError, match="no published model"):
        bases("cdna4")


TINY = [(9, "18", "20"), (10, "18", "18"), (18, "02", "02"), (19, "01", "02"), (20, "01", "01")]
TABLE = {
    25: ["3b000000", "00000000", "00000000", "00000000", "00000000"],
    34: ["3b000000", "3a800000", "36800000", "00000000", "00000000"],
    35: ["3b000000", "3a800000", "36800000", "36000000", "00000000"],
    36: ["3b000000", "3a800000", "36800000", "36000000", "35800000"],
    "exact": ["3b000000", "3a800000", "36800000", "36000000", "35800000"],
}


def _with(name: str, **changes: object) -> DatapathPlan:
    """The one hypothesis with these changes."""
    wanted = {path.replace("__", "."): value for path, value in changes.items()}
    for item in hypotheses([plan_of(name)], 1):
        if dict(item.changes) == wanted:
            return item.plan
    raise AssertionError(f"no hypothesis {wanted}")


def _probe_row(plan: DatapathPlan, places: dict[int, tuple[int, int]], scales: dict[int, tuple[str, str]]) -> DotRow:
    a, b = [0] * 64, [0] * 64
    for k, (x, y) in places.items():
        a[k], b[k] = x, y
    sides = [[0x38 if plan.scale and plan.scale.id == "ue4m3" else 0x7F] * (64 // plan.block) for _ in range(2)]
    for block, texts in scales.items():
        for side, text in zip(sides, texts, strict=True):
            side[block] = int(text, 16)
    return DotRow(tuple(a), tuple(b), tuple(sides[0]), tuple(sides[1]), 0)


@pytest.mark.parametrize("bits", TABLE)
def test_the_probe_of_f_gives_its_table(bits: int | str) -> None:
    plan = plan_of(NVFP4) if bits == 35 else _with(NVFP4, align__fraction_bits=bits)
    for (k, first, second), wanted in zip(TINY, TABLE[bits], strict=True):
        row = _probe_row(plan, {0: (2, 2), 16: (2, 10), 32: (1, 1)}, {0: ("78", "78"), 1: ("78", "78"), 2: (first, second)})
        assert f"{answer(row, plan):08x}" == wanted, k


def test_the_probe_of_cancelled_groups_gives_its_table() -> None:
    for counts, wanted in (("yes", 0), ("no", 0x35800000)):
        plan = plan_of(NVFP4) if counts == "yes" else _with(NVFP4, align__cancelled_group_counts="no")
        row = _probe_row(plan, {0: (2, 2), 1: (2, 10), 32: (1, 1)}, {0: ("78", "78"), 2: ("01", "01")})
        assert answer(row, plan) == wanted


def test_the_probe_of_the_floor_gives_its_table() -> None:
    name = "blackwell_mxf4_b32_ue8m0"
    for floor, wanted in ((-139, 0x20), (-140, 0x1F), ("none", 0x1F)):
        plan = plan_of(name) if floor == -139 else _with(name, align__floor=floor)
        assert answer(_probe_row(plan, {0: (2, 2), 32: (1, 9)}, {0: ("37", "37"), 1: ("28", "29")}), plan) == wanted


def test_a_machine_with_two_changes_is_found_by_combining() -> None:
    probe = probe_of("hopper_fp8")
    start = [probe.plans[0]]
    other = next(item for item in hypotheses(start, 2) if dict(item.changes) == {"align.fraction_bits": 25, "round.mode": "rne"})
    found = _of_machine(other, probe)
    assert found.fits and all(len(item.changes) <= 2 for item in found.fits)
    assert found.combined == (len(found.fits[0].changes) == 2)
    named = {tuple(sorted(dict(item.changes).items(), key=str)) for item in found.fits}
    assert tuple(sorted(dict(other.changes).items(), key=str)) in named


def test_a_machine_with_three_changes_is_found_though_no_hypothesis_gives_some_answers() -> None:
    probe = probe_of("hopper_fp8")
    wanted = {"align.fraction_bits": 25, "align.rounding": "rd", "round.keep": 23}
    other = next(item for item in combined(probe.plan) if dict(item.changes) == wanted)
    found = _of_machine(other, probe)
    assert found.fits and not found.unexplained
    assert dict(other.changes) in [dict(item.changes) for item in found.fits] or len(found.fits[0].changes) < 3


def test_an_answer_that_no_hypothesis_expects_is_named() -> None:
    probe = probe_of("hopper_fp8")
    given: list[int | None] = list(probe.answers[0])
    given[1] = 0x12345678
    found = identify(probe, given)
    assert not found.fits and found.unexplained == ((2, 0x12345678),) and found.nearest_right == len(given) - 1
    assert probe.hypotheses[0] in found.nearest


def test_rows_that_were_not_run_leave_more_that_fits() -> None:
    probe = probe_of("hopper_fp8")
    given: list[int | None] = list(probe.answers[0])
    whole = set(identify(probe, given).fits)
    parts = [identify(probe, [None if number == left_out else code for number, code in enumerate(given)]) for left_out in range(len(given))]
    assert all(part.given == len(given) - 1 and whole <= set(part.fits) for part in parts)
    assert any(whole < set(part.fits) for part in parts)
    with pytest.raises(OperandError, match="no row of the probe"):
        identify(probe, [None] * len(given))
    with pytest.raises(OperandError, match="1 answers for the"):
        identify(probe, [0])


def test_the_files_are_whole_deterministic_and_read_back(tmp_path: Path) -> None:
    probe = probe_of("hopper_fp8")
    names_of = write_probe(probe, tmp_path / "new", "emu probe hopper_fp8 --out new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names_of)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    again = make_probe("hopper_fp8", "e4m3", "e4m3", depth=1)
    assert (tmp_path / "new" / "rows.tv").read_text() == rows_text(again)
    data = json.loads((tmp_path / "new" / "probe.json").read_text())
    assert data == data_of(again) and data["schema"] == "emu-probe-1" and len(data["rows"]) == len(probe.rows)
    text = (tmp_path / "new" / "README.md").read_text()
    assert text == readme(again, "emu probe hopper_fp8 --out new") and "## Not told apart" in text and "F 23..25" in text
    with pytest.raises(FileError, match="is not an empty folder"):
        write_probe(probe, tmp_path / "new", "")
    with pytest.raises(FileError, match="no such folder"):
        write_probe(probe, tmp_path / "none" / "new", "")


def test_rows_of_the_tv_file_are_those_of_the_json() -> None:
    probe = probe_of(NVFP4)
    lines = rows_text(probe).splitlines()
    assert len(lines) == len(probe.rows) + 1 and lines[-1].startswith("e ")
    for line, row in zip(lines, data_of(probe)["rows"], strict=False):
        guard, a, sa, b, sb, c = line.split()
        assert (guard, a[::-1], b[::-1], c) == ("a", row["a"], row["b"], row["c"])
        assert [bytes.fromhex(text)[::-1].hex() for text in (sa, sb)] == [row["sa"], row["sb"]]


def _filled(probe: Probe, change: Callable[[list[str]], list[str]] = lambda lines: lines) -> str:
    lines = answers_template(probe).splitlines()[:2]
    lines += [f"{number + 1} 0x{code:08x}" for number, code in enumerate(probe.answers[0])]
    return "\n".join(change(lines)) + "\n"


def test_answers_are_read_from_the_filled_template(tmp_path: Path) -> None:
    probe = probe_of("hopper_fp8")
    path = tmp_path / "answers.txt"
    path.write_text(answers_template(probe))
    assert read_answers(path, probe) == [None] * len(probe.rows)
    path.write_text(_filled(probe))
    assert read_answers(path, probe) == list(probe.answers[0])
    path.write_text(_filled(probe, lambda lines: lines[:-1]))
    assert read_answers(path, probe) == [*probe.answers[0][:-1], None]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda lines: [*lines, "1 00000000"], "row 1 is twice here"),
        (lambda lines: [*lines, "99 00000000"], r"row 99 is not one of 1\.\.3"),
        (lambda lines: [*lines[:-1], "3 123456789"], "123456789 is no fp32 code"),
        (lambda lines: [*lines[:-1], "3 12x"], "'3 12x' is not a row number and a hex code"),
        (lambda lines: ["# emu probe hopper_fp8 digest 0123456789abcdef", *lines[1:]], "answers to other rows"),
    ],
)
def test_bad_answers_name_the_line(change: Callable[[list[str]], list[str]], text: str, tmp_path: Path) -> None:
    probe = probe_of("hopper_fp8")
    path = tmp_path / "answers.txt"
    path.write_text(_filled(probe, change))
    with pytest.raises(FileError, match=r"answers\.txt, line \d+: .*" + text):
        read_answers(path, probe)
    with pytest.raises(FileError, match=r"missing\.txt: No such file"):
        read_answers(tmp_path / "missing.txt", probe)
