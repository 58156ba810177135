"""Mutants that nobody wrote: every deviation that a contract can make of itself, by class; which rows of a suite notice them.

Directed rows were chosen without them, so each class is one that the suite has not seen. Kill rows are chosen on some classes and judged
on the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from emu.contracts.rows import is_nan, unpack
from emu.rtl.mismatch.deviations import Guess, Hypothesis, of_contract
from emu.rtl.mismatch.deviations_plain import inputs_changed, other_contracts, plain
from emu.rtl.mismatch.golden_rows import Golden
from emu.vectors.suites.plan import rows_of_stems

LOT = 128
HELD = 4  # a class is one of so many parts that are held back in turn


class Mutant(NamedTuple):
    """text, kind: what is wrong, and its class.   rows: places of the first directed rows that notice it.

    published: does the kill suite notice it.
    """

    text: str
    kind: str
    rows: tuple[int, ...]
    published: bool


@cache
def golden_of(stem: str) -> Golden:
    return Golden(stem, None)


def mutants_of(golden: Golden, every: int = 1) -> Iterator[Hypothesis]:
    """Yield every deviation of a contract, or every n-th."""
    op = golden.plan.operation
    found = [
        *of_contract(golden),
        *plain(golden, []),
        *inputs_changed(golden),
        *(other_contracts(golden, close=True) if op.neighbours else ()),
    ]
    yield from found[::every]


def kind_of(item: Hypothesis) -> str:
    """The class of a mutant: what is edited and how, without numbers."""
    words = item.text.partition(":")
    return f"{item.stage} / {''.join(letter for letter in words[2] or words[0] if not letter.isdigit()).strip()}"


def noticed(golden: Golden, item: Hypothesis, rows: Sequence[tuple[int, ...]], most: int) -> tuple[int, ...]:
    """Return places of the first rows on which a mutant gives something else where the golden row is compared."""
    guess, found = Guess(golden, item), list[int]()
    for start in range(0, len(rows), LOT):
        part = rows[start : start + LOT]
        for place, (values, said) in enumerate(zip(part, guess.answers(part), strict=True), start):
            if said is not None and differs(golden, values, said):
                found.append(place)
                if len(found) == most:
                    return tuple(found)
    return tuple(found)


def differs(golden: Golden, values: tuple[int, ...], said: dict[str, int]) -> bool:
    for column, right in zip(golden.layout.results, golden.answer(values), strict=False):
        if column.role != "out" or column.name not in said:
            continue
        for want, got in zip(right, unpack(said[column.name], column), strict=True):
            if want >= 0 and want != got and not (column.any_nan and is_nan(want, column.format) and is_nan(got, column.format)):
                return True
    return False


def judged(stem: str, every: int = 1, most: int = 400, fresh: int = 300) -> list[Mutant]:
    """Return the mutants of a contract that some row notices, of the suite or of the fresh ones."""
    golden = golden_of(stem)
    rows = [golden.values(tc) for tc in range(1, golden.size + 1)]
    other = [] if golden.plan.operation.chooser is None else golden.fresh(fresh)
    kill = [rows[number - 1] for number in rows_of_stems().get(stem, ())]
    out = []
    for item in mutants_of(golden, every):
        killed = noticed(golden, item, rows, most)
        if killed or noticed(golden, item, other, 1):
            out.append(Mutant(item.text, kind_of(item), killed, bool(noticed(golden, item, kill, 1))))
    return out


def held_back(stem: str, mutants: Sequence[Mutant], seed: str) -> dict[str, Any]:
    """Return what directed rows and kill rows make of classes that they were not chosen for.

    directed, published: mutants that the directed and the kill suite kill; neither was chosen with any of these mutants.
    chosen, chosen_thrice: classes are dealt into HELD parts; rows are chosen that kill each mutant of the other parts once, or by three
    rows, the row that kills most first; so many mutants of the parts held back die.
    """
    kinds = sorted({item.kind for item in mutants})
    Random(seed).shuffle(kinds)
    part = {kind: place % HELD for place, kind in enumerate(kinds)}
    chosen = {times: [0, 0] for times in (1, 3)}
    for held in range(HELD):
        rest, mine = [[item for item in mutants if (part[item.kind] == held) == here] for here in (False, True)]
        for times, count in chosen.items():
            rows = fewest(rest, times)
            count[0] += sum(bool(set(item.rows) & rows) for item in mine)
            count[1] += len(rows)
    missed: dict[str, int] = defaultdict(int)
    for item in mutants:
        missed[item.kind] += not item.rows
    worst = sorted((kind for kind, count in missed.items() if count), key=lambda kind: (-missed[kind], kind))
    return {
        "stem": stem, "mutants": len(mutants), "classes": len(kinds),
        "directed": sum(bool(item.rows) for item in mutants), "directed_rows": golden_of(stem).size,
        "published": sum(item.published for item in mutants), "published_rows": len(rows_of_stems().get(stem, ())),
        "chosen": chosen[1][0], "chosen_rows": chosen[1][1] // HELD,
        "chosen_thrice": chosen[3][0], "chosen_thrice_rows": chosen[3][1] // HELD,
        "missed": {kind: missed[kind] for kind in worst},
    }  # fmt: skip


def fewest(mutants: Sequence[Mutant], times: int) -> set[int]:
    """Return few rows that kill every mutant so many times, as far as rows do: the one that kills most first, the lowest of equals."""
    left = [[set(item.rows), min(times, len(item.rows))] for item in mutants if item.rows]
    chosen: set[int] = set()
    while left:
        counts: dict[int, int] = defaultdict(int)
        for rows, _ in left:
            for row in rows:  # type: ignore[attr-defined]
                counts[row] += 1
        best = min(counts, key=lambda row: (-counts[row], row))
        chosen.add(best)
        for item in left:
            if best in item[0]:  # type: ignore[operator]
                item[0] -= {best}  # type: ignore[operator]
                item[1] -= 1  # type: ignore[operator]
        left = [item for item in left if item[1]]
    return chosen
