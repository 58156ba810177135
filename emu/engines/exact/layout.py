"""layout: the place in memory of the code of one row and index, and the way back. Not here: the codes themselves."""

from __future__ import annotations

from emu.base.errors import OperandError
from emu.spec.models import Layout


def place(row: int, idx: int, rows: int, codes: int, layout: Layout) -> int:
    """Return the place of one code, counted in codes from the start of the tensor.

    row, idx: 0 .. rows - 1 and 0 .. codes - 1.   rows, codes: of the tensor without padding.
    The digits of row and idx are taken from the fastest on; a digit weighs the product of the counts before it, the padding included.
    Raises: OperandError (outside the tensor).
    Source: the layout's sources.   Tests: tests/engines/exact/test_exact_layout.py.
    """
    if not (0 <= row < rows and 0 <= idx < codes):
        raise OperandError(f"{layout.id}: row {row}, index {idx} lies outside a tensor of {rows} x {codes}")
    at = {"row": row, "idx": idx}
    found, weight = 0, 1
    for digit, count in zip(layout.facts.digits, counts(rows, codes, layout), strict=True):
        value = at[digit.axis] // digit.step % count
        found += (count - 1 - value if digit.order == "down" else value) * weight
        weight *= count
    return found


def locate(place: int, rows: int, codes: int, layout: Layout) -> tuple[int, int] | None:
    """Return row and index of the code at a place; None where padding lies there. The inverse of `place`.

    Raises: OperandError (a place behind the end).   Tests: as place.
    """
    if not 0 <= place < size(rows, codes, layout):
        raise OperandError(f"{layout.id}: place {place} lies outside a tensor of {rows} x {codes} in {size(rows, codes, layout)} places")
    at = {"row": 0, "idx": 0}
    for digit, count in zip(layout.facts.digits, counts(rows, codes, layout), strict=True):
        place, value = divmod(place, count)
        at[digit.axis] += (count - 1 - value if digit.order == "down" else value) * digit.step
    return (at["row"], at["idx"]) if at["row"] < rows and at["idx"] < codes else None


def size(rows: int, codes: int, layout: Layout) -> int:
    """Return how many places a tensor takes, the padding included."""
    found = 1
    for count in counts(rows, codes, layout):
        found *= count
    return found


def counts(rows: int, codes: int, layout: Layout) -> list[int]:
    """Return how many values each digit has: its count, or what is left of the padded axis."""
    sides = {"row": rows, "idx": codes}
    return [digit.count or -(-sides[digit.axis] // digit.step) for digit in layout.facts.digits]
