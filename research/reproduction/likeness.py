"""How like one array is to another: gain, error, angle, length. Sums in binary64, pairwise within a chunk, chunks added exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.analysis.report import add_up
from emu.base.errors import ShapeError

CHUNK = 1 << 16


@dataclass(frozen=True)
class Likeness:
    """Sums over two arrays: x as it should be, y what it became. signal: sum of x^2.   power: sum of y^2.   dot: sum of x * y.

    error: sum of (y - x)^2, added up by itself: it keeps its digits where y is close to x.
    Figures are None where x is zero throughout, or where a sum is NaN or Inf.
    """

    signal: float
    power: float
    dot: float
    error: float

    @property
    def is_finite(self) -> bool:
        """Are the sums numbers, and is there a signal."""
        return all(math.isfinite(item) for item in (self.signal, self.power, self.dot, self.error)) and self.signal > 0

    @property
    def gain(self) -> float | None:
        """<y, x> / <x, x>: alpha of a tensor, eta of a product; below one the projection shrank."""
        return self.dot / self.signal if self.is_finite else None

    @property
    def nmse(self) -> float | None:
        """|y - x|^2 / |x|^2."""
        return self.error / self.signal if self.is_finite else None

    @property
    def sqnr_db(self) -> float | None:
        """-10 log10 of nmse; Inf when nothing was lost."""
        if self.nmse is None:
            return None
        return -10 * math.log10(self.nmse) if self.nmse else math.inf

    @property
    def cosine(self) -> float | None:
        """<y, x> / (|x| |y|); None where y is zero throughout."""
        return self.dot / math.sqrt(self.signal * self.power) if self.is_finite and self.power else None

    @property
    def norm_ratio(self) -> float | None:
        """|y| / |x|."""
        return math.sqrt(self.power / self.signal) if self.is_finite else None


def likeness(y: NDArray[Any], x: NDArray[Any]) -> Likeness:
    """Return the sums of two arrays of one shape; floats of any width, taken as binary64.

    Raises: ShapeError (shapes differ).   Tests: tests/research/reproduction/test_reproduction_gemm.py.
    """
    if y.shape != x.shape:
        raise ShapeError(f"likeness: shapes {list(y.shape)} and {list(x.shape)} differ: compare arrays of one shape")
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    sums: list[tuple[float, ...]] = []
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, max(flat_x.size, 1), CHUNK):
            wide, made = (item[start : start + CHUNK].astype(np.float64) for item in (flat_x, flat_y))
            lost = made - wide
            sums.append(tuple(float(np.sum(item)) for item in (wide * wide, made * made, wide * made, lost * lost)))
    return Likeness(*(add_up(column) for column in zip(*sums, strict=True)))
