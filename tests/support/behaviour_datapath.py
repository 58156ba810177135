"""What a datapath does to fixed rows, by the exact engine. The rows are made from the shipped spec: a changed fact must not change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from emu.base.errors import EmuError
from emu.contracts.dot.cases import CATEGORIES, applies, rows
from emu.contracts.dot.rows import DotRow
from emu.contracts.suites import spread
from emu.engines.exact.datapath import dot
from emu.spec.datapath import known_facts, pairs, resolve
from emu.spec.models import Datapath

CHOSEN, ROWS = 4, 3  # choices of operands, rows of a category
SHARP, MORE = ("cancelled_group", "align_edge", "floor_edge", "cancel"), 12  # categories that see most, and their rows


class DotOperands(NamedTuple):
    """Rows of one choice of operands: formats of A and B, scale format, block size, cases."""

    a: str
    b: str
    scale: str | None
    block: int | None
    cases: tuple[DotRow, ...]


def datapath_rows(datapath: Datapath) -> list[DotOperands]:
    """Return the rows of some choices of operands; nothing for a datapath that is not known."""
    try:
        facts = known_facts(datapath)
    except EmuError:
        return []
    every = [
        (a, b, scale, block) for a, b in pairs(facts) for scale in facts.scale.formats or (None,) for block in facts.scale.blocks or (None,)
    ]
    out = []
    for place in spread(len(every), CHOSEN):
        plan = resolve(datapath, *every[place])
        counts = {name: 1 if name == "chain" else MORE if name in SHARP else ROWS for name in CATEGORIES if applies(name, plan)}
        found = [case for name, count in counts.items() for case in rows(name, plan, count)]
        out.append(DotOperands(*every[place], tuple(found)))
    return out


def datapath_runs(datapath: Datapath, given: Sequence[DotOperands]) -> Iterator[Any]:
    """Yield results, stages left out; an error as its class."""
    try:
        known_facts(datapath)
    except EmuError as error:
        yield type(error).__name__
    for choice in given:
        yield from (_tried(datapath, choice, case) for case in choice.cases)


def _tried(datapath: Datapath, choice: DotOperands, case: DotRow) -> Any:
    try:
        found = dot(*case, resolve(datapath, choice.a, choice.b, choice.scale, choice.block))
    except (EmuError, AssertionError) as error:
        return type(error).__name__
    return found.code, found.accumulator
