"""Kill rows of contracts of a user's own files: chosen among their rows by the deviations that each contract lists of itself.

Nothing is stored: the rows follow from the facts, as every plan does. Kill rows of shipped contracts are data (kill_rows/*.yaml).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from emu.base.caches import Cache
from emu.base.errors import EmuError
from emu.contracts import Contract
from emu.contracts.contract import Deviation, Values
from emu.contracts.rows import Answer, Input, make_row, mismatches
from emu.contracts.suites import Inputs, about
from emu.spec.registry import added, added_folders

FROM: Final = ("directed", "bits")  # suites of which rows are chosen
TWICE: Final = 2  # rows that kill each deviation on which they were chosen
_TRIED: Final = 150  # deviations, spread over all that there are
_MOST: Final = 24  # rows that are looked for, of each
_LOT: Final = 32
NARROW: Final = 64  # operand bits of a row: of contracts with more, lanes are what rows are about, and no bit is asked for by itself
_ABOUT: Final = (
    "few rows that together kill each deviation that was tried of those which the contract lists of itself, twice where rows do; "
    "where operands are narrow, also rows that each bit of them alone decides"
)
CHAINED: Final = ("accumulate",)  # a row of a chain means nothing alone
Place = tuple[str, int]  # a suite and the tcId of one of its rows
_KEPT: Final[Cache[tuple[str, str], tuple[Input, ...]]] = Cache("vectors.suites.own", 64)


def own_kill(operation: Contract, suites: Sequence[Inputs]) -> Inputs | None:
    """Return the kill suite of a contract of a user's file; None of a shipped contract, or where there is nothing to choose from.

    suites: all of the contract.   The rows are chosen when they are first asked for.
    """
    name = operation.name
    if not added_folders() or name.op in CHAINED or not any(added(thing.kind, thing.id) for thing in name.objects):
        return None
    directed = next((inputs for inputs in suites if inputs.suite == "directed" and inputs.chosen is not None), None)
    if directed is None or next(operation.deviations(), None) is None:  # asked last: to list the first takes milliseconds
        return None

    def chosen() -> list[Input]:
        key = (operation.stem("kill"), name.spec_sha256)
        return list(_KEPT.get(key) or _KEPT.keep(key, _rows(operation, suites)))

    return replace(directed, suite="kill", about=about(False, _ABOUT, f"{name.op}.kill"), chosen=chosen)


def _rows(operation: Contract, suites: Sequence[Inputs]) -> tuple[Input, ...]:
    cases = {
        (inputs.suite, number): case
        for inputs in suites
        if inputs.suite in FROM
        for number, case in enumerate(inputs.cases(0, inputs.size), 1)
    }
    order = sorted(cases)
    Random("rows in turn").shuffle(order)  # so that no category of rows comes first
    values = [cases[place].values for place in order]
    right: dict[Values, Answer] = {}
    every = max(1, sum(1 for _ in operation.deviations()) // _TRIED)
    killers = [
        [order[place] for place in _killed_by(operation, item, values, right)]
        for number, item in enumerate(operation.deviations())
        if number % every == 0
    ]
    flags = {place: case.flags for place, case in sorted(cases.items()) if place[0] == "directed"}
    killers += decided_by_bits(operation, dict(zip(order, values, strict=True)))
    rows = choose([found for found in killers if found], flags)
    return tuple(cases[place] for place in sorted(rows, key=lambda place: (FROM.index(place[0]), place[1])))


def _killed_by(operation: Contract, item: Deviation, rows: Sequence[Values], right: dict[Values, Answer]) -> list[int]:
    """Return places of the first rows whose compared outputs a deviation changes. right: answers that are known, filled."""
    layout, found = operation.layout, list[int]()
    outs = {column.name for column in layout.results if column.role == "out"}
    for start in range(0, len(rows), _LOT):
        part = rows[start : start + _LOT]
        for place, (values, said) in enumerate(zip(part, _answers(item, part), strict=True), start):
            if said is None:
                continue
            if values not in right:
                right[values] = operation.exact(values)
            if outs.intersection(mismatches(layout, make_row(layout, Input("", (), values), right[values]), said)):
                found.append(place)
                if len(found) == _MOST:
                    return found
    return found


def _answers(item: Deviation, rows: Sequence[Values]) -> Iterator[Answer | None]:
    """Yield what a machine that deviates gives; None for a row that the reference model refuses of it."""
    try:
        if item.batch is not None:
            yield from item.batch(rows)
            return
    except EmuError:
        pass  # one row of many: each by itself
    for values in rows:
        try:
            yield item.answer(values)
        except EmuError:
            yield None


def decided_by_bits(operation: Contract, rows: Mapping[Place, Values]) -> list[list[Place]]:
    """Return, for each bit of each operand and for each value of it, the first rows whose compared outputs that bit alone decides.

    rows: in the order they are tried.   So a bit that does not move is seen, whatever deviations the rows were chosen for.
    Empty where the operands of a row have more than NARROW bits; nothing for a bit that decides no row.
    """
    layout, found = operation.layout, list[list[Place]]()
    if sum(column.bits for column in layout.inputs) > NARROW:
        return []
    outs = {column.name for column in layout.results if column.role == "out"}
    right = {values: make_row(layout, Input("", (), values), operation.exact(values)) for values in rows.values()}
    for at, column in enumerate(layout.inputs):
        for bit in range(column.bits):
            sides: tuple[list[Place], list[Place]] = [], []
            for place, values in rows.items():
                side = sides[values[at] >> bit & 1]
                if len(side) == _MOST:
                    continue
                other = (*values[:at], values[at] ^ 1 << bit, *values[at + 1 :])
                try:
                    said = operation.exact(other)
                except EmuError:
                    continue  # no row: codes that the contract refuses
                if outs.intersection(mismatches(layout, right[values], said)):
                    side.append(place)
            found += [side for side in sides if side]
    return found


def choose(killers: Iterable[Iterable[Place]], flags: Mapping[Place, tuple[str, ...]], kept: Sequence[Place] = ()) -> set[Place]:
    """Return few rows that kill every mutant twice, as far as rows do, and one row of every flag; beside those kept.

    killers: of each mutant, the rows that kill it; of each bit, the rows that it decides.
    The row that kills most comes first, the lowest of equals.
    """
    sets = [{*rows} for rows in killers]
    left = [(rows, wanted) for rows in sets if (wanted := min(TWICE, len(rows)) - len(rows & {*kept})) > 0]
    chosen: set[Place] = set(kept)
    while left:
        counts = Counter(row for rows, _ in left for row in rows - chosen)
        best = min(counts, key=lambda row: (-counts[row], row))
        chosen.add(best)
        left = [(rows, wanted - (best in rows)) for rows, wanted in left if wanted - (best in rows) > 0]
    seen = {flag for place in chosen for flag in flags.get(place, ())}
    for place, names in flags.items():
        if not seen >= {*names}:
            chosen.add(place)
            seen |= {*names}
    return chosen
