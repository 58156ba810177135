"""Rows of a plan: `exact` computes, every other implementation present derives them again, and nothing is returned unless all agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from emu.base.errors import EngineError
from emu.contracts.columns import Layout
from emu.contracts.rows import Answer, Input, Row, make_row, mismatches
from emu.vectors.files.manifest import SHARD_ROWS
from emu.vectors.suites.plan import SuitePlan

CHUNK: Final = 4096
SAMPLE: Final = 64  # of a suite above 2^16 rows the reference model derives flagged rows and one in this many
PLAIN: Final = frozenset({"random", "exhaustive", "decision", "code"})  # flags that mark nothing special


class Computed(NamedTuple):
    """A run of rows. exact_rows: how many the reference model derived.   agreed: the engines that derived every one of them."""

    rows: list[Row]
    exact_rows: int
    agreed: frozenset[str]


def wants_exact(number: int, flags: tuple[str, ...], size: int) -> bool:
    """Tell whether the reference model derives a row. number: from 0."""
    return size <= SHARD_ROWS or number % SAMPLE == 0 or not PLAIN.issuperset(flags)


def compute(plan: SuitePlan, start: int, stop: int) -> Iterator[Computed]:
    """Yield the rows start .. stop - 1 of a plan in chunks.

    Raises: EngineError when two implementations differ, or when no two others can do a suite that is too large for the reference model.
    """
    for first in range(start, stop, CHUNK):
        cases = plan.cases(first, min(first + CHUNK, stop))
        yield derive_rows(plan, first, cases)


def derive_rows(plan: SuitePlan, first: int, cases: list[Input]) -> Computed:
    """Return the rows of cases with the columns of a plan. first: number of the first one, from 0.   Raises: as compute."""
    op, layout = plan.operation, plan.operation.layout
    others = {name: batch([case.values for case in cases]) for name, batch in op.engines().items()}
    rows: list[Row] = []
    exact_rows = 0
    for place, case in enumerate(cases):
        found = {name: answers[place] for name, answers in others.items() if answers[place] is not None}
        if wants_exact(first + place, case.flags, plan.size):
            wanted = op.exact(case.values)
            exact_rows += 1
        else:
            wanted = _whole(layout, plan, found)
        row = make_row(layout, case, wanted)
        for name, answer in found.items():
            if answer is not None and answer != wanted[: len(answer)]:
                _agree(layout, plan.stem, first + place, row, name, answer)
        rows.append(row)
    agreed = frozenset(name for name, answers in others.items() if all(answer is not None for answer in answers))
    return Computed(rows, exact_rows, agreed)


def _whole(layout: Layout, plan: SuitePlan, found: dict[str, Answer | None]) -> Answer:
    """Return an answer for every result column; whoever asks compares it with the others. Raises: EngineError (fewer than two answers)."""
    whole = [answer for answer in found.values() if answer is not None and len(answer) == len(layout.results)]
    if len(found) < 2 or not whole:
        raise EngineError(f"{plan.stem}: {plan.size} rows are too many for the exact engine, and no two other implementations derive them")
    return whole[0]


def _agree(layout: Layout, stem: str, number: int, row: Row, name: str, answer: Answer) -> None:
    """Refuse an answer that differs from a row, but for the payload of a NaN where it is free. Raises: EngineError."""
    wrong = mismatches(layout, row, answer)
    unknown = [
        column.name
        for column, lanes in zip(layout.results, answer, strict=False)
        if not row.values[layout.index("m_" + column.name)] and any(code >= 0 for code in lanes)
    ]
    if wrong or unknown:
        where = ", ".join(wrong or unknown)
        raise EngineError(f"{stem}: row {number + 1}: {name} and the reference model differ in {where}: no file was written")
