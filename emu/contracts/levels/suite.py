"""Which rows the suites of a datapath of levels hold: some of every category, and those by which the model does something new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from emu.base import philox
from emu.base.caches import Cache
from emu.contracts.dot import cases_ends
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.levels import cases, one_bit
from emu.contracts.levels.events import Event, events, narrow_events
from emu.contracts.levels.field import Draft
from emu.contracts.levels.rows import LevelsRow
from emu.contracts.rows import Input
from emu.contracts.suites import ENDS

if TYPE_CHECKING:
    from emu.contracts.levels.contract import LevelsContract

PER_CATEGORY: Final = 8  # rows of each category that are taken whatever they exercise
PER_FLAGS: Final = 24  # of those that raise flags, which the model of coverage does not look at
TRIED: Final = 40  # rows of each category that are tried
TRIED_AIMED: Final = 160
MOST_LANES: Final = 32  # of longer rows fewer are tried
RANDOM_ROWS: Final = 1 << 12
FIRST_RANDOM: Final = 1 << 16  # number of the first random row of a category: past every directed one


def rows(op: LevelsContract, category: str, count: int, start: int = 0, stream: str = "") -> list[LevelsRow]:
    """Return rows start .. start + count - 1 of a category; any split gives the same rows."""
    number = philox.stream_of(f"{op.name}/{category}" + (f"/{stream}" if stream else ""))
    return [cases.make(category, op.field, Draw(number, row)) for row in range(start, start + count)]


BITS_ROWS: Final = 24
BITS: Final = {
    "product_bits": "products of which the last bits alone are left",
    "register_sums": "sums that are the ends of a register, or a power of two with a unit more or less",
}


def bits(op: LevelsContract) -> list[Input]:
    """Return the rows of the suite `bits`: products of which only what a float register rounds away is left; sums of fixed registers."""
    names = [name for name in cases.LATER_MAKERS if cases.applies(name, op.field)]
    return [Input(name, (name,), op.packed_values(row)) for name in names for row in rows(op, name, BITS_ROWS)]


SUMS: Final = "single additions to a float register in which one bit decides"


_sums: Cache[tuple[str, str], list[Input]] = Cache("emu.contracts.levels.suite._sums", 8)


def sums(op: LevelsContract) -> list[Input]:
    """Return the rows of the suite `sums`: single additions to a float register in which one bit decides, each once."""
    key = (str(op.name), op.name.spec_sha256)
    found = _sums.get(key)
    return list(found if found is not None else _sums.keep(key, _sums_made(op)))


def _sums_made(op: LevelsContract) -> list[Input]:
    out: dict[tuple[int, ...], Input] = {}
    for name, count in one_bit.counts(op.field).items():
        stream = philox.stream_of(f"{op.name}/{name}")
        for number in range(count):
            case = Input(name, (name,), op.packed_values(one_bit.MAKERS[name](op.field, Draw(stream, number)).row()))
            out.setdefault(case.values, case)
    return list(out.values())


_directed: Cache[tuple[str, ...], list[Input]] = Cache("emu.contracts.levels.suite._directed", 8)


def directed(op: LevelsContract, stream: str = "") -> list[Input]:
    """Return the directed cases: some of every category, and each further one that exercises what none before did."""
    own = "" if stream == op.stem("directed") else stream
    key = (str(op.name), op.name.spec_sha256, own)
    found = _directed.get(key)
    return list(found if found is not None else _directed.keep(key, _made(op, own)))


def _made(op: LevelsContract, own: str) -> list[Input]:
    out: dict[tuple[int, ...], Input] = {}
    seen: set[Event] = set()
    share = max(1, op.field.k // MOST_LANES)
    small: set[cases_ends.Event] = set()
    for category in cases.MAKERS:
        if not cases.applies(category, op.field):
            continue
        tried = (TRIED_AIMED if category == "aimed" else TRIED) // share
        for number, row in enumerate(rows(op, category, max(tried, PER_CATEGORY), 0, own)):
            told = cases.told_of(row, op.field)
            found = set() if told is None else set(events(told))
            if told is not None:
                narrow: set[cases_ends.Event] = set(narrow_events(told))
            if number < (PER_FLAGS if category == "flags" else PER_CATEGORY) or not found <= seen:
                seen |= found
                case = Input(category, (category,), op.packed_values(row))
                out.setdefault(case.values, case)
                small |= narrow
    for flag, row in _ends(op, small):
        case = Input(ENDS, (flag,), op.packed_values(row))
        out.setdefault(case.values, case)
    return list(out.values())


def _ends(op: LevelsContract, small: set[cases_ends.Event]) -> Iterator[tuple[str, LevelsRow]]:
    """Yield (flag, row) at the ends of narrow registers and results, where earlier rows leave some out, and of ignored bits."""

    def told_of(draft: Draft) -> set[cases_ends.Event] | None:
        told = cases.told_of(draft.row(), op.field)
        return None if told is None else set(narrow_events(told))

    plan = op.plan
    formats = [*(codes.fmt for codes in op.field.registers), plan.d]
    narrow = [Codes(fmt) for fmt in dict.fromkeys(formats) if cases_ends.is_narrow(fmt)]
    yield from ((flag, draft.row()) for flag, draft in cases_ends.result_ends(op.field, narrow, small, told_of))
    yield from (("ignored_bit", draft.row()) for draft in cases_ends.ignored_bits(op.field))


def random(op: LevelsContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return random rows: the categories take turns."""
    names = [name for name in cases.MAKERS if cases.applies(name, op.field)]
    out = []
    for number in range(start, stop):
        name = names[number % len(names)]
        (row,) = rows(op, name, 1, FIRST_RANDOM + number // len(names))
        out.append(Input("random", ("random",), op.packed_values(row)))
    return out
