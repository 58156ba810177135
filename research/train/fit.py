"""Curves over the size of a model: a power law of the loss, a line of the gap. Not here: runs (statistics.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """Least squares y = offset + slope * log10(size).

    error: standard error of the slope.   residual: root mean square, in units of y.   worst: the largest.   count: points.
    """

    offset: float
    slope: float
    error: float | None
    residual: float
    worst: float
    count: int

    def at(self, size: float) -> float:
        """Return the line's y at a size."""
        return self.offset + self.slope * math.log10(size)


def line(sizes: Sequence[float], values: Sequence[float]) -> Line:
    """Fit a line over log10 of the size; at least two different sizes. The error is None where no degree of freedom is left."""
    x, y = np.log10(np.asarray(sizes, np.float64)), np.asarray(values, np.float64)
    slope, offset = np.polyfit(x, y, 1)
    rest = y - (offset + slope * x)
    free = len(y) - 2
    spread = float(np.sum((x - x.mean()) ** 2))
    error = math.sqrt(float(np.sum(rest**2)) / free / spread) if free else None
    return Line(float(offset), float(slope), error, math.sqrt(float(np.mean(rest**2))), float(np.max(np.abs(rest))), len(y))


@dataclass(frozen=True)
class Power:
    """Loss = factor * size^exponent, fitted as a line of log10(loss). residual, worst: in percent of the loss."""

    factor: float
    exponent: float
    error: float | None
    residual: float
    worst: float


def power(sizes: Sequence[float], losses: Sequence[float]) -> Power:
    """Fit a power law by least squares of logarithms."""
    found = line(sizes, [math.log10(loss) for loss in losses])
    percent = [100 * (10**value - 1) for value in (found.residual, found.worst)]
    return Power(10**found.offset, found.slope, found.error, *percent)
