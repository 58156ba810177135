"""What block scaling makes of a density: independent numbers in blocks of n, divided by a scale that follows their largest magnitude.

The largest element lies on the end of the grid (a point mass of 1/n); the others follow the density cut off at it. Blocks with a large
maximum count more in alpha and in errors, as their numbers are larger: so there are two densities, by count and by energy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from emu.analysis.bias import AnyGrid, Expected, expected
from emu.analysis.density import Parts, Symmetric
from emu.analysis.grid import Grid, as_grid
from emu.base.errors import OperandError

NODES: Final = 128  # of the sum over block maxima; shared out between the borders, at least FEWEST each
FEWEST: Final = 8
TAIL: Final = 1e-15  # mass of block maxima that is left out at both ends


@dataclass(frozen=True)
class Maximum:
    """One block maximum in the sum over them. weight: its share.   scale: what the block is divided by.   inside: P(|x| < maximum)."""

    maximum: float
    weight: float
    scale: float
    inside: float


@dataclass(frozen=True)
class BlockScaled:
    """The density of scaled numbers, in units of the grid. base: of the numbers before.   block: elements that share a scale."""

    base: Symmetric
    block: int
    maxima: tuple[Maximum, ...]
    name: str

    def parts(self, low: Fraction | None, high: Fraction | None, low_in: bool = False, high_in: bool = False) -> Parts:
        """Return the integrals from low to high as floats."""
        a, b = -math.inf if low is None else float(low), math.inf if high is None else float(high)
        sums = [self._one(item, a, b, low_in, high_in) for item in self.maxima]
        return Parts(*(math.fsum(column) for column in zip(*sums, strict=True)))

    def _one(self, item: Maximum, a: float, b: float, low_in: bool, high_in: bool) -> Parts:
        """Return the integrals of blocks with one maximum, times their weight."""
        end = item.maximum / item.scale
        rest = item.weight * (self.block - 1) / self.block / item.inside
        unit = item.scale / self.base.scale
        low, high = max(a, -end), min(b, end)
        inner = self.base._between(low * unit, high * unit) if low < high else Parts(0.0, 0.0, 0.0)
        found = [inner.mass * rest, inner.first * rest / unit, inner.second * rest / unit**2]
        for point in (-end, end):
            if a < point < b or (low_in and point == a) or (high_in and point == b):
                share = item.weight / self.block / 2
                found = [total + share * power for total, power in zip(found, (1, point, point * point), strict=True)]
        return Parts(*found)


def block_scaled(
    base: Symmetric,
    block: int,
    reach: Fraction | int | str,
    *,
    energy: bool = False,
    scale: Callable[[float], float] | None = None,
    borders: Sequence[float] = (),
) -> BlockScaled:
    """Return the density of independent numbers divided by the scale of their block.

    base: gaussian or laplace without an end.   block: elements that share a scale, at least 2.   reach: largest value of the grid.
    energy: weigh each block with the square of its scale, as errors of the tensor do; otherwise every number counts once.
    scale: the divisor of a block whose maximum is given; None: maximum / reach.   borders: maxima where it, or what becomes of the
    largest element, jumps, ascending.
    Exactness: closed forms inside a block; a sum of NODES Gauss-Legendre points over the maximum between two borders.
    Raises: OperandError (a block of 1, a base with an end).   Tests: tests/analysis/test_shrinkage_scaled.py.
    """
    if block < 2 or base.reach is not None:
        raise OperandError(f"block of {block} under {base.name}: a scaled density needs at least 2 elements and a density without an end")
    largest = float(Fraction(reach))
    divisor = scale or (lambda maximum: maximum / largest)
    low, high = maxima_range(base, block)
    cuts = [low, *(item for item in borders if low < item < high), high]
    points, weights = np.polynomial.legendre.leggauss(max(NODES // (len(cuts) - 1), FEWEST))
    found = []
    for start, stop in pairwise(cuts):
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
            maximum = start + (stop - start) * (point + 1) / 2
            z = maximum / base.scale
            inside = 1 - 2 * base.tail(z).mass
            share = block * inside ** (block - 1) * 2 * base.at(z) / base.scale * weight * (stop - start) / 2
            unit = divisor(maximum)
            found.append(Maximum(maximum, share * unit**2 if energy else share, unit, inside))
    whole = math.fsum(item.weight for item in found)
    normal = tuple(Maximum(item.maximum, item.weight / whole, item.scale, item.inside) for item in found)
    return BlockScaled(base, block, normal, f"{base.name}, blocks of {block}")


def maxima_range(base: Symmetric, block: int) -> tuple[float, float]:
    """Return the block maxima between which all but TAIL of the blocks lie, on either side."""
    return _quantile(base, block, TAIL), _quantile(base, block, 1 - TAIL)


def _quantile(base: Symmetric, block: int, mass: float) -> float:
    """Return the block maximum below which a share of blocks lies, by halving."""
    low, high = 0.0, 1.0
    while (1 - 2 * base.tail(high).mass) ** block < mass:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - 2 * base.tail(middle).mass) ** block < mass else (low, middle)
    return high * base.scale


def model(
    grid: AnyGrid, base: Symmetric, block: int, scale: Callable[[float], float] | None = None, borders: Sequence[float] = ()
) -> Expected:
    """Return what a grid does to independent numbers in blocks.

    grid: Grid, format id, Format or values.   base: gaussian or laplace; with an exact scale its own scale does not matter.
    block: elements of a block.   scale, borders: as block_scaled; the scale is constant between borders.
    Raises: as block_scaled.   Tests: tests/analysis/test_shrinkage_scaled.py.
    """
    chosen = as_grid(grid).balanced
    if scale is not None:
        borders = _with_midpoints(chosen, maxima_range(base, block), scale, borders)
    weighed, counted = (block_scaled(base, block, chosen.largest, energy=energy, scale=scale, borders=borders) for energy in (True, False))
    return expected(chosen, weighed, counted)


def _with_midpoints(grid: Grid, ends: tuple[float, float], scale: Callable[[float], float], borders: Sequence[float]) -> list[float]:
    """Return the borders where a scale jumps, and the block maxima between them that a constant scale takes to a midpoint of the grid.

    There the largest element of a block changes its value.
    """
    jumps = [ends[0], *(item for item in borders if ends[0] < item < ends[1]), ends[1]]
    found = list(borders)
    for start, stop in pairwise(jumps):
        unit = scale((start + stop) / 2)
        found += [float(middle) * unit for middle in grid.midpoints if start < float(middle) * unit < stop]
    return sorted(found)
