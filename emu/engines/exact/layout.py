"""layout: the place in memory of the code of one row and index. Not here: the codes themselves."""

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
    at, size = {"row": row, "idx": idx}, {"row": rows, "idx": codes}
    found, weight = 0, 1
    for digit in layout.facts.digits:
        value, count = at[digit.axis] // digit.step, -(-size[digit.axis] // digit.step)
        if digit.count is not None:
            value, count = value % digit.count, digit.count
        found += value * weight
        weight *= count
    return found
