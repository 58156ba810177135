"""Conversions of float32 arrays to 4- and 8-bit codes in plain NumPy: right ones, and wrong ones that differ in one place."""

from __future__ import annotations

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
E1M2 = np.arange(8, dtype=np.float32) / 4


def middles(grid):
    return (grid[:-1] + grid[1:]) / 2


def nearest(x, grid=E2M1, tie="even"):
    """Code of the nearest magnitude of a grid, without sign; `tie`: even, away, zero. NaN gives the last code."""
    below = np.searchsorted(middles(grid), np.abs(x), side="left")
    above = np.searchsorted(middles(grid), np.abs(x), side="right")
    return {"even": np.where(below % 2 == 0, below, above), "away": above, "zero": below}[tie].astype(np.uint8)


def signed(code, x):
    """A sign-magnitude nibble; NaN is positive."""
    return (code | (np.signbit(x) & ~np.isnan(x)).astype(np.uint8) << 3).astype(np.uint8)


def bits(x):
    return np.ascontiguousarray(x, np.float32).view(np.uint32)


def rounded(x, dtype):
    """Through another float type and back."""
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float32).astype(dtype).astype(np.float32)


# right


def right_e2m1(x):
    return signed(nearest(x), x)


def right_e1m2(x):
    return signed(nearest(x, E1M2), x)


def right_e2m1_up(x):
    """Toward plus infinity, saturated."""
    grid = E2M1
    up = np.searchsorted(grid, np.abs(x), side="left")
    down = np.searchsorted(grid, np.abs(x), side="right") - 1
    code = np.where(np.isnan(x), 7, np.minimum(np.where(np.signbit(x), down, up), 7))
    return signed(code.astype(np.uint8), x)


def right_e4m3(x):
    with np.errstate(all="ignore"):
        code = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(x), 0x7F, code).astype(np.uint8)


def right_e4m3_toward_zero(x):
    """Truncated on the bits: the fraction is cut where the E4M3 step at that exponent begins."""
    field = (bits(x) >> 23 & 255).astype(np.int64)
    size = np.minimum(np.where(np.isnan(x), 448, np.abs(x)), 448).astype(np.float64)
    step = np.ldexp(1.0, np.clip(field - 127, -6, 8) - 3)
    code = (np.floor(size / step) * step).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(x), 0x7F, code | np.signbit(x).astype(np.uint8) << 7).astype(np.uint8)


def right_e8m0(x):
    """Toward zero: the exponent field of a positive number."""
    return np.where(np.isnan(x), 255, np.minimum(bits(x) >> 23 & 255, 254)).astype(np.uint8)


def right_int4(x):
    return (np.rint(np.clip(np.where(np.isnan(x), 7, x), -8, 7)).astype(np.int8) & 15).astype(np.uint8)


def right_e2m1_random(x, random):
    """Eight random bits of the discarded part's weight are added, then truncation."""
    size = np.minimum(np.where(np.isnan(x), 6, np.abs(x)), 16).astype(np.float64)
    step = np.select([size < 2, size < 4, size < 8], [0.5, 1.0, 2.0], 4.0)
    lost = np.floor((size / step - np.floor(size / step)) * 256)
    up = np.floor(size / step) * step + step * (lost + random >= 256)
    code = np.searchsorted(E2M1, np.minimum(up, 6))
    return signed(code.astype(np.uint8), x)


# wrong: rounding


def ties_away(x):
    return signed(nearest(x, tie="away"), x)


def ties_to_zero(x):
    return signed(nearest(x, tie="zero"), x)


def ties_up(x):
    """floor(v + 1/2): a negative tie goes toward zero."""
    return signed(np.where(np.signbit(x), nearest(x, tie="zero"), nearest(x, tie="away")), x)


def truncates(x):
    code = np.minimum(np.searchsorted(E2M1, np.abs(x), side="right") - 1, 7)
    return signed(code.astype(np.uint8), x)


def through_bf16(x):
    return right_e2m1(rounded(x, ml_dtypes.bfloat16))


def through_fp16(x):
    return right_e2m1(rounded(x, np.float16))


def through_e4m3(x):
    return right_e2m1(rounded(np.clip(x, -448, 448), ml_dtypes.float8_e4m3fn))


def one_threshold_wrong(x):
    """3.25 for 3.5."""
    points = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.25, 5], np.float32)
    below, above = (np.searchsorted(points, np.abs(x), side=side) for side in ("left", "right"))
    return signed(np.where(below % 2 == 0, below, above).astype(np.uint8), x)


def threshold_one_ulp_off(x):
    """The tie at 5 typed one float32 too high."""
    points = np.nextafter(middles(E2M1), np.float32([0, 0, 0, 0, 0, 0, 9]), dtype=np.float32)
    points[:6] = middles(E2M1)[:6]
    below, above = (np.searchsorted(points, np.abs(x), side=side) for side in ("left", "right"))
    return signed(np.where(below % 2 == 0, below, above).astype(np.uint8), x)


def exponent_by_logarithm(x):
    """E4M3 toward zero with floor(log2 |x|) in float32, which is one too high just below a power of two."""
    size = np.abs(np.clip(np.where(np.isnan(x), np.float32(448), x), -448, 448))
    with np.errstate(divide="ignore"):
        step = np.exp2(np.clip(np.floor(np.log2(size)), -6, 8) - 3)
    code = (np.floor(size / step) * step).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(x), 0x7F, code | np.signbit(x).astype(np.uint8) << 7).astype(np.uint8)


