"""Series of formats: members by id, what lists leave out, a user's own series, and every fault as one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.cli.main import run
from emu.spec import Series, derive, digest, get, load_spec, names
from emu.spec.registry import replaced, restored
from emu.spec.series import choices, member_id, number_of

OWN = """kind: "series"
id: "mine"
title: "floats without infinity: of my own"
status: "proposed"
facts:
  of: "format"
  name: "f{e}_{m}"
  numbers:
    - {id: "e", what: "exponent bits", least: "2", most: "3"}
    - {id: "m", what: "fraction bits", least: "1", most: "5 - e"}
  rules:
    - words: {class: "float", signed: "yes", subnormals: "yes", inf: "none", nan: "none", neg_zero: "yes"}
      numbers: {exp_bits: "e", frac_bits: "m", bias: "2^(e - 1) - 1"}
open: []
sources:
  - {ref: "emu", where: "this file"}
"""
FORMAT = """kind: "format"
id: "ID"
title: "mine"
status: "proposed"
facts: {class: "float", signed: "yes", exp_bits: 2, frac_bits: 1, bias: 1, subnormals: "yes", inf: "none", nan: "none", neg_zero: "yes"}
open: []
sources:
  - {ref: "emu", where: "this file"}
"""


def added(folder: Path, **files: str) -> tuple[str, ...]:
    """Write files and add the folder."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load_spec(folder)


def message(folder: Path, **files: str) -> str:
    with restored(), pytest.raises(SpecError) as caught:
        added(folder, **files)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder}/")


def test_members_are_formats_that_no_list_holds() -> None:
    series = get("series", "p3109")
    every = [member_id(series, choice) for choice in choices(series)]
    assert len(every) == 120 and not set(every) & set(names("format"))
    fmt = get("format", "binary8p3se")
    assert fmt is get("format", "binary8p3se") and fmt.id == "binary8p3se" and fmt.status == series.status == "proposed"
    assert fmt.sources == series.sources and fmt.title == "IEEE P3109 draft: k 8, p 3, sign s, domain e"
    assert len({digest(get("format", name)) for name in every}) == 120


@pytest.mark.parametrize("name", ["binary8p8se", "binary9p1se", "binary2p1sf", "binary8p0uf", "binary08p1se", "Binary8p3se", "binary8p3sx"])
def test_an_id_outside_the_limits_is_named_with_one_inside(name: str) -> None:
    with pytest.raises(SpecError, match=re.escape(f"format {name!r} is no member of the series p3109: an id is binary{{k}}p{{p}}")):
        get("format", name)


def test_a_series_of_a_user(tmp_path: Path) -> None:
    with restored():
        assert added(tmp_path, mine=OWN) == ("series/mine",)
        assert [get("format", name).facts.frac_bits for name in ("f2_1", "f2_3", "f3_2")] == [1, 3, 2]
        assert get("format", "f2_1").facts_digest == get("format", "e2m1").facts_digest
        with pytest.raises(SpecError, match="format 'f3_3' is no member of the series mine"):
            get("format", "f3_3")
    with pytest.raises(SpecError, match="'f2_1' is unknown"):
        get("format", "f2_1")


def test_a_block_of_a_user_names_members(tmp_path: Path, checkout: Path) -> None:
    text = (checkout / "spec/block/mxfp4.yaml").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("aliases:"))
    with restored():
        assert added(tmp_path, p_block=text.replace('"mxfp4"', '"p_block"').replace('"e2m1"', '"binary4p2se"')) == ("block/p_block",)
        assert get("block", "p_block").element_formats == ("binary4p2se",)


CLASHES = [
    (
        {"binary8p3se": FORMAT.replace("ID", "binary8p3se")},
        "binary8p3se.yaml:1: format binary8p3se is a member of the series p3109: rename",
    ),
    ({"mine": OWN, "f3_1": FORMAT.replace("ID", "f3_1")}, "f3_1.yaml:1: format f3_1 is a member of the series mine: rename yours"),
    (
        {"alias": FORMAT.replace("ID", "alias").replace("title", 'aliases: ["binary4p2sf"]\ntitle')},
        "alias.yaml:3: alias 'binary4p2sf' already names format binary4p2sf: remove it",
    ),
    (
        {"mine": OWN.replace("f{e}_{m}", "binary{e}p{m}se")},
        "mine.yaml:7: binary3p1se is a member of the series p3109 already: rename yours",
    ),
    ({"mine": OWN.replace("f{e}_{m}", "e{e}m{m}")}, "mine.yaml:7: e2m1 is a format already: rename yours"),
]


@pytest.mark.parametrize(("files", "line"), CLASHES)
def test_a_name_that_is_taken(tmp_path: Path, files: dict[str, str], line: str) -> None:
    assert message(tmp_path, **files).startswith(line)


