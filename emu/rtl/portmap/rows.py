"""The rows that a port map leaves out: masked in a suite derived from the golden one, counted apart, and written by the same writers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from emu.base.errors import OpenError
from emu.contracts.columns import Layout
from emu.contracts.rows import Row, is_open, unpack, value_of
from emu.contracts.text import class_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.flags import is_signalling
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.wires import FLAG_BITS
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.vectors.files.suite import Suite, refreshed, render
from emu.vectors.files.write import write_text

FLAG = "unsupported"


@dataclass(frozen=True)
class Derived:
    """A suite as a design claims it.

    suite: the rows, masked where the map says so.   unsupported: reason -> rows masked for it (a row counts once, for its first reason).
    open_rows: rows that nobody can judge, masked in the golden suite.   missing: bits of output columns that are not compared anywhere.
    """

    suite: Suite
    unsupported: dict[str, int]
    open_rows: int
    missing: dict[str, int]

    @property
    def changed(self) -> bool:
        """Tell whether anything was masked."""
        return bool(self.unsupported or self.missing)


def derive_suite(model: PortMap, suite: Suite) -> Derived:
    """Return a suite with the rows masked that a design does not claim, and the columns that it does not have.

    model: a port map that fits the suite's columns.   Masked rows are still driven; they keep ids, inputs and expected values.
    Tests: tests/rtl/test_rtl_portmap.py.
    """
    layout = suite.layout
    missing = missing_bits(model, layout)
    counts: Counter[str] = Counter()
    rows: list[Row] = []
    for row in suite.rows:
        reason = None if is_open(layout, row) else reason_of(model, layout, row)
        if reason is not None:
            counts[reason] += 1
        rows.append(_masked(layout, row, None if reason is not None else missing))
    if not counts and not missing:
        return Derived(suite, {}, _open(suite), {})
    out = tuple(rows)
    return Derived(Suite(refreshed(suite.record, layout, out), layout, out), dict(counts), _open(suite), missing)


def _open(suite: Suite) -> int:
    return sum(is_open(suite.layout, row) for row in suite.rows)


def missing_bits(model: PortMap, layout: Layout) -> dict[str, int]:
    """Return result column -> bits that are not compared: outputs and flags that the design lacks, stages that the map does not name."""
    out = {}
    for column in layout.results:
        if column.name in model.missing or (column.role == "stage" and column.name not in model.ports):
            out[column.name] = (1 << column.bits) - 1
        elif column.name == "fl" and model.flags is not None:
            out[column.name] = sum(bit for name, bit in FLAG_BITS.items() if name not in model.flags.order)
    return {name: bits for name, bits in out.items() if bits}


def _masked(layout: Layout, row: Row, missing: dict[str, int] | None) -> Row:
    """Return a row without the bits of missing columns; with None: without any compared bit, and flagged."""
    values = list(row.values)
    for place, column in enumerate(layout.columns):
        if column.role in ("mask", "kind"):
            name = column.name[2:]
            if missing is None:
                values[place] = 0
            elif name in missing:
                values[place] &= ~missing[name] if column.role == "mask" else 0
    flags = dict.fromkeys((*row.flags, FLAG)) if missing is None else row.flags
    return row._replace(values=tuple(values), flags=tuple(flags))


def reason_of(model: PortMap, layout: Layout, row: Row) -> str | None:
    """Return why a design does not claim a row, in the words of the report; None when it does."""
    for name, place in model.ports.items():
        if place.value is not None and value_of(layout, row, name) != int(place.value, 16):
            return f"{name} is not {place.value}"
        if place.low_bits is not None and value_of(layout, row, name) >> place.low_bits:
            return f"{name} has more than {place.low_bits} bits"
    for item in model.unsupported:
        why = f" ({item.why})" if item.why else ""
        if item.flag is not None and item.flag in row.flags:
            return f"flag {item.flag}{why}"
        if item.class_ is not None:
            columns = [column for column in layout.inputs if column.format is not None and item.column in (None, column.name)]
            for column in columns:
                fmt: Format = get("format", column.format or "")
                if any(has_class(code, fmt, item.class_) for code in unpack(value_of(layout, row, column.name), column)):
                    return f"{item.class_.replace('_', ' ')} in {column.name}{why}"
    return None


def has_class(code: int, fmt: Format, wanted: str) -> bool:
    """Tell whether a code is of a class of portmap.Class; a code with an unused bit set is of none."""
    try:
        value = decode_code(code, fmt)
    except OpenError:
        return False
    facts = fmt.facts
    if wanted == "negative":
        return bool(value.sign) and not value.is_zero
    if wanted == "signalling_nan":
        return value.kind == "nan" and isinstance(facts, FloatFacts) and is_signalling(code, facts)
    if wanted in ("zero", "negative_zero"):
        return value.is_zero and (wanted == "zero" or bool(value.sign))
    return class_of(code, fmt) == "subnormal" if wanted == "subnormal" else value.kind == wanted


def write_derived(suite: Suite, folder: Path) -> list[str]:
    """Write every file of a suite into a folder; return the shard names (the stem alone where there is one).

    Raises: FileError (no row is left to compare, so no self-test is possible), OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render(suite).items():
        write_text(folder / name, text)
    return [str(entry["file"]).removesuffix(".mem") for entry in suite.record["shards"]]
