"""docs/datapath_levels.md: its examples print what they say, every row is computed, every word of the models has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.oracle import levels as oracle

from emu.contracts.examples import compare
from emu.contracts.levels.rows import LevelsRow, answer, engines_of, evaluate, run_flagged
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite, power_of_two
from emu.engines.torch.present import has_torch
from emu.spec import get
from emu.spec.levels import check_levels, resolve_levels
from emu.spec.loader import parse
from emu.spec.models.levels import (
    CutHold,
    DatapathLevels,
    FixedHold,
    FlagPlaces,
    FloatHold,
    Level,
    LevelAlign,
    LevelFlags,
    LevelScale,
    LevelSpecial,
    RunningCut,
)
from emu.spec.registry import shipped_root
from tools.docs import examples

PAGE = "docs/datapath_levels.md"
PAGE_PATH = Path(__file__).parents[2] / PAGE
ROW = re.compile(r"^\| (?P<word>[^|]+) \| `(?P<facts>\{.*\})` \| (?P<operands>[^|]+) \| (?P<d>[^|]+) \| [^|]+ \|$", re.MULTILINE)
SHORT = re.compile(r"^\| `(?P<word>[A-Z][A-Z0-9_]*)` \| `(?P<facts>[^`]+)` \|$", re.MULTILINE)
TEXT = PAGE_PATH.read_text(encoding="utf-8")
SHORTHAND = {match["word"]: match["facts"] for match in SHORT.finditer(TEXT)}


def written_out(facts: str) -> str:
    """Return facts of a row without shorthand. A word stands for what the table of shorthand says; that may hold other words."""
    for _ in SHORTHAND:
        facts = re.sub(rf"\b({'|'.join(SHORTHAND)})\b", lambda found: SHORTHAND[found[1]], facts)
    return facts


ROWS = [found.groupdict() | {"facts": written_out(found["facts"])} for found in ROW.finditer(TEXT)]
BASE: dict[str, Any] = {
    "a": ("fp32",), "b": ("fp32",), "c": "none", "out": {"format": "fp32", "rounding": "rne", "overflow": "ieee"},
    "special": {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"},
}  # fmt: skip


def number(text: str) -> Fraction:
    """Return the value of a product of integers, fractions and powers of two."""
    out = Fraction(1)
    for part in text.removeprefix("-").split("*"):
        base, _, exp = part.partition("^")
        out *= power_of_two(int(exp)) if exp else Fraction(base)
    return -out if text.startswith("-") else out


def value(text: str) -> Value:
    if text in ("nan", "+inf", "-inf"):
        return Value("nan", 0) if text == "nan" else Value("inf", int(text == "-inf"))
    return finite(number(text), int(text.startswith("-")))


def factors(text: str) -> tuple[int, int]:
    """Return codes of binary32 whose product it is: the last factor is one of them, or 1 is."""
    first, star, second = text.rpartition("*")
    fp32 = get("format", "fp32")
    if text == "snan":
        return 0x7FA00000, encode_value(value("1"), fp32)
    if not star or "^" in second:
        first, second = text, "1"
    return encode_value(value(first), fp32), encode_value(value(second), fp32)


def asked_of(row: dict[str, str]) -> tuple[dict[str, Any], LevelsRow]:
    """Return the facts of a row of the page and its operands."""
    first, *others = row["operands"].split("; ")
    products = [factors(text) for text in first.split(", ")]
    given = dict(part.split(" ", 1) for part in others)
    facts = BASE | {"k": len(products)} | parse(row["facts"], "page").data
    fp32 = get("format", "fp32")
    adds = '"c"' in row["facts"]
    facts |= {"c": facts.get("c", "none") if facts.get("c", "none") != "none" else "fp32"} if adds else {}
    c = encode_value(value(given.get("C", "0")), get("format", facts["c"])) if adds else None
    scales = (
        [[encode_value(value(text), fp32)] * (len(products) // 2) for text in given["scales"].split(", ")]
        if "scales" in given
        else [[], []]
    )
    words = [int(word) for word in given.get("random", "").split(", ") if word]
    return facts, LevelsRow([a for a, _ in products], [b for _, b in products], scales[0], scales[1], c, words)


def computed(row: dict[str, str]) -> tuple[Value | str, str]:
    """Return what a row of the page gives, by every engine that takes it, and its flags: names, none, or nothing without any."""
    facts, asked = asked_of(row)
    model = get("datapath", "fp32_fma_chain").model_copy(update={"id": "row", "facts": DatapathLevels.model_validate(facts)})
    check_levels(model)
    plan = resolve_levels(model)
    found = answer(asked, plan)
    engines = [*engines_of(plan), *(["torch"] if has_torch() and not plan.flag_levels else [])]
    made = [run_flagged([asked], plan, engine)[0] for engine in engines]
    raised = 0 if found is None else evaluate(asked, plan).flags
    assert made == [None if found is None else (found, raised)] * len(made)
    named = [flag for bit, flag in enumerate(plan.flag_levels) if raised >> bit & 1] or (["none"] if plan.flag_levels else [])
    return "refused" if found is None else decode_code(found, plan.d), ", ".join(named)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"[^a-z0-9_.]+", "-", row["word"]))
def test_a_row_of_the_page(row: dict[str, str]) -> None:
    found, flags = computed(row)
    d, _, named = row["d"].partition(", ")
    assert flags == named
    if d == "refused":
        assert found == "refused"
    else:
        want = value(d)
        assert isinstance(found, Value) and (found == want or found.kind == want.kind == "nan"), (found, want)


def test_the_oracle_reads_the_page_as_it_is_meant() -> None:
    """The second reading of the page, which engines are compared with, gives D of every row but those of policies and random words."""
    files = oracle.read_files([shipped_root() / kind for kind in ("format", "rounding")])
    seen, wrong = 0, []
    for row in ROWS:
        facts, asked = asked_of(row)
        if asked.random or "policy" in row["facts"]:
            continue
        codes = [asked.a, asked.b, *([asked.scale_a, asked.scale_b] if asked.scale_a else [])]
        try:
            code = oracle.Row(files, facts, ("fp32", "fp32"), codes, asked.c, "fp32" if asked.scale_a else None, 2).code()
        except oracle.Refused:
            code = "refused"
        d, seen = row["d"].partition(", ")[0], seen + 1
        found = code if isinstance(code, str) else decode_code(code, get("format", facts["out"]["format"]))
        wrong += [] if found == (d if d in ("refused", "nan") else value(d)) else [(row["word"], d, found)]
    assert wrong == [] and seen > 75


def words() -> Iterator[str]:
    """Every word that the language has."""
    for model in (Level, LevelAlign, RunningCut, FixedHold, CutHold, FloatHold, LevelScale, LevelSpecial, LevelFlags, FlagPlaces):
        yield from model.model_fields


def test_every_word_has_a_row() -> None:
    text = "\n".join(row["facts"] for row in ROWS)
    assert len(ROWS) >= 82
    assert [word for word in words() if f"{word}:" not in text] == []


def test_every_shorthand_is_used_and_defined() -> None:
    used = {word for match in ROW.finditer(TEXT) for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", re.sub(r'"[^"]*"', "", match["facts"]))}
    assert used == set(SHORTHAND) >= {"FP32", "CHAIN"}


def test_examples_print_what_they_say(checkout: Path) -> None:
    assert examples.faults(checkout, (PAGE,)) == []


def test_a_wrong_row_is_found() -> None:
    row = next(row for row in ROWS if row["d"] == "16777218")
    assert compare(computed(row)[0], "16777216") is not None