def uses_uniform_grid(x):
    """E2M1 read as E1M2."""
    return signed(nearest(x, E1M2), x)


def uses_e2m1_grid(x):
    """E1M2 read as E2M1."""
    return signed(nearest(x), x)


def integer_half_up(x):
    return (np.floor(np.clip(np.where(np.isnan(x), 7, x), -8, 7) + np.float32(0.5)).astype(np.int8) & 15).astype(np.uint8)


def integer_half_away(x):
    size = np.clip(np.where(np.isnan(x), 7, x), -8, 7)
    return (np.trunc(size + np.copysign(np.float32(0.5), size)).astype(np.int8) & 15).astype(np.uint8)


def integer_wraps(x):
    """The cast to int8 comes before the clamp."""
    with np.errstate(invalid="ignore"):
        whole = np.rint(np.where(np.isfinite(x), np.clip(x, -2e9, 2e9), 7)).astype(np.int64)
    return (whole & 15).astype(np.uint8)


def e8m0_by_logarithm(x):
    """floor(log2 x) + 127 in float32."""
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(x)))
    return np.where(np.isnan(x), 255, np.clip(np.nan_to_num(exponent, neginf=-127, posinf=127), -127, 127) + 127).astype(np.uint8)


def e8m0_bias_126(x):
    return np.where(np.isnan(x), 255, np.clip((bits(x) >> 23 & 255).astype(np.int64) - 1, 0, 254)).astype(np.uint8)


def e8m0_rounds_up(x):
    field, fraction = bits(x) >> 23 & 255, bits(x) & 0x7FFFFF
    return np.where(np.isnan(x), 255, np.minimum(field + (fraction > 0), 254)).astype(np.uint8)


# wrong: specials


def minus_zero_on_overflow(x):
    """8 is rounded to before anything is clamped; its code is minus zero."""
    code = np.where(np.abs(x) >= 7, 8, nearest(x)).astype(np.uint8)
    return np.where(np.isnan(x), 7, np.where(code == 8, 8, signed(code, x))).astype(np.uint8)


def overflow_to_zero(x):
    return np.where(np.abs(x) >= 7, 0, right_e2m1(x)).astype(np.uint8)


def largest_code_never_used(x):
    """Clamped to 4."""
    return signed(np.minimum(nearest(x), 6), x)


def sign_lost(x):
    return nearest(x)


def minus_zero_lost(x):
    """The sign is taken from x < 0."""
    with np.errstate(invalid="ignore"):
        return (nearest(x) | (x < 0).astype(np.uint8) << 3).astype(np.uint8)


def minus_zero_lost_after_rounding(x):
    """A negative number that rounds to zero loses its sign."""
    code = nearest(x)
    return np.where(code == 0, 0, signed(code, x)).astype(np.uint8)


def nan_becomes_zero(x):
    return right_e2m1(np.nan_to_num(x, nan=0.0, posinf=np.float32(6), neginf=np.float32(-6)))


def nan_keeps_its_sign(x):
    return (nearest(x) | np.signbit(x).astype(np.uint8) << 3).astype(np.uint8)


def infinity_becomes_zero(x):
    """isfinite guards against NaN, and takes Inf with it."""
    return np.where(np.isfinite(x), right_e2m1(x), np.where(np.isnan(x), 7, 0)).astype(np.uint8)


def flushes_inputs(x):
    """Subnormal inputs are zero; seen where rounding goes up."""
    return right_e2m1_up(np.where(np.abs(x) < np.float32(2**-126), np.copysign(np.float32(0), x), x))


def e4m3_overflows_to_nan(x):
    with np.errstate(all="ignore"):
        code = x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(x), 0x7F, code).astype(np.uint8)


def e4m3_infinity_to_nan(x):
    return np.where(np.isinf(x), 0x7F, right_e4m3(x)).astype(np.uint8)


def e4m3_flushes_small(x):
    """Subnormal codes do not exist here."""
    code = right_e4m3(x)
    return np.where(code & 0x7F < 8, code & 0x80, code).astype(np.uint8)


def e4m3_limit_240(x):
    """The maximum of another FP8 format."""
    return right_e4m3(np.clip(x, -240, 240))


# wrong: random bits


def random_ignored(x, random):
    return right_e2m1_random(x, np.zeros_like(random))


def random_shared(x, random):
    """One draw for everybody."""
    return right_e2m1_random(x, np.full_like(random, random.reshape(-1)[0]))


def random_one_lane_off(x, random):
    return right_e2m1_random(x, np.roll(random, 1))


def random_seven_bits(x, random):
    return right_e2m1_random(x, random & 0xFE)


def random_one_too_many(x, random):
    """r + 1: never zero, biased up."""
    return right_e2m1_random(x, random.astype(np.int64) + 1)


def random_by_comparison(x, random):
    """Up where r < fraction * 256: the complement of the sum's rule."""
    return right_e2m1_random(x, 255 - random.astype(np.int64))


def random_reversed_bits(x, random):
    wide = np.unpackbits(random.astype(np.uint8)[..., None], axis=-1)
    return right_e2m1_random(x, np.packbits(wide[..., ::-1], axis=-1)[..., 0])


def random_moves_exact_values(x, random):
    """Half a step of noise to either side, then nearest: values of the grid move."""
    size = np.minimum(np.where(np.isnan(x), 6, np.abs(x)), 6).astype(np.float64)
    step = np.select([size < 2, size < 4], [0.5, 1.0], 2.0)
    return signed(nearest(np.maximum(size + step * (random.astype(np.float64) / 128 - 1), 0)), x)
