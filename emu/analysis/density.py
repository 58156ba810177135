"""Densities: mass and first two moments of an interval, exactly (flat, empirical) or in closed form (Gaussian, Laplace).

Not here: what a block's own maximum does to a density (scaled.py), what a grid does to it (bias.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError

Number = Fraction | float
NARROW: Final = 0.125  # of the density's scale: below it an interval is summed by points, as differences of tails would cancel
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class Parts(NamedTuple):
    """Integrals of 1, x and x^2 over an interval, times the density."""

    mass: Any
    first: Any
    second: Any


class Density(Protocol):
    """Where numbers lie, in units of the grid. None for a border: no border on that side."""

    @property
    def name(self) -> str:
        """What it is called in tables."""

    def parts(self, low: Fraction | None, high: Fraction | None, low_in: bool = False, high_in: bool = False) -> Parts:
        """Return the integrals from low to high. low_in, high_in: does the border itself belong to the interval."""


@dataclass(frozen=True)
class Flat:
    """The same density everywhere in [-reach, reach]; integrals are exact."""

    reach: Fraction
    name: str = "flat"

    def parts(self, low: Fraction | None, high: Fraction | None, low_in: bool = False, high_in: bool = False) -> Parts:
        """Return the integrals from low to high as Fractions."""
        a = -self.reach if low is None else max(low, -self.reach)
        b = self.reach if high is None else min(high, self.reach)
        if a >= b:
            return Parts(Fraction(0), Fraction(0), Fraction(0))
        whole = 2 * self.reach
        return Parts((b - a) / whole, (b**2 - a**2) / 2 / whole, (b**3 - a**3) / 3 / whole)


@dataclass(frozen=True)
class Symmetric:
    """A density that depends on |x| / scale only. tail: integrals of 1, x, x^2 from z up, for scale 1; at: the density at z, scale 1.

    reach: nothing lies beyond it (the rest is renormalised); None: no end.
    """

    name: str
    scale: float
    tail: Callable[[float], Parts]
    at: Callable[[float], float]
    reach: float | None = None

    def parts(self, low: Fraction | None, high: Fraction | None, low_in: bool = False, high_in: bool = False) -> Parts:
        """Return the integrals from low to high as floats."""
        end = math.inf if self.reach is None else self.reach
        a = -end if low is None else max(float(low), -end)
        b = end if high is None else min(float(high), end)
        if a >= b:
            return Parts(0.0, 0.0, 0.0)
        found = self._between(a / self.scale, b / self.scale)
        whole = 1.0 if self.reach is None else 2 * self._positive(0.0, end / self.scale).mass
        return Parts(found.mass / whole, found.first * self.scale / whole, found.second * self.scale**2 / whole)

    def _between(self, a: float, b: float) -> Parts:
        if a >= 0:
            return self._positive(a, b)
        if b <= 0:
            found = self._positive(-b, -a)
            return Parts(found.mass, -found.first, found.second)
        left, right = self._positive(0.0, -a), self._positive(0.0, b)
        return Parts(left.mass + right.mass, right.first - left.first, left.second + right.second)

    def _positive(self, a: float, b: float) -> Parts:
        """Return the integrals from a >= 0 to b, scale 1."""
        if b - a < NARROW:
            z = (a + b) / 2 + (b - a) / 2 * _POINTS
            density = np.array([self.at(item) for item in z.tolist()]) * _WEIGHTS * (b - a) / 2
            return Parts(float(np.sum(density)), float(np.sum(density * z)), float(np.sum(density * z * z)))
        above, beyond = self.tail(a), self.tail(b)
        return Parts(*(one - other for one, other in zip(above, beyond, strict=True)))


def _gaussian_at(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _gaussian_tail(z: float) -> Parts:
    above = math.erfc(z / math.sqrt(2)) / 2
    height = _gaussian_at(z) if math.isfinite(z) else 0.0
    return Parts(above, height, above + (z * height if height else 0.0))


def _laplace_at(z: float) -> float:
    return math.exp(-z) / 2


def _laplace_tail(z: float) -> Parts:
    if math.isinf(z):
        return Parts(0.0, 0.0, 0.0)
    height = _laplace_at(z)
    return Parts(height, (z + 1) * height, (z * z + 2 * z + 2) * height)


class Empirical:
    """The numbers of a tensor. Without weights every integral is an exact Fraction; with weights a float."""

    def __init__(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None, name: str) -> None:
        order = np.argsort(values, kind="stable")
        self.values = values[order]
        self.weights = None if weights is None else weights[order] / math.fsum(weights.tolist())
        self.name = name

    def parts(self, low: Fraction | None, high: Fraction | None, low_in: bool = False, high_in: bool = False) -> Parts:
        """Return mass and moments of the numbers between two borders; borders are compared exactly."""
        first = 0 if low is None else self._place(low, "left" if low_in else "right")
        last = len(self.values) if high is None else self._place(high, "right" if high_in else "left")
        chosen = self.values[first : max(last, first)]
        if self.weights is None:
            count, significands = len(self.values), exact_moments(chosen)
            return Parts(Fraction(len(chosen), count), significands[0] / count, significands[1] / count)
        weights = self.weights[first : max(last, first)]
        sums = (weights, weights * chosen, weights * chosen * chosen)
        return Parts(*(float(np.sum(item)) for item in sums))

    def _place(self, border: Fraction, side: Any) -> int:
        """Return how many numbers lie below a border (side right: or on it)."""
        near = float(border)
        if Fraction(near) != border:  # no binary64 number lies on it: those up to the nearest one below count
            side = "right" if Fraction(near) < border else "left"
        return int(np.searchsorted(self.values, near, side))


def exact_moments(values: NDArray[np.float64]) -> tuple[Fraction, Fraction]:
    """Return the exact sums of x and x^2 of finite binary64 numbers."""
    bits = np.ascontiguousarray(values).view(np.int64)
    fields = (bits >> 52) & 0x7FF
    significands = (bits & ((1 << 52) - 1)) | np.where(fields > 0, 1 << 52, 0)
    signs = np.where(bits < 0, -1, 1)
    first = second = Fraction(0)
    for field in np.unique(fields).tolist():
        chosen = fields == field
        unit = Fraction(2) ** (max(field, 1) - 1075)
        high, low = significands[chosen] >> 26, significands[chosen] & ((1 << 26) - 1)
        first += (_whole(signs[chosen] * high) * 2**26 + _whole(signs[chosen] * low)) * unit
        second += (_whole(high * high) * 2**52 + 2 * _whole(high * low) * 2**26 + _whole(low * low)) * unit**2
    return first, second


def _whole(numbers: NDArray[np.int64]) -> int:
    """Return the exact sum of integers below 2^62 in magnitude."""
    return int(np.sum(numbers >> 32)) * 2**32 + int(np.sum(numbers & 0xFFFFFFFF))


def flat(reach: Fraction | int | str) -> Flat:
    """Return the flat density on [-reach, reach]. Raises: OperandError (reach not above zero)."""
    if Fraction(reach) <= 0:
        raise OperandError(f"flat density: reach {reach} must be above zero")
    return Flat(Fraction(reach))


def gaussian(sigma: float, reach: float | None = None) -> Symmetric:
    """Return the normal density. sigma: standard deviation in units of the grid.   reach: nothing beyond it.   Raises: OperandError."""
    return Symmetric("gaussian", _positive("gaussian", "sigma", sigma), _gaussian_tail, _gaussian_at, _end("gaussian", reach))


def laplace(scale: float, reach: float | None = None) -> Symmetric:
    """Return the density exp(-|x| / scale) / (2 scale). scale: in units of the grid.   reach: nothing beyond it.   Raises: OperandError."""
    return Symmetric("laplace", _positive("laplace", "scale", scale), _laplace_tail, _laplace_at, _end("laplace", reach))


def empirical(values: Any, weights: Any = None, name: str = "empirical") -> Empirical:
    """Return the density of the numbers of a tensor.

    values: finite float array, any shape.   weights: as many numbers not below zero, or None: each counts once, and integrals are exact.
    Raises: OperandError (empty, NaN or Inf, weights of another size or below zero).
    """
    plain = np.asarray(values).astype(np.float64).reshape(-1)
    if not plain.size or not bool(np.isfinite(plain).all()):
        raise OperandError(f"{name} density: {'NaN or Inf in its numbers' if plain.size else 'no numbers'}: give finite ones")
    if weights is None:
        return Empirical(plain, None, name)
    heavy = np.asarray(weights).astype(np.float64).reshape(-1)
    if heavy.size != plain.size or not bool((heavy >= 0).all()) or not math.isfinite(math.fsum(heavy.tolist())) or not heavy.any():
        raise OperandError(f"{name} density: weights must be {plain.size} finite numbers, none below zero, not all zero")
    return Empirical(plain, heavy, name)


def _positive(density: str, name: str, number: float) -> float:
    if not (math.isfinite(number) and number > 0):
        raise OperandError(f"{density} density: {name} {number} must be a number above zero")
    return float(number)


def _end(density: str, reach: float | None) -> float | None:
    return None if reach is None else _positive(density, "reach", float(reach))
