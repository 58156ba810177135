"""The constants of a bench, shared by `.svh` and `.h`: row counts, widths, field positions, the stem and its digest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from emu.vectors.columns import Layout


class Counts(NamedTuple):
    """What a shard's macros say besides its columns.

    name: file name without ending.   base: tcId of the first row.   open_rows: they compare nothing.   negative: rows of the `.neg.mem`.
    """

    name: str
    rows: int
    open_rows: int
    base: int
    negative: int
    sha256: str


def constants(layout: Layout, counts: Counts) -> list[tuple[str, str]]:
    """Return (name, value) in file order; names come after a prefix and an underscore."""
    plain = [
        ("N", counts.rows),
        ("WORDS", counts.rows + 1),
        ("OPEN", counts.open_rows),
        ("BASE", counts.base),
        ("WIDTH", layout.width),
        ("NEG_N", counts.negative),
        ("NEG_WORDS", counts.negative + 1),
    ]
    for column in layout.columns:
        plain += [(f"{column.name.upper()}_LSB", layout.lsb(column.name)), (f"{column.name.upper()}_BITS", column.bits)]
    texts = [("STEM", f'"{counts.name}"'), ("ROWS_SHA256", f'"{counts.sha256}"')]
    return [*((name, str(value)) for name, value in plain), *texts]


def prefix(name: str) -> str:
    """Return the macro prefix of a file name."""
    return name.upper().replace(".", "_")


def guarded(name: str, ending: str, body: Sequence[str], directive: Callable[[str], str]) -> str:
    """Return the lines between include guards."""
    guard = f"{prefix(name)}_{ending}"
    return "\n".join([directive(f"ifndef {guard}"), directive(f"define {guard}"), *body, directive("endif")]) + "\n"
