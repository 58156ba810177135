"""Random rows by category, drawn with the caller's key: the categories are those of the golden suites (emu.contracts.dot.cases)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emu.base import philox
from emu.base.errors import OperandError
from emu.contracts.dot import cases as cases_dot
from emu.contracts.dot.draws import Draw
from emu.contracts.dot.rows import DotRow
from emu.spec.datapath import DatapathPlan

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
