"""The rows that a port map leaves out: masked in a suite derived from the golden one, counted apart, and written by the same writers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emu.base.errors import OpenError
from emu.contracts.columns import Column, Layout
from emu.contracts.rows import Input, Row, inputs_of, is_open, unpack, value_of
from emu.contracts.text import class_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.flags import is_signalling
from emu.rtl.portmap.model import PortMap, Unsupported, Wiring
from emu.rtl.portmap.wires import flags_left_out
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.vectors.compute import derive_rows
from emu.vectors.files.suite import Suite, refreshed, render
from emu.vectors.files.write import write_text
from emu.vectors.suites.plan import SuitePlan

FLAG = "unsupported"
TIED = "tied"


@dataclass(frozen=True)
class Derived:
    """A suite as a design claims it.

    suite: the rows, masked where the map says so.   unsupported: reason -> rows masked for it (a row counts once, for its first reason).
    unwaived: those of them that no waiver gives a reason for.   waivers: numbers of the map's waivers that match a row.
    remade: rows made anew, because an input of theirs is a constant of the design.
    open_rows: rows that nobody can judge, masked.   missing: bits of result columns that are not compared anywhere.
    left_out: output columns and flags of the contract that are not compared anywhere -> the map's reason, or nothing.
    """

    suite: Suite
    unsupported: dict[str, int]
    unwaived: int
    waivers: frozenset[int]
    remade: int
    open_rows: int
    missing: dict[str, int]
    left_out: dict[str, str]

    @property
    def without_reason(self) -> list[str]:
        """The columns and flags of the contract that are not compared, and nobody says why."""
        return [name for name, why in self.left_out.items() if not why]


def derive_suite(model: PortMap, plan: SuitePlan, suite: Suite) -> Derived:
    """Return a suite as a design can run it: inputs that it ties set to their constants, rows that it does not claim masked.

    model: a port map that fits the suite's columns.   plan: of the suite.   Rows keep their ids; a row with another constant is computed
    again by the reference model and every other engine. Masked rows are still driven and keep inputs and expected values.
    Raises: EngineError (engines differ on a row that is made anew).   Tests: tests/rtl/test_rtl_portmap.py, test_rtl_run.py.
    """
    layout = suite.layout
    missing = missing_bits(model, layout)
    remade = _remade(model, plan, suite)
    counts: Counter[str] = Counter()
    unwaived = 0
    used: set[int] = set()
    rows: list[Row] = []
    for place, golden in enumerate(suite.rows):
        row = remade.get(place, golden)
        reasons = [] if is_open(layout, row) else list(_reasons(model, layout, row))
        used.update(number for number, _ in reasons if number is not None)
        if reasons:
            counts[reasons[0][1]] += 1
            unwaived += not any(number is not None and model.unsupported[number].why for number, _ in reasons)
        rows.append(_masked(layout, row, None if reasons else missing))
    if not counts and not missing and not remade:
        return Derived(suite, {}, 0, frozenset(), 0, _open(suite), {}, {})
    out = tuple(rows)
    opened = sum(is_open(layout, remade.get(place, golden)) for place, golden in enumerate(suite.rows))
    whole = Suite(refreshed(suite.record, layout, out), layout, out)
    return Derived(whole, dict(counts), unwaived, frozenset(used), len(remade), opened, missing, left_out(model, layout))


def _remade(model: PortMap, plan: SuitePlan, suite: Suite) -> dict[int, Row]:
    """Return place -> row, of rows whose tied inputs are not the design's: the same with its constants.

    None of a chain, where a row starts from the one before.
    """
    layout = suite.layout
    tied = {name: place for name, place in model.ports.items() if place.value is not None or place.low_bits is not None}
    names = [column.name for column in layout.inputs]
    if not tied or "last" in names:
        return {}
    cases: dict[int, Input] = {}
    for place, row in enumerate(suite.rows):
        given = inputs_of(layout, row)
        wanted = tuple(_tied(tied[name], value) if name in tied else value for name, value in zip(names, given, strict=True))
        if wanted != given:
            cases[place] = Input(row.group, (TIED,), wanted, row.comment)
    found = derive_rows(plan, 0, list(cases.values())).rows if cases else []
    return dict(zip(cases, found, strict=True))


def _tied(place: Wiring, value: int) -> int:
    return int(place.value, 16) if place.value is not None else value & ((1 << (place.low_bits or 0)) - 1)


def _open(suite: Suite) -> int:
    return sum(is_open(suite.layout, row) for row in suite.rows)


def missing_bits(model: PortMap, layout: Layout) -> dict[str, int]:
    """Return result column -> bits that are not compared: outputs and flags that the design lacks, stages that the map does not name."""
    out = {}
    for column in layout.results:
        if column.name in model.absent or (column.role == "stage" and column.name not in model.ports):
            out[column.name] = (1 << column.bits) - 1
        else:
            out[column.name] = sum(1 << column.flags.index(name) for name in flags_left_out(model, column))
    return {name: bits for name, bits in out.items() if bits}


def left_out(model: PortMap, layout: Layout) -> dict[str, str]:
    """Return the output columns and flags of a contract that the design lacks -> the map's reason, or nothing. Stages are no outputs."""
    found: list[str] = []
    for column in layout.results:
        if column.role == "out":
            found += [column.name] if column.name in model.absent else flags_left_out(model, column)
    return {name: model.waived.get(name, "") for name in found}


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


def _reasons(model: PortMap, layout: Layout, row: Row) -> Iterator[tuple[int | None, str]]:
    """Yield why a design does not claim a row: the number of a waiver, None for a tied input, and the words of the report."""
    for name, place in model.ports.items():
        if place.value is not None and value_of(layout, row, name) != int(place.value, 16):
            yield None, f"{name} is not {place.value}"
        if place.low_bits is not None and value_of(layout, row, name) >> place.low_bits:
            yield None, f"{name} has more than {place.low_bits} bits"
    for number, item in enumerate(model.unsupported):
        why = f" ({item.why})" if item.why else ""
        if item.flag is not None and item.flag in row.flags:
            yield number, f"flag {item.flag}{why}"
        for column in waived_columns(item, layout) if item.class_ is not None else ():
            fmt: Format = get("format", column.format or "")
            if any(has_class(code, fmt, item.class_ or "") for code in unpack(value_of(layout, row, column.name), column)):
                yield number, f"{(item.class_ or '').replace('_', ' ')} in {column.name}{why}"
                break


def waived_columns(waiver: Unsupported, layout: Layout) -> list[Column]:
    """Return the input columns whose elements a waiver of a class is about."""
    return [column for column in layout.inputs if column.format is not None and waiver.column in (None, column.name)]


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
