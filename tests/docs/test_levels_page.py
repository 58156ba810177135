"""docs/datapath_levels.md: its examples print what they say, every row is computed, every word of the models has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emu.contracts.examples import compare
from emu.contracts.levels.rows import LevelsRow, answer, engines_of, run_rows
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite, power_of_two
from emu.engines.torch.present import has_torch
from emu.spec import get
from emu.spec.levels import check_levels, resolve_levels
from emu.spec.loader import parse
from emu.spec.models.levels import CutHold, DatapathLevels, FixedHold, FloatHold, Level, LevelAlign, LevelScale, LevelSpecial, RunningCut
from tools.docs import examples

PAGE = "docs/datapath_levels.md"
PAGE_PATH = Path(__file__).parents[2] / PAGE
ROW = re.compile(r"^\| (?P<word>[^|]+) \| `(?P<facts>\{.*\})` \| (?P<operands>[^|]+) \| (?P<d>[^|]+) \| [^|]+ \|$", re.MULTILINE)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE_PATH.read_text(encoding="utf-8"))]
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
    if not star or "^" in second:
        first, second = text, "1"
    return encode_value(value(first), fp32), encode_value(value(second), fp32)


def computed(row: dict[str, str]) -> Value | str:
    """Return what a row of the page gives, by every engine that takes it."""
    given = dict(part.split(" ", 1) for part in row["operands"].split("; "))
    products = [factors(text) for text in given["products"].split(", ")]
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
    model = get("datapath", "fp32_fma_chain").model_copy(update={"id": "row", "facts": DatapathLevels.model_validate(facts)})
    check_levels(model)
    plan = resolve_levels(model)
    asked = LevelsRow([a for a, _ in products], [b for _, b in products], scales[0], scales[1], c, words)
    found = answer(asked, plan)
    engines = [*engines_of(plan), *(["torch"] if has_torch() else [])]
    assert all(run_rows([asked], plan, engine) == [found] for engine in engines)
    return "refused" if found is None else decode_code(found, plan.d)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"[^a-z0-9_.]+", "-", row["word"]))
def test_a_row_of_the_page(row: dict[str, str]) -> None:
    found = computed(row)
    if row["d"] == "refused":
        assert found == "refused"
    else:
        want = value(row["d"])
        assert isinstance(found, Value) and (found == want or found.kind == want.kind == "nan"), (found, want)


def words() -> Iterator[str]:
    """Every word that the language has."""
    for model in (Level, LevelAlign, RunningCut, FixedHold, CutHold, FloatHold, LevelScale, LevelSpecial):
        yield from model.model_fields


def test_every_word_has_a_row() -> None:
    text = "\n".join(row["facts"] for row in ROWS)
    assert len(ROWS) >= 55
    assert [word for word in words() if f"{word}:" not in text] == []


def test_examples_print_what_they_say(checkout: Path) -> None:
    assert examples.faults(checkout, (PAGE,)) == []


def test_a_wrong_row_is_found() -> None:
    row = next(row for row in ROWS if row["d"] == "16777218")
    assert compare(computed(row), "16777216") is not None
