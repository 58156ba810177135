"""MXFP4 quantizers in plain NumPy: torchao's FLOOR rule, Transformer Engine's powers of two, and kernels that differ in one place.

x: float32 [rows, n], n a multiple of 32.   Answer: element codes [rows, n] and E8M0 bytes [rows, n / 32].
"""

from __future__ import annotations

import numpy as np

GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
TIES = (GRID[:-1] + GRID[1:]) / 2


def field(x):
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 23 & 255).astype(np.int64)


def byte_of(exponent_field, nan):
    return np.where(nan, 255, np.clip(exponent_field, 0, 254)).astype(np.uint8)


def block_amax(blocks):
    return np.abs(blocks).max(axis=-1)


def floor_rule(amax):
    """Exponent of the maximum less that of 4."""
    return byte_of(field(amax) - 2, np.isnan(amax))


def scaled_by(blocks, byte):
    power = np.ldexp(np.float32(1), np.maximum(byte.astype(np.int32) - 127, -126)).astype(np.float32)
    return blocks / np.where(byte == 255, np.float32(np.nan), power)[..., None]


def codes_of(y):
    """Nearest, ties to even code, saturated, sign copied."""
    below, above = (np.searchsorted(TIES, np.abs(y), side=side) for side in ("left", "right"))
    return (np.where(below % 2 == 0, below, above) | np.signbit(y) * 8).astype(np.uint8)


def quantize(x, size=32, amax=block_amax, rule=floor_rule, scaled=scaled_by, codes=codes_of):
    """The steps in their order; a wrong kernel replaces one of them."""
    with np.errstate(all="ignore"):
        blocks = np.pad(x, ((0, 0), (0, -x.shape[1] % size))).reshape(len(x), -1, size)
        byte = rule(amax(blocks))
        return {"codes": codes(scaled(blocks, byte)).reshape(len(x), -1)[:, : x.shape[1]], "scale": byte}


def right_floor(x):
    return quantize(x)


def right_even(x):
    """The maximum is rounded to one fraction bit before its exponent is read."""

    def rule(amax):
        up = (np.ascontiguousarray(amax).view(np.uint32) + np.uint32(0x200000)) & np.uint32(0x7F800000)
        return byte_of((up >> 23).astype(np.int64) - 2, np.isnan(amax))

    return quantize(x, rule=rule)


# wrong


def exponent_by_logarithm(x):
    """floor(log2) in float32: one too high just below a power of two."""

    def rule(amax):
        exponent = np.floor(np.log2(np.maximum(amax, np.float32(2**-126))))
        return byte_of(np.clip(np.nan_to_num(exponent, posinf=128), -127, 128).astype(np.int64) + 125, np.isnan(amax))

    return quantize(x, rule=rule)


def exponent_rounded_up(x):
    """ceil for floor."""

    def rule(amax):
        fraction = np.ascontiguousarray(amax).view(np.uint32) & np.uint32(0x7FFFFF)
        return byte_of(field(amax) + (fraction > 0) - 2, np.isnan(amax))

    return quantize(x, rule=rule)


def exponent_rounded_even(x):
    return right_even(x)


def exponent_of_the_quotient(x):
    """The exponent of amax / 6, rounded up."""

    def rule(amax):
        unit = np.ascontiguousarray(amax / np.float32(6))
        return byte_of(field(unit) + (unit.view(np.uint32) & np.uint32(0x7FFFFF) > 0), np.isnan(amax))

    return quantize(x, rule=rule)


def bias_126(x):
    return quantize(x, rule=lambda amax: byte_of(field(amax) - 3, np.isnan(amax)))


def bias_128(x):
    return quantize(x, rule=lambda amax: byte_of(field(amax) - 1, np.isnan(amax)))


def zero_block_stores_one(x):
    """A block of zeros stores the scale 1."""

    def rule(amax):
        return np.where(amax == 0, 127, floor_rule(amax)).astype(np.uint8)

    return quantize(x, rule=rule)


def blocks_of_16(x):
    """The scale is that of the first 16 lanes."""
    return quantize(x, amax=lambda blocks: block_amax(blocks[..., :16]))


