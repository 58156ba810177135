"""Counting: in which bins of a coverage model rows lie. What an axis means the contract says; the axes are in spec/coverage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from emu.base.errors import EngineError, SpecError
from emu.contracts.contract import Values
from emu.contracts.cover import Bin, Settled, Subject
from emu.spec.models import Coverage

MOST_FIRST: Final = 3  # test-case ids kept of a bin


class Hit(NamedTuple):
    """rows: how many rows lie in a bin.   first: ids of the first ones."""

    rows: int
    first: tuple[int, ...]


class Cross(NamedTuple):
    """One cross of one contract. bins: of each axis.   hits: bin -> rows.   settled: what is known of all other bins, where it is known."""

    name: str
    axes: tuple[str, ...]
    bins: tuple[tuple[str, ...], ...]
    hits: dict[Bin, Hit]
    settled: dict[Bin, Settled]

    @property
    def size(self) -> int:
        """Number of bins."""
        out = 1
        for axis in self.bins:
            out *= len(axis)
        return out

    def every(self) -> Iterator[Bin]:
        """Yield the bins in order."""
        return product(*self.bins)

    @property
    def unreachable(self) -> dict[Bin, Settled]:
        """The bins that are proved to be out of reach."""
        return {found: known for found, known in self.settled.items() if known.proof is not None}

    def holes(self) -> list[Bin]:
        """Return the bins that are neither hit nor proved to be out of reach."""
        closed = self.unreachable
        return [found for found in self.every() if found not in self.hits and found not in closed]


def axes_of(subject: Subject, model: Coverage) -> dict[str, tuple[str, ...]]:
    """Return axis -> bins of a contract, axes it does not have left out. Raises: SpecError (an axis that no code gives a meaning)."""
    out = {}
    for name, axis in model.facts.axes.items():
        try:
            bins = subject.bins_of(name, axis)
        except KeyError:
            raise SpecError(f"coverage {model.id}: axis {name}: no such axis is known for {model.facts.op}") from None
        if bins is not None:
            out[name] = bins
    return out


def count(subject: Subject, model: Coverage, rows: Iterable[tuple[int, Values]]) -> list[Cross]:
    """Return every cross of a contract with its hits, and what is known of the bins that no row reaches.

    rows: (test-case id, input values).   A row counts once in a bin, however often it exercises it.
    Raises: SpecError (a row lies in a bin that the model does not name), EngineError (a row lies where a proof says that none can).
    """
    bins = axes_of(subject, model)
    crosses = {name: cross.axes for name, cross in model.facts.crosses.items() if all(axis in bins for axis in cross.axes)}
    known = {axis: frozenset(found) for axis, found in bins.items()}
    hits: dict[str, dict[Bin, list[int]]] = {name: {} for name in crosses}
    for number, values in rows:
        for name, found in bins_of_row(subject, crosses, known, values).items():
            for one in found:
                tally = hits[name].setdefault(one, [0])
                tally[0] += 1
                if len(tally) <= MOST_FIRST:
                    tally.append(number)
    return [_cross(subject, name, axes, tuple(bins[axis] for axis in axes), hits[name]) for name, axes in crosses.items()]


def bins_of_row(
    subject: Subject, crosses: Mapping[str, Sequence[str]], known: Mapping[str, frozenset[str]], values: Values
) -> dict[str, dict[Bin, None]]:
    """Return cross -> the bins that a row lies in. Raises: SpecError for a bin that the model does not name."""
    out: dict[str, dict[Bin, None]] = {name: {} for name in crosses}
    for point in subject.points(values):
        for axis, found in point.items():
            if axis in known and found not in known[axis]:
                raise SpecError(f"coverage: a row lies in bin {found} of axis {axis}, which the model does not name")
        for name, axes in crosses.items():
            if all(axis in point for axis in axes):
                out[name][tuple(point[axis] for axis in axes)] = None
    return out


def row_bins(subject: Subject, model: Coverage, values: Values) -> dict[str, list[str]]:
    """Return cross -> the bins that one row lies in, words joined by a space."""
    bins = axes_of(subject, model)
    crosses = {name: cross.axes for name, cross in model.facts.crosses.items() if all(axis in bins for axis in cross.axes)}
    found = bins_of_row(subject, crosses, {axis: frozenset(names) for axis, names in bins.items()}, values)
    return {name: [" ".join(one) for one in some] for name, some in found.items()}


def _cross(
    subject: Subject, name: str, axes: tuple[str, ...], bins: tuple[tuple[str, ...], ...], tallies: Mapping[Bin, Sequence[int]]
) -> Cross:
    """Settle the bins of a cross; a proof that a row refutes is an error of the proof."""
    order = {one: place for place, one in enumerate(product(*bins))}
    settled = subject.settle(axes, list(order))
    hits = {one: Hit(tallies[one][0], tuple(tallies[one][1:])) for one in sorted(tallies, key=order.__getitem__)}
    for one, hit in hits.items():
        if one in settled and settled[one].proof is not None:
            text = f"coverage: {name}: {' '.join(one)}: test case {hit.first[0]} reaches it"
            raise EngineError(f"{text}, and it is said that nothing does: {settled[one].why}")
    return Cross(name, axes, bins, hits, {one: settled[one] for one in order if one in settled and one not in hits})
