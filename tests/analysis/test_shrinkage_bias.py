"""Bias per bin: the published formula exactly, the flat density against it on every grid, expectations against sums by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emu.analysis.bias import bin_bias, expected, local_bias
from emu.analysis.density import empirical, flat, gaussian, laplace
from emu.analysis.grid import grid_from, grid_of
from emu.base.errors import OperandError

FORMATS = ["e2m1", "e1m2", "int4", "e0m3", "e3m0", "nf4", "e2m3", "e3m2", "int8", "e4m3"]


def test_formula_by_hand():
    """fact sheet of recipes, 4.1: E2M1 -1/8 at 2, -1/4 at 4, 0 elsewhere; E1M2 0 everywhere."""
    found = dict(zip(grid_of("e2m1").values, local_bias("e2m1"), strict=True))
    assert {value: bias for value, bias in found.items() if bias} == {
        Fraction(2): Fraction(-1, 8),
        Fraction(4): Fraction(-1, 4),
        Fraction(-2): Fraction(1, 8),
        Fraction(-4): Fraction(1, 4),
    }
    assert found[Fraction(6)] is None
    assert found[Fraction(-6)] is None
    for name in ("e1m2", "int4", "e0m3"):
        inner = local_bias(name)[1:-1]
        assert set(inner) == {0}


@pytest.mark.parametrize("name", FORMATS)
def test_flat_density_is_the_formula(name):
    """Inside, the conditional expectation of a flat density is the formula, exactly; the top bin reaches down only: + top_step / 4."""
    grid = grid_of(name).balanced
    bins = bin_bias(grid, flat(grid.largest))
    for item in bins[1:-1]:
        assert item.bias == item.local
        assert item.error == (item.value - item.low) ** 3 / 3 / (item.high - item.low) + (item.high - item.value) ** 3 / 3 / (
            item.high - item.low
        )
    assert bins[-1].bias == grid.steps[-1] / 4
    assert sum(item.mass for item in bins) == 1


def test_known_bins_of_e2m1():
    found = {item.value: item for item in bin_bias("e2m1", flat(6))}
    assert (found[Fraction(4)].low, found[Fraction(4)].high, found[Fraction(4)].bias, found[Fraction(4)].error) == (
        Fraction(7, 2),
        Fraction(5),
        Fraction(-1, 4),
        Fraction(1, 4),
    )
    assert (found[Fraction(6)].low, found[Fraction(6)].high, found[Fraction(6)].bias) == (Fraction(5), None, Fraction(1, 2))
    assert found[Fraction(0)].bias == 0


@pytest.mark.parametrize("density", [gaussian(2.0), laplace(1.5), gaussian(1.0, 6)], ids=lambda item: item.name)
def test_bins_are_a_partition(density):
    bins = bin_bias("e2m1", density)
    assert abs(math.fsum(item.mass for item in bins) - 1) < 1e-14
    for item, mirror in zip(bins, reversed(bins), strict=True):
        assert abs(item.bias + mirror.bias) < 1e-12
        assert item.error >= item.bias**2 - 1e-12


def nearest(x, grid):
    """Round a fraction by looking at every value; a tie goes where the grid says."""
    best = min(abs(value - x) for value in grid.values)
    found = [number for number, value in enumerate(grid.values) if abs(value - x) == best]
    return grid.values[found[-1] if len(found) == 1 or grid.ties_up[found[0]] else found[0]]


@pytest.mark.parametrize("name", ["e2m1", "e1m2", "int4", "nf4"])
def test_empirical_bins_by_hand(name):
    grid = grid_of(name).balanced
    largest = float(grid.largest)
    ties = [float(item) for item in grid.midpoints]
    numbers = np.concatenate([np.random.default_rng(1).uniform(-1.2 * largest, 1.2 * largest, 200), ties, [0.0, -0.0, largest]])
    groups = {}
    for x in map(Fraction, numbers.tolist()):
        groups.setdefault(nearest(x, grid), []).append(x)
    for item in bin_bias(grid, empirical(numbers)):
        group = groups.get(item.value, [])
        assert item.mass == Fraction(len(group), len(numbers))
        if group:
            assert item.bias == sum(item.value - x for x in group) / len(group)
            assert item.error == sum((item.value - x) ** 2 for x in group) / len(group)
        else:
            assert item.bias is None
            assert item.error is None


@pytest.mark.parametrize("name", ["e2m1", "e1m2", "e3m0"])
def test_expectation_by_hand(name):
    grid = grid_of(name)
    numbers = [Fraction(x) for x in np.random.default_rng(2).normal(0, float(grid.largest) / 3, 300).tolist()]
    rounded = [nearest(x, grid) for x in numbers]
    signal = sum(x * x for x in numbers)
    found = expected(grid, empirical([float(x) for x in numbers]))
    alpha = sum(q * x for q, x in zip(rounded, numbers, strict=True)) / signal
    nmse = sum((q - x) ** 2 for q, x in zip(rounded, numbers, strict=True)) / signal
    counts = [rounded.count(value) for value in grid.values]
    entropy = -sum(count / 300 * math.log(count / 300) for count in counts if count)
    assert abs(found.alpha_minus_1 - float(alpha - 1)) < 1e-15
    assert abs(found.nmse - float(nmse)) < 1e-16
    assert abs(found.bin_term - float(alpha - 1 + nmse)) < 1e-15
    assert abs(found.bucket_ratio - math.exp(entropy) / len(grid.values)) < 1e-14
    assert abs(found.incoherent + found.coherent - found.nmse) < 1e-16
    assert abs(found.sqnr_db + 10 * math.log10(found.nmse)) < 1e-12


def test_means_of_bins_have_no_bin_term():
    """On a grid whose values are the means of their bins, alpha = 1 - nmse: shrinkage without any bias."""
    found = expected(grid_from([-1, 1]), flat(2))
    assert found.bin_term == 0
    assert found.alpha_minus_1 == -found.nmse == -0.25


def test_flat_bins_mislead_about_the_whole():
    """The formula alone says that E2M1 shrinks normal numbers; slope and top bin outweigh it: the term is above 0, below E1M2's."""
    from emu.analysis.scaled import model

    e2m1, e1m2 = model("e2m1", gaussian(1.0), 16), model("e1m2", gaussian(1.0), 16)
    assert 0 < e2m1.bin_term < e1m2.bin_term
    assert e2m1.alpha_minus_1 < 0 < e1m2.alpha_minus_1


def test_only_zeros():
    with pytest.raises(OperandError, match="every number is zero"):
        expected("e2m1", empirical([0.0, 0.0]))
