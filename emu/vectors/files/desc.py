"""Writer of `.desc`: the columns as flat text, for C programs without a JSON parser."""

from __future__ import annotations

from emu.contracts.columns import Layout


def render(layout: Layout, stem: str, rows: int, rows_sha256: str) -> str:
    """Return the text of a `.desc` file: stem, rows, rows_sha256, then `col <name> <role> <bits> <hex digits> <format>`; `-`: no format."""
    lines = [f"stem {stem}", f"rows {rows}", f"rows_sha256 {rows_sha256}", "col guard guard 4 1 -"]
    lines += [f"col {column.name} {column.role} {column.bits} {column.digits} {column.format or '-'}" for column in layout.columns]
    return "\n".join(lines) + "\n"
