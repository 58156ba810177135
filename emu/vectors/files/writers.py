"""Writers of a suite's files: `.tv`, `.mem` and `.neg.mem` rows, `.svh` and `.h` constants, `.desc` columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from emu.base.errors import FileError, SpecError
from emu.contracts.columns import KIND_BITS, Column, Layout
from emu.contracts.rows import Row, compares_outputs, is_open, value_of
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

# Writer of `.tv`: the columns of `.mem` with one space between them, no comments, no header. The trailer is the last line.


def row_format(layout: Layout, gap: str = " ") -> str:
    """Return the %-format of a row's values."""
    return gap.join(("a", *(f"%0{column.digits}x" for column in layout.columns)))


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


def render_tv(layout: Layout, rows: Sequence[Row]) -> str:
    """Return the text of a `.tv` file."""
    return "\n".join([*row_lines(layout, rows), trailer(layout, len(rows))]) + "\n"


# Writer of `.mem` for $readmemh: one word per row, `_` between columns, the id and flags as a comment; the trailer is the last word.


def render_mem(layout: Layout, rows: Sequence[Row], first: int = 1) -> str:
    """Return the text of a `.mem` file. first: tcId of its first row."""
    text = row_format(layout, gap="_")
    lines = [f"{text % row.values} // tc={first + number}{''.join(' ' + flag for flag in row.flags)}" for number, row in enumerate(rows)]
    return "\n".join([*lines, trailer(layout, len(rows), "_")]) + "\n"


# Writer of `.neg.mem`: the first rows with one compared bit flipped; a bench that does not report one mismatch there proves nothing.


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


# The constants of a bench, shared by `.svh` and `.h`: row counts, widths, field positions, the stem and its digest.


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


# Writer of `.svh`: the constants under the suite's own prefix, and as TC_*, with lists of ports, so that one bench serves every suite.


def render_svh(layout: Layout, counts: Counts) -> str:
    """Return the text of a `.svh` file."""
    values = constants(layout, counts)
    own = prefix(counts.name)
    own_names = [(f"{own}_{'TC_BASE' if name == 'BASE' else name}", value) for name, value in values]
    shared = [(f"TC_{name}", value) for name, value in (*values, *lists(layout))]
    body = [f"`define {name} {value}".rstrip() for name, value in (*own_names, *shared)]
    return guarded(counts.name, "SVH", body, lambda text: "`" + text)


# Writer of `.h`: the constants under the suite's own prefix, for C.


def render_h(layout: Layout, counts: Counts) -> str:
    """Return the text of a `.h` file."""
    own = prefix(counts.name)
    body = [f"#define {own}_{'TC_BASE' if name == 'BASE' else name} {value}" for name, value in constants(layout, counts)]
    return guarded(counts.name, "H", body, lambda text: "#" + text)


# Writer of `.desc`: the columns as flat text, for C programs without a JSON parser.


def render_desc(layout: Layout, stem: str, rows: int, rows_sha256: str) -> str:
    """Return the text of a `.desc` file: stem, rows, rows_sha256, then `col <name> <role> <bits> <hex digits> <format>`; `-`: no format."""
    lines = [f"stem {stem}", f"rows {rows}", f"rows_sha256 {rows_sha256}", "col guard guard 4 1 -"]
    lines += [f"col {column.name} {column.role} {column.bits} {column.digits} {column.format or '-'}" for column in layout.columns]
    return "\n".join(lines) + "\n"
