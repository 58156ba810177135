"""Tests and intervals over clusters: exact sign flips, Holm's correction, bootstrap, power. Not here: figures of forks (evidence.py).

A cluster is an independent BF16 run; what is measured on its forks is averaged first. Pooling forks would count one run several times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import OperandError
from research.train.statistics import estimate, student

MOST_FLIPPED: Final = 20  # clusters whose flips of signs are all tried
RESAMPLED: Final = 10000
SIMULATED: Final = 4000
Floats = NDArray[np.float64]


def sign_flip_p(values: Sequence[float]) -> float:
    """Return the exact two-sided p value of the mean under flips of all signs: the share of the 2^n means at least as far from 0.

    values: one a cluster, symmetric about 0 if there is no effect; 1 to 20 of them. Sums that differ by rounding alone count as equal.
    Raises: OperandError (another number of values).
    """
    count = len(values)
    if not 1 <= count <= MOST_FLIPPED:
        raise OperandError(f"{count} clusters: the test of all flips takes 1 to {MOST_FLIPPED}")
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    seen = abs(math.fsum(values))
    rounding = 4 * count * math.ulp(math.fsum(abs(value) for value in values))
    return float((np.abs(sums) >= seen - rounding).mean())


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted by Holm's method, in their order: compare each with the level of the whole family."""
    found, largest = [0.0] * len(p_values), 0.0
    for done, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[place]))
        found[place] = largest
    return found


def bootstrap(values: Sequence[float], key: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean: percentiles of the means of clusters drawn with replacement, from a fixed key of Philox."""
    count = len(values)
    drawn = philox.words(key, RESAMPLED * count, 0, philox.stream_of("bootstrap")) % count
    means = np.sort(np.asarray(values, np.float64)[drawn.reshape(RESAMPLED, count)].mean(1))
    return float(means[RESAMPLED // 40]), float(means[-RESAMPLED // 40 - 1])


def normals(rows: int, columns: int, key: int = 0) -> Floats:
    """Return standard normal numbers, by Box and Muller from words of Philox."""
    words = philox.words(key, 2 * rows * columns, 0, philox.stream_of("normals")).astype(np.float64)
    first, second = (words + 0.5).reshape(2, rows, columns) / 2**32
    found: Floats = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    return found


def power(effect: float, spread: float, count: int) -> float:
    """Return how often a paired t test at 5 % finds an effect, by simulation. spread: standard deviation of a cluster; count: clusters."""
    drawn = effect + spread * normals(SIMULATED, count)
    t = drawn.mean(1) / (drawn.std(1, ddof=1) / math.sqrt(count))
    return float((np.abs(t) > student(count - 1)).mean())


def detectable(spread: float, count: int, wanted: float = 0.8) -> float:
    """Return the smallest effect that is found with a power of 80 %, to a hundredth of the spread."""
    low, high = 0.0, 20 * spread
    while high - low > spread / 100:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, spread, count) >= wanted else (middle, high)
    return high


@dataclass(frozen=True)
class Outcome:
    """A comparison over clusters. values: one a cluster.   low, high: 95 % by Student's t; None for one cluster."""

    values: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None
    p: float

    @property
    def spread(self) -> float:
        """Return the standard deviation of a cluster."""
        return float(np.std(self.values, ddof=1))

    def shown(self, change: Callable[[float], float]) -> tuple[float, float | None, float | None]:
        """Return mean, low and high after a monotone change, such as exp."""
        low, high = (None if value is None else change(value) for value in (self.low, self.high))
        return change(self.mean), low, high


def outcome(values: Sequence[float]) -> Outcome:
    """Return mean, interval and p value of one value a cluster."""
    found = estimate(values)
    low, high = (None, None) if found.half is None else (found.mean - found.half, found.mean + found.half)
    return Outcome(tuple(values), found.mean, low, high, sign_flip_p(values))


def rms(values: Sequence[float]) -> float:
    """Return the root mean square."""
    return math.sqrt(math.fsum(value * value for value in values) / len(values))
