"""Rows: an input with its flags, and the finished row with outputs, masks and NaN kinds as one integer per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from emu.base.caches import bounded
from emu.contracts.columns import KIND_BITS, Column, Layout
from emu.spec import derive
from emu.spec.registry import get

Answer = tuple[tuple[int, ...], ...]  # one tuple of lane codes per result column; negative: nobody knows, or the library raises


class Input(NamedTuple):
    """One case before it is computed. values: one integer per input column."""

    group: str
    flags: tuple[str, ...]
    values: tuple[int, ...]
    comment: str = ""


class Row(NamedTuple):
    """One row. values: one integer per column of the layout, the guard left out."""

    group: str
    flags: tuple[str, ...]
    values: tuple[int, ...]
    comment: str = ""


def pack(lanes: Sequence[int], lane_bits: int) -> int:
    """Return lanes as one integer, lane 0 in the low bits."""
    out = 0
    for place, code in enumerate(lanes):
        out |= code << (place * lane_bits)
    return out


def unpack(value: int, column: Column) -> tuple[int, ...]:
    """Return the lanes of a column's value."""
    bits = column.lane_bits
    ones = (1 << bits) - 1
    return tuple([value >> place & ones for place in range(0, bits * column.lanes, bits)])


def first_lane(bits: int, column: Column) -> int:
    """Return the first lane of a column of which a bit is set; 0 where none is."""
    return next((lane for lane, part in enumerate(unpack(bits, column)) if part), 0)


def is_nan(code: int, format_id: str | None) -> bool:
    """Tell whether a lane code is NaN."""
    magnitude, above, listed = _nan_codes(format_id or "")
    return code & magnitude > above or code in listed


@bounded(256, names=True)
def _nan_codes(format_id: str) -> derive.NanCodes:
    """Return the NaN codes of a format by its id: rows ask this of every lane."""
    return derive.nan_codes(get("format", format_id))


def make_row(layout: Layout, case: Input, answer: Answer) -> Row:
    """Return the row of a case and its answer; what nobody knows is masked 0 and flagged open."""
    outs, masks, kinds = [], [], []
    for column, lanes in zip(layout.results, answer, strict=True):
        ones = (1 << column.lane_bits) - 1
        outs.append(pack([max(code, 0) for code in lanes], column.lane_bits))
        masks.append(pack([ones if code >= 0 else 0 for code in lanes], column.lane_bits))
        if column.any_nan:
            kinds.append(pack([int(code >= 0 and is_nan(code, column.format)) for code in lanes], KIND_BITS))
    pad = (0,) if layout.columns[0].role == "pad" else ()
    flags = case.flags if any(masks) else tuple(dict.fromkeys((*case.flags, "open")))
    return Row(case.group, flags, (*pad, *case.values, *outs, *masks, *kinds), case.comment)


def inputs_of(layout: Layout, row: Row) -> tuple[int, ...]:
    """Return the input values of a row."""
    return tuple(value for column, value in zip(layout.columns, row.values, strict=True) if column.role in ("in", "r"))


def value_of(layout: Layout, row: Row, name: str) -> int:
    """Return the value of a named column."""
    return row.values[layout.index(name)]


def is_open(layout: Layout, row: Row) -> bool:
    """Tell whether nothing of a row is compared."""
    return not any(value for column, value in zip(layout.columns, row.values, strict=True) if column.role == "mask")


def compares_outputs(layout: Layout, row: Row) -> bool:
    """Tell whether an output of a row is compared, stages left out."""
    return any(value_of(layout, row, "m_" + column.name) for column in layout.results if column.role == "out")


def mismatches(layout: Layout, row: Row, answer: Answer) -> list[str]:
    """Return the columns where an answer differs from a row under its masks.

    answer: lane codes for as many result columns as were computed; a NaN kind accepts any NaN. An unknown code under a set mask differs.
    """
    found = []
    for column, lanes in zip(layout.results, answer, strict=False):
        stored = unpack(value_of(layout, row, column.name), column)
        masks = unpack(value_of(layout, row, "m_" + column.name), column)
        kinds = (0,) * column.lanes
        if column.any_nan:
            packed = value_of(layout, row, "k_" + column.name)
            kinds = tuple(packed >> (KIND_BITS * lane) & 15 for lane in range(column.lanes))
        for want, mask, kind, got in zip(stored, masks, kinds, lanes, strict=True):
            if not mask:
                continue
            same = got >= 0 and (is_nan(got, column.format) if kind else not (want ^ got) & mask)
            if not same:
                found.append(column.name)
                break
    return found
