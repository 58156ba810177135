"""Writer of `.neg.mem`: the first rows with one compared bit flipped; a bench that does not report one mismatch there proves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from emu.base.errors import FileError
from emu.contracts.columns import KIND_BITS, Layout
from emu.contracts.rows import Row, value_of
from emu.vectors.files import mem

ROWS = 4


def flip_place(layout: Layout, row: Row) -> int | None:
    """Return the lowest compared bit of a row's first output, NaN lanes of any payload passed over; None where it has none."""
    column = layout.results[0]
    mask = value_of(layout, row, "m_" + column.name)
    if column.any_nan:
        kinds = value_of(layout, row, "k_" + column.name)
        for lane in range(column.lanes):
            if kinds >> (KIND_BITS * lane) & 15:
                mask &= ~(((1 << column.lane_bits) - 1) << (lane * column.lane_bits))
    return (mask & -mask).bit_length() - 1 if mask else None


def negative_rows(layout: Layout, rows: Sequence[Row]) -> list[Row]:
    """Return the first 4 rows, or more until one has a compared bit, with that bit flipped in the first such row.

    Raises: FileError when no row of the suite can be compared.
    """
    for number, row in enumerate(rows):
        place = flip_place(layout, row)
        if place is not None:
            at = layout.index(layout.results[0].name)
            values = (*row.values[:at], row.values[at] ^ 1 << place, *row.values[at + 1 :])
            out = [*rows[: max(ROWS, number + 1)]]
            out[number] = row._replace(values=values)
            return out
    raise FileError("no row of this suite can be compared: a self-test is impossible")


def render(layout: Layout, rows: Sequence[Row]) -> str:
    """Return the text of a `.neg.mem` file from the rows of the first shard."""
    return mem.render(layout, negative_rows(layout, rows))
