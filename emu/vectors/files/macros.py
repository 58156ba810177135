"""The constants of a bench, shared by `.svh` and `.h`: row counts, widths, field positions, the stem and its digest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from emu.base.errors import SpecError
from emu.contracts.columns import Column, Layout
from emu.contracts.rows import Row, compares_outputs, is_open
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get


class Counts(NamedTuple):
    """What a shard's macros say besides its columns.

    name: file name without ending.   base: tcId of the first row.   open_rows: they compare nothing.   negative: rows of the `.neg.mem`.
    open_outputs: rows that compare no output, stages left out; None: as many as open_rows.
    """

    name: str
    rows: int
    open_rows: int
    base: int
    negative: int
    sha256: str
    open_outputs: int | None = None


def counts_of(layout: Layout, rows: Sequence[Row], name: str, base: int, negative: int, sha256: str) -> Counts:
    """Return the counts of a shard from its rows."""
    open_rows = sum(is_open(layout, row) for row in rows)
    silent = sum(not compares_outputs(layout, row) for row in rows)
    return Counts(name, len(rows), open_rows, base, negative, sha256, silent)


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
    if counts.open_outputs not in (None, counts.open_rows):
        plain.append(("OPEN_OUTS", int(counts.open_outputs or 0)))
    for column in layout.columns:
        plain += [(f"{column.name.upper()}_LSB", layout.lsb(column.name)), (f"{column.name.upper()}_BITS", column.bits)]
    texts = [("STEM", f'"{counts.name}"'), ("ROWS_SHA256", f'"{counts.sha256}"')]
    return [*((name, str(value)) for name, value in plain), *texts]


def lists(layout: Layout) -> list[tuple[str, str]]:
    """Return (name, value) of the lists that a bench of any columns expands: what to drive, what to compare.

    INS: EMU_IN(port, "name", lsb, bits) for every input.   OUTS, STAGES: EMU_OUT(port, "name", lsb, bits, lsb of the mask, lsb of the kind
    or -1, lanes, lowest NaN of a lane without its sign) for every output and stage. The bench defines EMU_IN and EMU_OUT before each use.
    Raises: SpecError (a NaN of any payload in a format whose NaNs are not the largest magnitudes).
    """
    ins = [f'`EMU_IN({column.name},"{column.name}",{layout.lsb(column.name)},{column.bits})' for column in layout.inputs]
    named = [("INS", "".join(ins))]
    for name, role in (("OUTS", "out"), ("STAGES", "stage")):
        named.append((name, "".join(_result(layout, column) for column in layout.results if column.role == role)))
    return named


def _result(layout: Layout, column: Column) -> str:
    """Return one entry of OUTS or STAGES."""
    free = f"{layout.lsb('k_' + column.name)},{column.lanes},{lowest_nan(column)}" if column.any_nan else "-1,1,0"
    return f'`EMU_OUT({column.name},"{column.name}",{layout.lsb(column.name)},{column.bits},{layout.lsb("m_" + column.name)},{free})'


def lowest_nan(column: Column) -> str:
    """Return the lowest NaN magnitude of a lane as a Verilog number: above it all are NaN. Raises: SpecError."""
    fmt: Format = get("format", column.format or "")
    if not (isinstance(fmt.facts, FloatFacts) and fmt.facts.nan == "ieee" and fmt.facts.inf == "ieee"):
        raise SpecError(f"{column.name}: format {fmt.id}: any NaN is allowed, yet its NaNs are not those above infinity")
    return f"{column.lane_bits}'h{int(derive.codes(fmt).inf or 0) + 1:x}"


def prefix(name: str) -> str:
    """Return the macro prefix of a file name."""
    return name.upper().replace(".", "_")


def guarded(name: str, ending: str, body: Sequence[str], directive: Callable[[str], str]) -> str:
    """Return the lines between include guards."""
    guard = f"{prefix(name)}_{ending}"
    return "\n".join([directive(f"ifndef {guard}"), directive(f"define {guard}"), *body, directive("endif")]) + "\n"
