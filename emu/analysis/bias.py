"""What a grid does to a density: bias and error of every bin, and what follows for a whole tensor.

Alpha is <q, x> / <x, x>. Two things move it: alpha - 1 = bin_term - nmse, where bin_term = E[q (q - x)] / E[x^2] weighs the bias of
every bin with its value. On a grid whose values are the means of their bins, bin_term is zero and alpha = 1 - nmse: shrinkage without bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emu.analysis.density import Density, Parts
from emu.analysis.grid import Grid, as_grid
from emu.base.errors import OperandError
from emu.spec import Format

AnyGrid = Grid | str | Format | Sequence[Fraction | int | str]


@dataclass(frozen=True)
class Bin:
    """The numbers that round to one value. value: on the grid.   low, high: borders, None at the ends.   mass: share of the numbers.

    bias: E[value - x] of them (below zero for a positive value: it shrinks).   error: E[(value - x)^2].   Both None where no number lies.
    local: the bias where the density is flat around the bin, (2q - q_below - q_above) / 4; None at the ends, which have one neighbour.
    Exact densities give Fractions, others floats.
    """

    value: Fraction
    low: Fraction | None
    high: Fraction | None
    mass: Any
    bias: Any
    error: Any
    local: Fraction | None


@dataclass(frozen=True)
class Expected:
    """What a grid does to a density as a whole. alpha_minus_1 = bin_term - nmse.   bucket_ratio: exp(entropy of the masses) / values.

    coherent: (alpha - 1)^2.   incoherent: nmse - coherent.
    """

    alpha_minus_1: float
    bin_term: float
    nmse: float
    bucket_ratio: float

    @property
    def sqnr_db(self) -> float:
        """-10 log10(nmse); Inf where nothing is lost."""
        return -10 * math.log10(self.nmse) if self.nmse else math.inf

    @property
    def coherent(self) -> float:
        """The part of nmse that is a change of scale."""
        return self.alpha_minus_1**2

    @property
    def incoherent(self) -> float:
        """The part of nmse that is orthogonal to x."""
        return max(self.nmse - self.coherent, 0.0)

    def figures(self) -> dict[str, float]:
        """Return every figure by name."""
        names = ("alpha_minus_1", "bin_term", "nmse", "sqnr_db", "coherent", "incoherent", "bucket_ratio")
        return {name: getattr(self, name) for name in names}


def local_bias(grid: AnyGrid) -> tuple[Fraction | None, ...]:
    """Return (2 q_i - q_(i-1) - q_(i+1)) / 4 of every value: E[q - x] where the density is flat around the bin; None at both ends.

    grid: Grid, format id, Format, or values.   Source: arXiv 2606.20381.   Tests: tests/analysis/test_shrinkage_bias.py.
    """
    values = as_grid(grid).values
    inner = [(2 * q - below - above) / 4 for below, q, above in zip(values, values[1:], values[2:], strict=False)]
    return (None, *inner, None)


def bin_bias(grid: AnyGrid, density: Density) -> tuple[Bin, ...]:
    """Return mass, bias and error of every bin of a grid under a density, ascending by value.

    grid: Grid, format id, Format, or values; the outer bins have no outer border: numbers beyond the largest value saturate.
    density: in units of the grid.   Tests: tests/analysis/test_shrinkage_bias.py.
    """
    chosen = as_grid(grid)
    borders = (None, *chosen.midpoints, None)
    ties = (False, *chosen.ties_up, True)
    local = local_bias(chosen)
    found = []
    for number, value in enumerate(chosen.values):
        low, high = borders[number], borders[number + 1]
        parts = density.parts(low, high, ties[number], not ties[number + 1])
        found.append(_bin(value, low, high, parts, local[number]))
    return tuple(found)


def _bin(value: Fraction, low: Fraction | None, high: Fraction | None, parts: Parts, local: Fraction | None) -> Bin:
    if not parts.mass:
        return Bin(value, low, high, parts.mass, None, None, local)
    q: Any = value if isinstance(parts.mass, Fraction) else float(value)
    mean, square = parts.first / parts.mass, parts.second / parts.mass
    return Bin(value, low, high, parts.mass, q - mean, q * q - 2 * q * mean + square, local)


def expected(grid: AnyGrid, density: Density, occupancy: Density | None = None) -> Expected:
    """Return what a grid does to a density: alpha, error, use of the code space.

    density: weighs numbers as their squares count in the tensor (blocks of a large scale count more).   occupancy: the same numbers, each
    counted once, for bucket_ratio; None: density.   Raises: OperandError (all mass at zero).
    """
    chosen = as_grid(grid)
    bins = bin_bias(chosen, density)
    signal = density.parts(None, None).second
    if not signal:
        raise OperandError(f"{density.name} density: every number is zero: alpha has no meaning")
    used = [item for item in bins if item.mass]
    nmse = _sum([item.mass * item.error for item in used]) / float(signal)
    term = _sum([item.mass * item.value * item.bias if isinstance(item.bias, Fraction) else item.mass * float(item.value) * item.bias
                 for item in used]) / float(signal)  # fmt: skip
    counted = bins if occupancy is None else bin_bias(chosen, occupancy)
    masses = [float(item.mass) for item in counted if item.mass]
    entropy = -math.fsum(mass * math.log(mass) for mass in masses)
    return Expected(term - nmse, term, nmse, math.exp(entropy) / len(chosen.values))


def _sum(terms: list[Any]) -> float:
    """Return a sum: exact terms exactly, rounded once."""
    if terms and all(isinstance(item, Fraction) for item in terms):
        return float(sum(terms, Fraction(0)))
    return math.fsum(float(item) for item in terms)
