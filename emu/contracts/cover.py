"""What a coverage model of spec/coverage asks of a contract: the bins of its axes, where a row lies, what nothing can reach.

Not here: counting (emu/vectors/coverage). What the axes mean for an operation stands beside its contract, `Contract.cover`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from emu.contracts.contract import Values
from emu.spec.models.coverage import CoverageAxis

Bin = tuple[str, ...]
Point = Mapping[str, str]


class Settled(NamedTuple):
    """What is known of a bin that no row lies in.

    proof: how it is known that nothing reaches it; None: something does.   why: the argument.   example: inputs that reach it.
    """

    proof: str | None
    why: str = ""
    example: Values | None = None


class Subject(Protocol):
    """One contract, as a coverage model sees it."""

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis, in order; None where the contract has no such axis. Raises: KeyError (an axis nobody knows)."""

    def points(self, values: Values) -> Iterable[Point]:
        """Return what a row exercises: axis -> bin. A point without an axis lies in no cross of it."""

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return what is known of bins; a bin that is absent is one of which nothing is known."""


def settled_by(reached: Iterable[tuple[Values, Point]], axes: Sequence[str], bins: Sequence[Bin], none: Settled) -> Mapping[Bin, Settled]:
    """Return for every bin an example, or `none`. reached: all points that there are, each with inputs that reach it."""
    examples: dict[Bin, Values] = {}
    for values, point in reached:
        if all(axis in point for axis in axes):
            examples.setdefault(tuple(point[axis] for axis in axes), values)
    return {one: Settled(None, "", examples[one]) if one in examples else none for one in bins}
