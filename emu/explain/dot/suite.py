"""A row of a golden suite of dot products, found by its tcId."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emu.base import philox
from emu.base.errors import FileError, OperandError
from emu.contracts.dot import cases as cases_dot
from emu.contracts.dot.codes import Draw
from emu.contracts.dot.rows import DotRow, plan_of
from emu.contracts.levels import cases as level_cases
from emu.contracts.levels.field import Field
from emu.contracts.levels.rows import LevelsRow, in_levels
from emu.contracts.levels.rows import plan_of as levels_plan_of
from emu.contracts.rows import unpack, value_of
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan, products_of_row
from emu.spec.models import Format
from emu.vectors.files.suite import ENDINGS, Suite, load


def suite_row(path: str | Path, number: int) -> tuple[DotRow, DatapathPlan]:
    """Return a row of a suite and the plan of its contract.

    path: the suite's .json, .tv or .mem file, or folder and stem without ending; all files of the suite are checked.
    Raises: FileError (no such suite, not one of dot products, no such tcId).
    """
    place = Path(path)
    ending = next((item for item in ENDINGS if place.name.endswith(item)), "")
    return row_at(load(place.parent, place.name.removesuffix(ending)), number)


def row_at(suite: Suite, number: int) -> tuple[DotRow, DatapathPlan]:
    """Return row tcId `number` of a loaded suite and its plan; where a register runs through a chain, the chain up to that row.

    Raises: FileError.
    """
    operation, _, name = str(suite.record["contract"]["name"]).partition("/")
    if operation not in ("dot", "accumulate"):
        raise FileError(f"{suite.stem}: holds rows of {operation}, not of dot products")
    if not 1 <= number <= len(suite.rows):
        raise FileError(f"{suite.stem}: has no row {number}: its tcIds are 1..{len(suite.rows)}")
    plan = plan_of(name)
    first = number
    if operation == "accumulate" and plan.accumulator is not None:
        while first > 1 and not value_of(suite.layout, suite.rows[first - 1], "first"):
            first -= 1
    parts = [_row(suite, place, plan) for place in range(first, number + 1)]
    a, b, scale_a, scale_b = (tuple(code for part in parts for code in getattr(part, side)) for side in ("a", "b", "scale_a", "scale_b"))
    return DotRow(a, b, scale_a, scale_b, parts[0].c), plan


def levels_row(path: str | Path, number: int) -> tuple[LevelsRow, LevelsPlan] | None:
    """Return a row of a suite of a datapath of levels and its plan; None where the suite is of another contract. Raises: as suite_row."""
    place = Path(path)
    ending = next((item for item in ENDINGS if place.name.endswith(item)), "")
    suite = load(place.parent, place.name.removesuffix(ending))
    operation, _, name = str(suite.record["contract"]["name"]).partition("/")
    if operation not in ("dot", "accumulate") or not in_levels(name):
        return None
    if not 1 <= number <= len(suite.rows):
        raise FileError(f"{suite.stem}: has no row {number}: its tcIds are 1..{len(suite.rows)}")
    row = suite.rows[number - 1]
    found = {column.name: unpack(value_of(suite.layout, row, column.name), column) for column in suite.layout.inputs}
    c = found["c"][0] if "c" in found else None
    return LevelsRow(found["a"], found["b"], found.get("sa", ()), found.get("sb", ()), c, found.get("r", ())), levels_plan_of(name)


def _row(suite: Suite, number: int, plan: DatapathPlan) -> DotRow:
    """The codes of one row, as its columns hold them."""
    row = suite.rows[number - 1]
    given = {column.name: value_of(suite.layout, row, column.name) for column in suite.layout.inputs}
    widths = {column.name: column.bits for column in suite.layout.inputs}

    def codes(name: str, fmt: Format | None) -> tuple[int, ...]:
        if fmt is None:
            return ()
        bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
        return tuple(given[name] >> (bits * i) & ((1 << bits) - 1) for i in range(widths[name] // bits))

    return DotRow(codes("a", plan.a), codes("b", plan.b), codes("sa", plan.scale), codes("sb", plan.scale), given.get("c", 0))


# Random rows by category, drawn with the caller's key: the categories are those of the golden suites (emu.contracts.dot.cases).


CATEGORIES: Final = tuple(name for name in cases_dot.MAKERS if name != "scale_signbit")


def samples(plan: DatapathPlan, category: str, key: int, count: int, instructions: int = 1, first: int = 0) -> Iterator[DotRow]:
    """Yield rows first .. first + count - 1 of a category; none where it does not apply to the plan.

    key: 64-bit; a row depends on plan, category, key and its number alone.   instructions: K = that many times the instruction's k; the
    first one's C is the row's.   Raises: OperandError (unknown category, key of more than 64 bits).
    """
    philox.check_key(key)
    if category not in CATEGORIES:
        raise OperandError(f"category {category!r} is unknown: one of {', '.join(CATEGORIES)}")
    if not cases_dot.applies(category, plan):
        return
    make, field = cases_dot.MAKERS[category], cases_dot.field_of(plan)
    stream = philox.stream_of(f"study/{plan.name}/{category}/{key}")
    for number in range(first, first + count):
        parts = [make(field, Draw(stream, number * instructions + part)).case() for part in range(instructions)]
        yield DotRow(
            tuple(code for part in parts for code in part.a),
            tuple(code for part in parts for code in part.b),
            tuple(code for part in parts for code in part.scale_a),
            tuple(code for part in parts for code in part.scale_b),
            parts[0].c,
        )


def levels_samples(plan: LevelsPlan, category: str, key: int, count: int, k: int | None = None, first: int = 0) -> list[LevelsRow]:
    """Return random rows of a datapath of levels. k: products, None: one instruction, or as many as the levels need.

    Raises: OperandError (unknown category, key of more than 64 bits), SpecError (levels that cover no K).
    """
    philox.check_key(key)
    field = Field(plan, k or products_of_row(plan, False))
    if category not in level_cases.MAKERS or not level_cases.applies(category, field):
        known = ", ".join(name for name in level_cases.MAKERS if level_cases.applies(name, field))
        raise OperandError(f"category {category!r} has no rows for {plan.name}: one of {known}")
    stream = philox.stream_of(f"study/{plan.name}/{category}/{key}")
    return [level_cases.make(category, field, Draw(stream, number)) for number in range(first, first + count)]