def maximum_without_abs(x):
    return quantize(x, amax=lambda blocks: np.maximum(blocks.max(axis=-1), 0))


def flushes_inputs(x):
    return quantize(np.where(np.abs(x) < np.float32(2**-126), np.copysign(np.float32(0), x), x))


def divides_by_the_stored_power(x):
    """2^-127 where the stored byte is 00, for the 2^-126 in use."""

    def scaled(blocks, byte):
        power = np.ldexp(1.0, byte.astype(np.int32) - 127)
        return (blocks.astype(np.float64) / np.where(byte == 255, np.nan, power)[..., None]).astype(np.float32)

    return quantize(x, scaled=scaled)


def minus_zero_on_overflow(x):
    """Not saturated: 7 and more becomes code 8."""
    return quantize(x, codes=lambda y: np.where(np.abs(y) >= 7, 8, codes_of(y)).astype(np.uint8))


def ties_away(x):
    def codes(y):
        return (np.searchsorted(TIES, np.abs(y), side="right") | np.signbit(y) * 8).astype(np.uint8)

    return quantize(x, codes=codes)


def halves_side_by_side(x):
    """Lane j and lane j + 16 are neighbours."""
    found = quantize(x)
    blocks = found["codes"].reshape(len(x), -1, 2, 16)
    return found | {"codes": np.ascontiguousarray(blocks.swapaxes(2, 3)).reshape(x.shape)}


def scales_one_block_late(x):
    found = quantize(x)
    return found | {"scale": np.roll(found["scale"], 1, axis=1)}


# Transformer Engine: amax / 6 rounded up to a power of two, elements times its reciprocal, NaN and minus zero to code 0


def power_up(amax):
    """The smallest power of two that is not below amax / 6; 2^-127 at least."""
    unit = np.ascontiguousarray(amax / np.float32(6))
    fraction = unit.view(np.uint32) & np.uint32(0x7FFFFF)
    above = np.where(field(unit) == 0, fraction > 0x400000, fraction > 0)
    return byte_of(np.minimum(field(unit) + above, 254), np.isnan(amax))


def times_reciprocal(blocks, byte):
    inverse = np.ldexp(np.float32(1), 127 - byte.astype(np.int32)).astype(np.float32)
    return np.clip(blocks * np.where(byte == 255, np.float32(np.nan), inverse)[..., None], -6, 6)


def codes_without_nan(y):
    return np.where(np.isnan(y) | (y == 0), 0, codes_of(y)).astype(np.uint8)


def te_pow2(x, rule=power_up, amax=block_amax, codes=codes_without_nan):
    return quantize(x, amax=amax, rule=rule, scaled=times_reciprocal, codes=codes)


def right_te_pow2(x):
    return te_pow2(x)


# wrong


def te_nan_scale_is_a_number(x):
    """A block with NaN stores FE."""
    return te_pow2(x, rule=lambda amax: np.minimum(power_up(amax), np.uint8(254)))


def te_nan_is_dropped(x):
    """fmax, so that a NaN never reaches the scale."""
    return te_pow2(x, amax=lambda blocks: np.fmax.reduce(np.abs(blocks), axis=-1))


def te_nan_becomes_six(x):
    return te_pow2(x, codes=lambda y: np.where(np.isnan(y), 7, codes_without_nan(y)).astype(np.uint8))


def te_minus_zero_kept(x):
    return te_pow2(x, codes=lambda y: np.where(np.isnan(y), 0, codes_of(y)).astype(np.uint8))


def te_exponent_by_logarithm(x):
    """ceil(log2) in float32: one too low just above a power of two."""

    def rule(amax):
        exponent = np.ceil(np.log2(amax / np.float32(6)))
        return byte_of(np.clip(np.nan_to_num(exponent, neginf=-127, posinf=127), -127, 127).astype(np.int64) + 127, np.isnan(amax))

    return te_pow2(x, rule=rule)


def te_exponent_truncated(x):
    return te_pow2(x, rule=lambda amax: byte_of(field(amax / np.float32(6)), np.isnan(amax)))
