"""Block-scaled densities: the published figures of normal and Laplace tensors come out of the closed form, with no tensor drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emu.analysis.density import flat, gaussian, laplace
from emu.analysis.scaled import block_scaled, maxima_range, model
from emu.base.errors import OperandError

# fact sheet of recipes, 4.2: SQNR dB, alpha, bucket ratio of 4 million drawn numbers; their own sampling error is below 0.005 dB and 2e-4
PUBLISHED = [
    ("gaussian", "e2m1", 20.52, 0.9959, 0.994),
    ("gaussian", "e1m2", 21.39, 1.0006, 0.892),
    ("laplace", "e2m1", 20.80, 0.99670, 0.940),
    ("laplace", "e1m2", 19.90, None, 0.745),
]
BASES = {"gaussian": gaussian(1.0), "laplace": laplace(1.0)}


@pytest.mark.parametrize(("base", "grid", "sqnr", "alpha", "ratio"), PUBLISHED)
def test_published_figures_without_a_tensor(base, grid, sqnr, alpha, ratio):
    found = model(grid, BASES[base], 16)
    assert abs(found.sqnr_db - sqnr) < 0.012
    assert abs(found.bucket_ratio - ratio) < 0.001
    assert alpha is None or abs(found.alpha_minus_1 + 1 - alpha) < 0.0003


def test_blocks_of_32():
    """4.9, FP32 scale: 19.91 and 20.28 dB, measured on one draw of unknown size."""
    assert abs(model("e2m1", gaussian(1.0), 32).sqnr_db - 19.91) < 0.05
    assert abs(model("e1m2", gaussian(1.0), 32).sqnr_db - 20.28) < 0.05


def test_the_uniform_grids_are_one():
    found = [model(name, laplace(1.0), 16).figures() for name in ("e1m2", "e0m3", "int4")]
    for name in found[0]:
        assert max(item[name] for item in found) - min(item[name] for item in found) < 1e-12


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_an_exact_scale_forgets_the_size(base, scale):
    found, wanted = (model("e2m1", type(base)(base.name, size, base.tail, base.at), 16) for size in (scale, 1.0))
    assert abs(found.nmse - wanted.nmse) < 1e-12


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("block", [2, 16, 128])
@pytest.mark.parametrize("energy", [False, True])
def test_mass_and_the_share_of_the_maximum(base, block, energy):
    density = block_scaled(base, block, 6, energy=energy)
    mass, first, _ = density.parts(None, None)
    assert abs(mass - 1) < 1e-12
    assert abs(first) < 1e-12
    top = density.parts(Fraction(6), None, True)
    assert abs(top.mass - 1 / block / 2) < 1e-12  # half of the maxima are positive
    assert abs(density.parts(Fraction(6), None).mass) < 1e-12
    assert abs(density.parts(None, Fraction(-6), False, True).mass - 1 / block / 2) < 1e-12


def test_moments_against_drawn_numbers():
    """A million numbers in blocks of 8: the share below half of the maximum, and the mean square, within five standard errors."""
    x = np.random.default_rng(4).standard_normal((131072, 8))
    y = 6 * x / np.max(np.abs(x), axis=1, keepdims=True)
    density = block_scaled(gaussian(1.0), 8, 6)
    share = np.mean(np.abs(y) < 3, axis=1)
    assert abs(density.parts(Fraction(-3), Fraction(3)).mass - share.mean()) < 5 * share.std() / math.sqrt(len(y))
    square = np.mean(y * y, axis=1)
    assert abs(density.parts(None, None).second - square.mean()) < 5 * square.std() / math.sqrt(len(y))


def test_a_scale_that_jumps():
    """Scales rounded up to powers of two: every maximum lies in the upper half of the grid."""
    density = block_scaled(gaussian(1.0), 16, 1, scale=lambda a: 2.0 ** math.ceil(math.log2(a)), borders=[2.0**k for k in range(-8, 8)])
    ends = [item.maximum / item.scale for item in density.maxima]
    assert min(ends) > 0.5
    assert max(ends) <= 1
    assert abs(density.parts(None, None).mass - 1) < 1e-12


def test_range_of_maxima():
    low, high = maxima_range(gaussian(2.0), 16)
    assert 0 < low < 2 < high < 2 * 10


@pytest.mark.parametrize(("base", "block"), [(gaussian(1.0), 1), (gaussian(1.0, 6), 16)])
def test_bad_models(base, block):
    with pytest.raises(OperandError, match="at least 2 elements and a density without an end"):
        block_scaled(base, block, flat(6).reach)