FAULTS = [
    ("f{e}_{m}", "f{e}_", "mine.yaml:7: facts.name: each number and word must stand in it once, in braces: e, m"),
    ("f{e}_{m}", "F{e}", 'mine.yaml:7: facts.name: "F{e}" must be letters, digits, _ and names in braces, such as "float{k}p{p}"'),
    ('"5 - e"', '"5 - x"', "mine.yaml:5: facts: '5 - x' is no expression of whole numbers, e, + - * ^ and brackets, of at most 128 bits"),
    ('"5 - e"', '"2^(2^20)"', "mine.yaml:5: facts: '2^(2^20)' is no expression"),
    ('"5 - e"', '"e/2"', 'mine.yaml:10: facts.numbers.1.most: "e/2" must be whole numbers, names, + - * ^ and brackets'),
    ('"5 - e"', '"0"', "mine.yaml:8: facts.numbers: there is no member: the largest value of a number is below the smallest"),
    ('most: "3"', 'most: "2^40"', "mine.yaml:5: facts: e: from 2 to 1099511627776: a number has at most 64 values"),
    ('exp_bits: "e", ', "", "mine.yaml:11: facts: key exp_bits is missing: "),
    ('nan: "none"', 'nan: "nine"', "mine.yaml:11: facts.nan: "),
    ('bias: "2^(e - 1) - 1"', 'bias: "2^100"', "mine.yaml:11: facts.bias: "),
    (
        "    - words:",
        '    - when: {sign: "s"}\n      words:',
        "mine.yaml:12: facts.rules.0.when: sign: 's' is no word of a name: there are no words",
    ),
    (
        '"2^(e - 1) - 1"}',
        '"2^(e - 1) - 1"}\n      most: {q: "1"}',
        "mine.yaml:14: facts.rules.0.most: 'q' is no number of a name: one of e, m",
    ),
    ('"2^(e - 1) - 1"}', '"1"}\n    - {numbers: {bias: "1"}}', "mine.yaml:5: facts: f2_1: two rules give bias: leave one out"),
    ('nan: "none", ', "", "mine.yaml:11: facts: key nan is missing: "),
]


@pytest.mark.parametrize(("old", "new", "line"), FAULTS)
def test_a_fault_of_a_series(tmp_path: Path, old: str, new: str, line: str) -> None:
    assert OWN.count(old) == 1
    assert message(tmp_path, mine=OWN.replace(old, new)).startswith(line)


def test_two_members_of_one_name(tmp_path: Path) -> None:
    text = (
        OWN.replace("f{e}_{m}", "f{e}{m}").replace('"5 - e"', '"11"').replace('most: "3"', 'most: "11"').replace('least: "2"', 'least: "1"')
    )
    line = "mine.yaml:7: facts.name: two members are called f111: put letters between the numbers"
    assert message(tmp_path, mine=text) == line


INFS = [
    ('["0x7", "0xE"]', "f.yaml:5: facts.inf: must list a code above 0 and the same with the sign bit: 0x7, 0xF"),
    ('["0xF", "0x7"]', "f.yaml:5: facts.inf: must list a code above 0 and the same with the sign bit: 0x7, 0xF"),
    ('["0x7"]', "f.yaml:5: facts.inf: must list a code above 0 and the same with the sign bit: 0x7, 0xF"),
    ('["0x6", "0xE"]', "f.yaml:5: facts.inf: Inf must be the highest magnitude that is not NaN: list 0x7, 0xF"),
    ('["0x17", "0x1F"]', "f.yaml:5: facts.inf: must list a code above 0 and the same with the sign bit: 0x7, 0xF"),
    ("[]", "f.yaml:5: facts.inf: needs at least 1 entries, has 0"),
]


@pytest.mark.parametrize(("listed", "line"), INFS)
def test_a_fault_of_listed_infinities(tmp_path: Path, listed: str, line: str) -> None:
    text = FORMAT.replace("ID", "f").replace('inf: "none"', f"inf: {listed}")
    assert message(tmp_path, f=text) == line


def test_infinities_where_they_belong(tmp_path: Path) -> None:
    text = FORMAT.replace("ID", "f").replace('inf: "none"', 'inf: ["0x7", "0xF"]')
    with restored():
        added(tmp_path, f=text)
        known = derive.codes(get("format", "f"))
        assert (known.inf, known.max_code, known.nan, known.neg_zero) == (7, 6, (), True)
        with pytest.raises(SpecError, match="f lists its infinities: arithmetic needs a format with those of IEEE 754"):
            derive.arithmetic_entry(get("format", "f"))


def test_members_follow_a_changed_series() -> None:
    series: Series = get("series", "p3109")
    before = get("format", "binary5p2sf")
    rules = tuple(
        rule.model_copy(update={"numbers": rule.numbers | {"bias": "1"}}) if rule.numbers.get("bias") else rule
        for rule in series.facts.rules
    )
    with replaced(series.model_copy(update={"facts": series.facts.model_copy(update={"rules": rules})})):
        assert get("format", "binary5p2sf").facts.bias == 1
    assert get("format", "binary5p2sf") == before


@pytest.mark.parametrize(("text", "value"), [("2^(k - p - 1)", 16), ("k*p - 2^p", 16), ("(k)", 8), ("0 - k", -8), ("2^2^3", 256)])
def test_expressions(text: str, value: int) -> None:
    assert number_of(text, {"k": 8, "p": 3}) == value


@pytest.mark.parametrize("text", ["k p", "k +", "sign", "2^-1", "k^99", "2^129", "()", "k(p)", "+k", ""])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(SpecError, match=re.escape(f"{text!r} is no expression of whole numbers, k, p, + - * ^ and brackets")):
        number_of(text, {"k": 8, "p": 3, "sign": "s"})


def test_commands_show_members_and_lists_the_series(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(names("format")) + len(names("series")) and lines[-1].startswith("p3109 ")
    assert run(["show", "binary4p2se", "format/binary4p2sf", "p3109"]) == 0
    shown = capsys.readouterr().out
    assert "max 2, min -2, smallest_positive 1/4, nan 0x8, inf 0x7" in shown and "max 3, min -3, smallest_positive 1/4, nan 0x8" in shown
    assert "120 formats binary{k}p{p}{sign}{domain}, from binary3p1se to binary8p8uf" in shown
