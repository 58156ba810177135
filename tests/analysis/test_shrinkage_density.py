"""Densities: closed forms against known constants and sums by points, exact empirical moments against fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from emu.analysis.density import empirical, exact_moments, flat, gaussian, laplace
from emu.base.errors import OperandError

BORDERS = [
    None,
    Fraction(-6),
    Fraction(-2),
    Fraction(-1, 2),
    Fraction(-1, 100),
    Fraction(0),
    Fraction(1, 64),
    Fraction(1, 8),
    Fraction(1),
    Fraction(3),
    Fraction(5),
    None,
]
ULPS = 2.0**-40  # of sums of a few closed forms, each rounded a few times


def closed(density, low, high):
    return density.parts(low, high)


def by_points(height, a, b, count=200_000):
    """Integrals of 1, x, x^2 by the midpoint rule: its error is about (b - a)^3 / (24 count^2) times the second derivative, below 1e-8."""
    x = a + (np.arange(count) + 0.5) * (b - a) / count
    density = height(x) * (b - a) / count
    return np.sum(density), np.sum(density * x), np.sum(density * x * x)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(("low", "high"), [(-3, 2), (0, 1), (Fraction(1, 2), Fraction(9, 16)), (-4, Fraction(-7, 2)), (2, 6)])
def test_closed_forms_against_points(low, high, scale):
    for density, height in (
        (gaussian(scale), lambda x: np.exp(-((x / scale) ** 2) / 2) / scale / math.sqrt(2 * math.pi)),
        (laplace(scale), lambda x: np.exp(-np.abs(x) / scale) / 2 / scale),
    ):
        wanted = by_points(height, float(low), float(high))
        for got, want in zip(density.parts(Fraction(low), Fraction(high)), wanted, strict=True):
            assert abs(got - want) < 1e-8


def test_known_constants():
    assert abs(gaussian(2.0).parts(Fraction(-2), Fraction(2)).mass - 0.6826894921370859) < 1e-15
    assert abs(gaussian(1.0).parts(Fraction(1), None).first - math.exp(-0.5) / math.sqrt(2 * math.pi)) < 1e-16
    assert abs(laplace(1.0).parts(Fraction(1), None).second - 5 * math.exp(-1) / 2) < 1e-15
    for density, square in ((gaussian(3.0), 9.0), (laplace(3.0), 18.0)):
        mass, first, second = density.parts(None, None)
        assert abs(mass - 1) < 1e-15
        assert abs(first) < 1e-15
        assert abs(second - square) < 1e-13


@pytest.mark.parametrize("density", [gaussian(1.0), laplace(0.7), gaussian(2.0, 6), laplace(2.0, 6), flat(6)], ids=lambda item: item.name)
def test_intervals_add_up_and_mirror(density):
    whole = density.parts(None, None)
    parts = [density.parts(low, high) for low, high in pairwise(BORDERS)]
    for total, column in zip(whole, zip(*parts, strict=True), strict=True):
        assert abs(float(total) - math.fsum(map(float, column))) < ULPS * float(whole.second + 1)
    right, left = density.parts(Fraction(1), Fraction(3)), density.parts(Fraction(-3), Fraction(-1))
    assert (right.mass, right.first, right.second) == (left.mass, -left.first, left.second)


@pytest.mark.parametrize("density", [gaussian(2.0, 6), laplace(2.0, 6), flat(6)], ids=lambda item: item.name)
def test_nothing_lies_beyond_the_reach(density):
    assert tuple(map(float, density.parts(Fraction(6), None))) == (0, 0, 0)
    assert abs(float(density.parts(None, None).mass) - 1) < 1e-15


def test_flat_is_exact():
    assert flat(6).parts(Fraction(5), None) == (Fraction(1, 12), Fraction(11, 24), Fraction(91, 36))
    assert flat("7/4").parts(None, None) == (1, 0, Fraction(49, 48))


def hard_numbers():
    draw = np.random.default_rng(3)
    wide = np.ldexp(draw.standard_normal(300), draw.integers(-40, 40, 300))
    return np.concatenate([wide, [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.7e154, 1 / 3], -wide[:7]])


def test_empirical_moments_are_exact():
    numbers = hard_numbers()
    found = exact_moments(numbers)
    assert found == (sum(map(Fraction, numbers.tolist())), sum(Fraction(x) ** 2 for x in numbers.tolist()))
    whole = empirical(numbers).parts(None, None)
    assert whole == (1, found[0] / len(numbers), found[1] / len(numbers))


def test_borders_of_empirical_numbers():
    density = empirical([1, 2, 2, 3])
    assert density.parts(Fraction(1), Fraction(2)).mass == 0
    assert density.parts(Fraction(1), Fraction(2), True, False).mass == Fraction(1, 4)
    assert density.parts(Fraction(1), Fraction(2), False, True).mass == Fraction(2, 4)
    assert density.parts(Fraction(1), Fraction(3), True, True).mass == 1
    third = Fraction(1, 3)  # between two binary64 numbers
    near = float(third)
    around = empirical([math.nextafter(near, 0), near, math.nextafter(near, 1)])
    assert around.parts(None, third).mass == sum(Fraction(x) < third for x in around.values.tolist()) / Fraction(3)
    assert around.parts(third, None, True).mass == sum(Fraction(x) > third for x in around.values.tolist()) / Fraction(3)


def test_weights_count():
    density = empirical([1.0, 3.0], [3.0, 1.0])
    assert density.parts(None, None) == (1.0, 1.5, 3.0)
    assert density.parts(Fraction(2), None).mass == 0.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: flat(0), "reach 0 must be above zero"),
        (lambda: gaussian(0.0), "sigma 0.0 must be a number above zero"),
        (lambda: gaussian(math.nan), "sigma nan"),
        (lambda: laplace(-1.0), "scale -1.0"),
        (lambda: laplace(1.0, 0.0), "reach 0.0"),
        (lambda: empirical([]), "no numbers"),
        (lambda: empirical([1.0, math.nan]), "NaN or Inf"),
        (lambda: empirical([1.0], [1.0, 2.0]), "weights must be 1 finite numbers"),
        (lambda: empirical([1.0, 2.0], [1.0, -2.0]), "none below zero"),
    ],
)
def test_bad_densities(make, message):
    with pytest.raises(OperandError, match=message):
        make()
