"""Writer of `.tv`: the columns of `.mem` with one space between them, no comments, no header. The trailer is the last line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emu.contracts.columns import Layout
from emu.contracts.rows import Row


def row_format(layout: Layout, guard: str = "a", gap: str = " ") -> str:
    """Return the %-format of a row's values."""
    return gap.join((guard, *(f"%0{column.digits}x" for column in layout.columns)))


def row_lines(layout: Layout, rows: Iterable[Row]) -> list[str]:
    """Return one line per row, without the line ends."""
    text = row_format(layout)
    return [text % row.values for row in rows]


def trailer(layout: Layout, count: int, gap: str = " ") -> str:
    """Return the trailer: guard e, then the row count as one number over all columns, cut at the column borders."""
    digits = f"{count:0{layout.digits}x}"
    parts, at = ["e"], 0
    for column in layout.columns:
        parts.append(digits[at : at + column.digits])
        at += column.digits
    return gap.join(parts)


def render(layout: Layout, rows: Sequence[Row]) -> str:
    """Return the text of a `.tv` file."""
    return "\n".join([*row_lines(layout, rows), trailer(layout, len(rows))]) + "\n"
