"""Writer of `.mem` for $readmemh: one word per row, `_` between columns, the id and flags as a comment; the trailer is the last word."""

from __future__ import annotations

from collections.abc import Sequence

from emu.contracts.columns import Layout
from emu.contracts.rows import Row
from emu.vectors.files.tv import row_format, trailer


def render(layout: Layout, rows: Sequence[Row], first: int = 1) -> str:
    """Return the text of a `.mem` file. first: tcId of its first row."""
    text = row_format(layout, gap="_")
    lines = [f"{text % row.values} // tc={first + number}{''.join(' ' + flag for flag in row.flags)}" for number, row in enumerate(rows)]
    return "\n".join([*lines, trailer(layout, len(rows), "_")]) + "\n"
