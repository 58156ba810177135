"""Means, intervals and relative gaps of runs. Not here: curves over size (fit.py), tables (research.pages)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

BASE: Final = "bf16"
# 97.5 % points of Student's t by degrees of freedom, as in every table; tests/research/train integrates the density again.
_T: Final = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145,
    2.11991, 2.10982, 2.10092, 2.09302, 2.08596, 2.07961, 2.07387, 2.06866, 2.06390, 2.05954,
)  # fmt: skip
Key = tuple[str, str]


@dataclass(frozen=True)
class Estimate:
    """A mean of some runs and the half width of its 95 % interval; NaN-free: None where one run says nothing of spread."""

    mean: float
    half: float | None
    count: int

    @property
    def sign(self) -> int:
        """Return 1 or -1 where the interval leaves zero out, else 0."""
        if self.half is None or abs(self.mean) <= self.half:
            return 0
        return 1 if self.mean > 0 else -1


def student(free: int) -> float:
    """Return the 97.5 % point of Student's t with so many degrees of freedom, 1 to 25."""
    return _T[free - 1]


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and its interval by Student's t, for 1 to 26 values."""
    count = len(values)
    mean = sum(values) / count
    if not 2 <= count <= len(_T) + 1:
        return Estimate(mean, None, count)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    return Estimate(mean, student(count - 1) * spread / math.sqrt(count), count)


def by_cell(runs: Iterable[dict[str, Any]]) -> dict[Key, dict[int, float]]:
    """Return (model, training) -> seed -> metric, in the order of the runs."""
    found: dict[Key, dict[int, float]] = {}
    for run in runs:
        found.setdefault((run["model"], run["training"]), {})[run["seed"]] = run["metric"]
    return found


def gaps(cells: dict[Key, dict[int, float]], model: str, training: str, base: str = BASE) -> list[float]:
    """Return, seed by seed, how far a training's figure lies above the base's, in percent of it; same seed: same weights, same batches."""
    mine, other = cells.get((model, training), {}), cells.get((model, base), {})
    return [100 * (mine[seed] / other[seed] - 1) for seed in sorted(set(mine) & set(other))]


def wins(cells: dict[Key, dict[int, float]], model: str, first: str, second: str) -> tuple[int, int]:
    """Return on how many seeds the first training's figure is the smaller one, of how many."""
    mine, other = cells.get((model, first), {}), cells.get((model, second), {})
    seeds = set(mine) & set(other)
    return sum(mine[seed] < other[seed] for seed in seeds), len(seeds)
