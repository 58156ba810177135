"""Mutants that nobody wrote: every deviation that a contract can make of itself, by class; which rows of its suites notice them.

Directed rows were chosen without them, so each class is one that the suite has not seen. Rows of kill suites are chosen on some classes and
judged on the others. docs/evidence/held_back.json keeps what came out, with the rows that were chosen on all classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from emu.contracts.rows import is_nan, unpack
from emu.rtl.mismatch.deviations import Guess, Hypothesis, of_contract
from emu.rtl.mismatch.deviations_plain import inputs_changed, other_contracts, plain
from emu.rtl.mismatch.golden_rows import Golden
from emu.vectors.suites.own import FROM, Place, choose, decided_by_bits
from emu.vectors.suites.plan import KILLS, rows_of_stems

LOT = 128
HELD = 4  # a class is one of so many parts that are held back in turn
SEED = "classes held back"
ORDER = "rows in turn"


class Mutant(NamedTuple):
    """text, kind: what is wrong, and its class.   rows: places of the first candidate rows that notice it, in the order they were tried.

    published: do the kill suites notice it.
    """

    text: str
    kind: str
    rows: tuple[Place, ...]
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


def candidates(golden: Golden) -> dict[Place, tuple[int, ...]]:
    """Return the rows that a kill suite is chosen from, those of the suites `directed` and `bits`, in a drawn order."""
    found: dict[Place, tuple[int, ...]] = {}
    for inputs in golden.plan.operation.suites():
        if inputs.suite in FROM:
            found |= {(inputs.suite, number): case.values for number, case in enumerate(inputs.cases(0, inputs.size), 1)}
    order = sorted(found)
    Random(ORDER).shuffle(order)  # so that no category comes first
    return {place: found[place] for place in order}


def published(golden: Golden) -> list[Place]:
    """Return the rows of the kill suites that there are."""
    stem, found = golden.plan.operation.stem, list[Place]()
    for kill in KILLS:
        found += [(suite, row) for suite in FROM for row in rows_of_stems(kill).get(stem(suite), ())]
    return found


def judged(stem: str, every: int = 1, most: int = 100, fresh: int = 300) -> tuple[list[Mutant], int]:
    """Return the mutants of a contract that some row notices, of its suites or of the fresh ones; and how many were tried.

    most: rows that are looked for.
    """
    golden = golden_of(stem)
    rows = candidates(golden)
    order, values = [*rows], [*rows.values()]
    other = [] if golden.plan.operation.chooser is None else golden.fresh(fresh)
    kill = [rows[place] for place in published(golden)]
    out, items = list[Mutant](), list(mutants_of(golden, every))
    for item in items:
        killed = tuple(order[place] for place in noticed(golden, item, values, most))
        if killed or noticed(golden, item, other, 1):
            out.append(Mutant(item.text, kind_of(item), killed, bool(noticed(golden, item, kill, 1))))
    return out, len(items)


def held_back(stem: str, mutants: Sequence[Mutant], bits: Sequence[Sequence[Place]] = (), seed: str = SEED) -> dict[str, Any]:
    """Return what directed rows and kill rows make of classes that they were not chosen for.

    bits: of each operand bit, the rows that it decides; rows are chosen for them too, whatever is held back.
    directed: mutants that the directed suite kills; none of its rows was chosen with them.
    published: those that the kill suites kill, with the rows chosen on all classes (`emu vectors kill` takes them).
    chosen: classes are dealt into HELD parts; rows are chosen on the other parts as `choose` does; so many of the part held back die.
    rows: those chosen on all classes, by stem.   missed, escaped: class -> mutants that the directed rows, that the chosen rows miss.
    """
    golden = golden_of(stem)
    flags = {("directed", number): case.flags for number, case in enumerate(golden.plan.cases(0, golden.size), 1)}
    kinds = sorted({item.kind for item in mutants})
    Random(seed).shuffle(kinds)
    part = {kind: place % HELD for place, kind in enumerate(kinds)}
    died, sizes, escaped = 0, list[int](), Counter[str]()
    for held in range(HELD):
        rest, mine = [[item for item in mutants if (part[item.kind] == held) == here] for here in (False, True)]
        rows = choose([*(item.rows for item in rest), *bits], flags)
        sizes.append(len(rows))
        died += sum(bool({*item.rows} & rows) for item in mine)
        escaped.update(item.kind for item in mine if not {*item.rows} & rows)
    missed = Counter(item.kind for item in mutants if not any(suite == "directed" for suite, _ in item.rows))
    known = published(golden)
    rows = choose([*(item.rows for item in mutants), *bits], flags, known)
    suites = {suite: sorted(row for of, row in rows if of == suite) for suite in sorted({suite for suite, _ in rows})}
    return {
        "stem": stem, "mutants": len(mutants), "classes": len(kinds),
        "directed": len(mutants) - sum(missed.values()), "directed_rows": golden.size,
        "published": sum(item.published or bool({*item.rows} & rows) for item in mutants), "published_rows": len(rows),
        "chosen": died, "chosen_rows": sum(sizes) // HELD,
        "missed": dict(sorted(missed.items())), "escaped": dict(sorted(escaped.items())),
        "rows": {golden.plan.operation.stem(suite): numbers for suite, numbers in suites.items()},
    }  # fmt: skip


def record_of(stem: str, every: int) -> dict[str, Any]:
    """Return the entry of a contract in the record. every: of its mutants every n-th is tried."""
    golden = golden_of(stem)
    mutants, tried = judged(stem, every)
    bits = decided_by_bits(golden.plan.operation, candidates(golden))
    return {"contract": str(golden.plan.operation.name), "every": every, "tried": tried} | held_back(stem, mutants, bits)
