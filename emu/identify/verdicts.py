"""Verdicts on pairs: what was found against every other documented variant of the same blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from emu.contracts.quantize.variants import Variant, shape_of
from emu.identify.kept_rows import kept, stem_of
from emu.identify.model import Pair, PairVerdict
from emu.identify.rows import OPEN, shown_row

if TYPE_CHECKING:
    from emu.identify.quantize import QuantizeAnswers


def pairs_of(asked: QuantizeAnswers, best: Variant, known: Sequence[Variant], names: Sequence[str]) -> Iterator[Pair]:
    """Yield the verdict on what was found and each other documented recipe. names: the answers that the kernel gives."""
    for other in known:
        if other.recipe.facts_digest != best.recipe.facts_digest:
            yield _pair(asked, best, other, names)
    store = kept(stem_of(shape_of(best.recipe)))
    for _, base, name, verdict, domain in store.same if store is not None and best.is_documented else ():
        if base == best.base and verdict in ("equal", "not separated"):
            yield Pair(base, name, cast("PairVerdict", verdict), domain or f"{store.tried if store else 0} rows tried")


def _pair(asked: QuantizeAnswers, best: Variant, other: Variant, names: Sequence[str]) -> Pair:
    mine, theirs = asked.expected(best), asked.expected(other)
    shared = [name for name in names if name in mine and name in theirs and mine[name].shape == theirs[name].shape]
    if len(shared) < len([name for name in names if name in mine]):
        return Pair(best.name, other.name, "separated", "other levels")
    for name in shared:
        differ = (mine[name] != theirs[name]) & (mine[name] != OPEN) & (theirs[name] != OPEN) & (asked.answers[name] != OPEN)
        rows = np.flatnonzero(differ.any(axis=1))
        if len(rows):
            lane = int(np.flatnonzero(differ[rows[0]])[0])
            said = f"{name}[{lane}] {int(mine[name][rows[0], lane]):x} and {int(theirs[name][rows[0], lane]):x}"
            return Pair(best.name, other.name, "separated", said, shown_row(asked.rows[int(rows[0])]))
    return _unseparated(asked, best, other)


def _unseparated(asked: QuantizeAnswers, best: Variant, other: Variant) -> Pair:
    mine, theirs = asked.expected(best), asked.expected(other)
    for name in sorted(mine.keys() & theirs.keys() - set(asked.answers)):
        if mine[name].shape == theirs[name].shape and (mine[name] != theirs[name]).any():
            return Pair(best.name, other.name, "unobservable", f"the kernel does not give {name}")
    store = kept(stem_of(shape_of(best.recipe)))
    for first, second, verdict, domain in store.equal if store is not None else ():
        if {first, second} == {best.base, other.base} and best.is_documented and verdict == "equal":
            return Pair(best.name, other.name, "equal", domain)
    if any(((mine[name] == OPEN) != (theirs[name] == OPEN)).any() for name in mine.keys() & theirs.keys()):
        return Pair(best.name, other.name, "unobservable", "they part only where the sources of one leave the answer open")
    if any(asked.answers[name][numbers].min() == OPEN for name in asked.answers for numbers in [list(range(len(asked.rows)))]):
        return Pair(best.name, other.name, "unobservable", "the rows that separate them have no codes in the kernel's source format")
    return Pair(best.name, other.name, "not separated", f"{store.tried if store is not None else 0} rows tried")
