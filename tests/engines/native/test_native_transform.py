"""The rotation kernel against the reference model and the NumPy engine: orders of additions, sources, zeros, wide sums, every form."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OperandError, ShapeError
from emu.engines.exact.transform import transform_codes
from emu.engines.native import convert as kernel
from emu.engines.native import transform as kernel_transform
from emu.engines.native._kernels import lib
from emu.engines.numpy.transform import transform as transform_numpy
from emu.spec import get, names

FORMS = range(kernel.BEST_FORM + 1)
ABLE = [name for name in names("transform") if kernel_transform.can_rotate(get("transform", name))]


def groups(rng, count):
    """Yield groups of 16: plain, any bits, zeros of both signs, sums that cancel, exponents far apart, the ends of binary32."""
    yield rng.standard_normal((count, 16), dtype=np.float32)
    yield rng.integers(0, 1 << 32, (count, 16), dtype=np.uint32).view(np.float32)
    yield np.where(rng.random((count, 16)) < 0.5, np.float32(0), np.float32(-0.0))
    yield rng.integers(-2, 3, (count, 16)).astype(np.float32)
    yield np.ldexp(rng.choice([-1, 1, 0, 1.5], (count, 16)), rng.integers(-149, 128, (count, 16))).astype(np.float32)
    yield np.ldexp(rng.integers(-(1 << 24), 1 << 24, (count, 16)), rng.integers(-14, 14, (count, 16))).astype(np.float32)
    pair = np.where(rng.random((count, 16)) < 0.5, np.float32(0), np.float32(-0.0))
    pair[:, 4:6] = rng.choice(np.array([-1, 1], np.float32), (count, 2))
    yield pair
    yield wide_ties(count)
    yield (rng.standard_normal((count, 16)) * 3e38).clip(-3.4e38, 3.4e38).astype(np.float32)


def wide_ties(count):
    """Return groups whose first sum is a tie and 2^-28: one exponent more and binary64 loses the 2^-28."""
    terms = np.array([2.0**24] * 13 + [8, 2.0**-5 * (1 + 2.0**-23), -(2.0**-5)])
    signs = np.array([-1 if 0xD7E8 >> i & 1 else 1 for i in range(16)])
    powers = np.ldexp(np.ones((count, 1)), np.arange(count)[:, np.newaxis] % 40 - 20)
    return (terms * signs * powers).astype(np.float32)


def signed_zeros(mask):
    """Return the 16 zeros whose signs are the bits of a mask."""
    return np.where(mask >> np.arange(16) & 1, np.float32(-0.0), np.float32(0)).view(np.uint32)


def in_format(x, source):
    return x.view(np.uint32) if source == "fp32" else (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def test_the_kernel_takes_these_rotations():
    assert set(ABLE) == {"rht16_te", "rht16_te_fp32", "rht16_ufp4", "rht16_butterfly", "rht16_exact"}


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", ABLE)
def test_few_groups_against_the_reference_model(name, source):
    chosen, fmt, compared = get("transform", name), get("format", source), 0
    for x in groups(np.random.default_rng(60), 2):
        codes = in_format(x, source)
        wanted = [transform_codes(row, fmt, chosen) for row in codes.tolist()]
        for form in FORMS:
            assert kernel_transform.transform(codes, fmt, chosen, form=form).tolist() == wanted
            compared += 1
    assert compared == 9 * len(FORMS)


@pytest.mark.cases(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABLE)
def test_zeros_of_every_row_keep_their_sign(name, form):
    chosen, fmt = get("transform", name), get("format", "fp32")
    own = int(chosen.facts.signs, 16)
    hadamard = [sum(1 << j for j in range(16) if (i & j).bit_count() % 2 == 0) for i in range(16)]
    codes = np.array([signed_zeros(row ^ own ^ flip) for row in hadamard for flip in (0, 1, 0x8000)], np.uint32)
    wanted = [transform_codes(row, fmt, chosen) for row in codes.tolist()]
    assert kernel_transform.transform(codes, fmt, chosen, form=form).tolist() == wanted


@pytest.mark.cases(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABLE)
def test_many_groups_against_the_numpy_engine(name, form):
    chosen = get("transform", name)
    for source in ("fp32", "bf16", "fp16"):
        for x in groups(np.random.default_rng(61), 600):
            codes = in_format(x, source)
            found = kernel_transform.transform(codes, get("format", source), chosen, form=form)
            assert np.array_equal(found, transform_numpy(codes, get("format", source), chosen))
            assert found.dtype == (np.uint32 if chosen.facts.result == "fp32" else np.uint16)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_public_transform_along_any_axis(axis):
    x = np.random.default_rng(62).standard_normal((16, 32, 48), dtype=np.float32)
    for name, signs in (("rht16_te", None), ("rht16_ufp4", 0x1234), ("rht16_te_fp32", None)):
        found = emu.transform(x, name, axis=axis, signs=signs)
        wanted = emu.transform(x, name, axis=axis, signs=signs, engine="numpy")
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes() and found.shape == x.shape


def test_signs_of_a_recipe_reach_its_rotation():
    x = np.random.default_rng(63).standard_normal((16, 32), dtype=np.float32)
    seen = set()
    for signs in (None, 0, 1, 0xD7E8, 0xFFFF):
        for axis in (0, 1):
            found, wanted = (emu.quantize(x, "ufp4", axis=axis, signs=signs, engine=engine) for engine in ("native", "numpy"))
            assert np.array_equal(found.codes, wanted.codes) and np.array_equal(found.scales, wanted.scales)
            seen.add(found.codes.tobytes())
    assert len(seen) == 8


def test_what_the_kernel_cannot_rotate_is_refused():
    x = np.zeros((2, 16), np.float32)
    with pytest.raises(EngineError, match="engine native cannot transform this"):
        emu.transform(x.astype(np.float64), "rht16_te", engine="native")
    with pytest.raises(OperandError, match="has fixed signs"):
        emu.transform(x, "rht16_te", signs=3, engine="native")
    with pytest.raises(OperandError, match="more than 16 bits"):
        emu.transform(x, "rht16_ufp4", signs=1 << 16, engine="native")
    with pytest.raises(OperandError, match="more than 16 bits"):
        emu.quantize(x, "ufp4", signs=1 << 16, engine="native")
    chosen, fmt = get("transform", "rht16_te"), get("format", "fp32")
    with pytest.raises(ShapeError, match="must be a multiple"):
        kernel_transform.transform(np.zeros((2, 15), np.uint32), fmt, chosen)
    with pytest.raises(EngineError, match="lacks the instructions"):
        kernel_transform.transform(x.view(np.uint32), fmt, chosen, form=lib.EMU_AVX512 + 1)
