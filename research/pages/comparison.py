"""An order as the pages tell it: pairs, interval, null pairs, power and a verdict. Not here: which orders (the pages)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from research.forks.statistics import Outcome, outcome, power

MARGIN: Final = 3  # times the null


@dataclass(frozen=True)
class Comparison:
    """An effect on pairs. name: of what.   values: one a pair.   null: root mean square of what other signs alone do to a value.

    Without null pairs (None) nothing is told.
    """

    name: str
    values: tuple[float, ...]
    null: float | None

    @property
    def found(self) -> Outcome:
        """Mean and interval over pairs."""
        return outcome(self.values)

    @property
    def side(self) -> int:
        """Return 1 or -1 where the interval leaves 0 out, else 0."""
        low, high = self.found.low, self.found.high
        return 0 if low is None or high is None or low <= 0 <= high else int(math.copysign(1, self.found.mean))

    @property
    def verdict(self) -> int:
        """Return the side where the mean is also more than three times the null, else 0."""
        return self.side if self.null is not None and abs(self.found.mean) > MARGIN * self.null else 0

    def cells(self, shown: Callable[[float], str], null: Callable[[float], str], words: tuple[str, str]) -> tuple[str, ...]:
        """Return name, pairs, mean with interval, null, power and verdict. words: for a positive and a negative one."""
        found, count = self.found, len(self.values)
        inside = "" if found.low is None or found.high is None else f" ({shown(found.low)} to {shown(found.high)})"
        likely = power(found.mean, found.spread, count) if count > 1 and found.spread else 1.0
        told = {1: words[0], -1: words[1], 0: "open"}[self.verdict]
        spread = "none" if self.null is None else null(self.null)
        return self.name, str(count), f"{shown(found.mean)}{inside}", spread, "> 0.99" if likely > 0.99 else f"{likely:.2f}", told


def difference(digits: int) -> tuple[Callable[[float], str], Callable[[float], str]]:
    """Return how differences and their nulls are shown."""
    return lambda value: f"{value:+.{digits}f}", lambda value: f"{value:.{digits}f}"


def ratio() -> tuple[Callable[[float], str], Callable[[float], str]]:
    """Return how logarithms of ratios and their nulls are shown: as ratios, and in percent."""
    return lambda value: f"{math.exp(value):.3f}", lambda value: f"{100 * value:.1f} %"
