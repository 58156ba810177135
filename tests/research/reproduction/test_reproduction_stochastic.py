"""Stochastic rounding of densities against sums by hand and against the recipe that draws."""

import numpy as np
import pytest

from emu.analysis import drawn_tensors as data
from emu.analysis.bias import expected
from emu.analysis.density import empirical, flat, gaussian, laplace
from emu.analysis.scaled import block_scaled
from emu.analysis.tensor import measure
from emu.base.errors import OperandError
from research.reproduction.stochastic import stochastic


def test_two_values_by_hand():
    """Flat on [-1, 1], values -1, 0, 1: E[e^2] = E[|x| (1 - |x|)] = 1/6, E[x^2] = 1/3; a quarter, a half, a quarter of the numbers."""
    found = stochastic([-1, 0, 1], flat(1))
    assert abs(found.nmse - 0.5) < 1e-15
    assert found.alpha_minus_1 == 0
    assert abs(found.bucket_ratio - 2**1.5 / 3) < 1e-15
    # one random bit: -1/4 towards zero everywhere; E[|x|] = 1/2
    assert abs(stochastic([-1, 0, 1], flat(1), 1).alpha_minus_1 + 0.25 * 0.5 * 3) < 1e-15


def test_numbers_on_the_grid_and_beyond_it():
    assert stochastic("e2m1", empirical([0.5, -6, 3, 0])).nmse == 0
    found = stochastic("e2m1", empirical([8.0, -8.0]))
    assert abs(found.nmse - 4 / 64) < 1e-15
    assert abs(found.alpha_minus_1 + 2 / 8) < 1e-15
    assert abs(found.bucket_ratio - 2 / 15) < 1e-15


@pytest.mark.parametrize("grid", ["e2m1", "e1m2"])
@pytest.mark.parametrize("base", [gaussian(1.0), laplace(1.0)], ids=lambda base: base.name)
def test_unbiased_and_noisier_than_nearest(grid, base):
    density = block_scaled(base, 16, 6 if grid == "e2m1" else "7/4", energy=True)
    found, nearest = stochastic(grid, density), expected(grid, density)
    assert abs(found.alpha_minus_1) < 1e-12
    assert found.nmse > 1.5 * nearest.nmse


def test_the_recipe_that_draws():
    """fact sheet of recipes, T21: E1M2, binary32 scale, 8 bits: alpha .9995. A million numbers: alpha varies by 1e-4, SQNR by .01 dB."""
    density, counted = (block_scaled(gaussian(1.0), 16, "7/4", energy=energy) for energy in (True, False))
    found = stochastic("e1m2", density, 8, counted)
    report = measure(data.drawn("gaussian", (1024, 1024)), "ufp4_sr")
    assert abs(found.alpha_minus_1 + 1 - 0.9995) < 0.0001
    assert abs(found.alpha_minus_1 - report.alpha_minus_1) < 0.0004
    assert abs(found.sqnr_db - report.sqnr_db) < 0.03
    assert abs(found.bucket_ratio - report.bucket_ratio) < 0.003


def test_as_drawn_numbers_say():
    """The closed form against the mean over all 2^8 draws of one tensor, element by element: added and truncated, in integers."""
    x = np.random.default_rng(5).integers(0, 7 << 16, 64)  # numbers x / 2^16 on the integers 0 .. 7
    up = sum(((x & 0xFFFF) + (draw << 8)) >> 16 for draw in range(256)) / 256
    y = (x >> 16) + up
    alpha = np.sum(y * x / 65536) / np.sum((x / 65536.0) ** 2)
    found = stochastic(list(range(-7, 8)), empirical(x / 65536.0), 8)
    assert abs(found.alpha_minus_1 + 1 - alpha) < 2**-9 * 1  # the mean bias stands for each number's own, of 0 .. 2^-8 of a step


@pytest.mark.parametrize(
    ("density", "bits", "message"), [(flat(1), 0, "with 0 random bits"), (empirical([0.0]), None, "every number is zero")]
)
def test_bad_input(density, bits, message):
    with pytest.raises(OperandError, match=message):
        stochastic("e2m1", density, bits)
