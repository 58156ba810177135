"""Rotation (16-point randomized Hadamard) and the recipes ufp4 and ufp4_sr in plain NumPy, right and wrong.

x: float32 [rows, n], n a multiple of 16.   signs: bit i negates element i of each group.   random: 8 bits per element.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

F32 = np.float32
GRID = np.arange(8, dtype=np.float32) / 4
TIES = (GRID[:-1] + GRID[1:]) / 2


def bf16(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def sign_vector(signs):
    return np.array([-1.0 if int(signs) >> lane & 1 else 1.0 for lane in range(16)], np.float32)


def butterfly(v, strides=(1, 2, 4, 8)):
    """Sum and difference of lanes one stride apart, stride after stride; float32."""
    for stride in strides:
        pairs = v.reshape(*v.shape[:-1], -1, 2, stride)
        v = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2).reshape(v.shape)
    return v


def rotate(x, signs, scale=0.25, strides=(1, 2, 4, 8), result=bf16):
    with np.errstate(all="ignore"):
        groups = x.reshape(len(x), -1, 16) * sign_vector(signs)
        return result(butterfly(groups, strides) * F32(scale)).reshape(x.shape)


def rotation(x, signs, **steps):
    return rotate(x, signs, **steps).astype(ml_dtypes.bfloat16)


def right_rotation(x, signs):
    return rotation(x, signs)


# wrong rotations


def rotation_not_normalised(x, signs):
    return rotation(x, signs, scale=1)


def rotation_by_a_sixteenth(x, signs):
    """1/n for 1/sqrt(n)."""
    return rotation(x, signs, scale=0.0625)


def rotation_signs_ignored(x, signs):
    return rotation(x, 0)


def rotation_signs_reversed(x, signs):
    """The most significant bit belongs to element 0."""
    return rotation(x, int(f"{int(signs):016b}"[::-1], 2))


def rotation_signs_inverted(x, signs):
    return rotation(x, ~int(signs) & 0xFFFF)


def rotation_signs_afterwards(x, signs):
    """H x, then the signs: the transpose."""
    with np.errstate(all="ignore"):
        groups = butterfly(x.reshape(len(x), -1, 16)) * F32(0.25)
        return (groups * sign_vector(signs)).reshape(x.shape).astype(ml_dtypes.bfloat16)


def rotation_from_the_far_stride(x, signs):
    """Strides 8, 4, 2, 1: the same sums in another order."""
    return rotation(x, signs, strides=(8, 4, 2, 1))


def rotation_one_by_one(x, signs):
    """Sixteen additions in a row."""
    rows = butterfly(np.eye(16, dtype=np.float32))
    with np.errstate(all="ignore"):
        groups = x.reshape(len(x), -1, 16) * sign_vector(signs)
        total = groups[..., :1] * rows[0]
        for lane in range(1, 16):
            total = total + groups[..., lane : lane + 1] * rows[lane]
        return (total * F32(0.25)).reshape(x.shape).astype(ml_dtypes.bfloat16)


def rotation_of_8(x, signs):
    """The last stride is missing, the scale is not."""
    return rotation(x, signs, strides=(1, 2, 4))


def rotation_truncated(x, signs):
    """bf16 by dropping the low half."""
    return rotation(x, signs, result=lambda y: np.where(np.isnan(y), y, (y.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)))


def rotation_in_bf16_steps(x, signs):
    """Every stage is rounded to bf16."""
    with np.errstate(all="ignore"):
        v = x.reshape(len(x), -1, 16) * sign_vector(signs)
        for stride in (1, 2, 4, 8):
            v = bf16(butterfly(v, (stride,)))
        return (v * F32(0.25)).reshape(x.shape).astype(ml_dtypes.bfloat16)


# the recipes


def whole_blocks(x):
    """Zeros after the last element; their codes are kept."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % 16)))


def block_scale(blocks):
    unit = np.abs(blocks).max(axis=-1) / F32(1.75)
    return np.where(unit == 0, F32(1), unit)


def sign_of(code, y):
    return (code | np.signbit(y) * 8).astype(np.uint8)


def codes_of(y):
    y = np.where(np.isnan(y), F32(0), y)
    below, above = (np.searchsorted(TIES, np.abs(y), side=side) for side in ("left", "right"))
    return sign_of(np.where(below % 2 == 0, below, above), y)


def codes_with_random(y, random):
    """The discarded part in 1/256 of a step, plus the random integer, carries."""
    y = np.where(np.isnan(y), F32(0), y)
    steps = np.minimum(np.abs(y), F32(4)).astype(np.float64) * 4
    lost = np.floor((steps - np.floor(steps)) * 256)
    return sign_of(np.minimum(np.floor(steps) + (lost + random >= 256), 7).astype(np.uint8), y)


def quantize(x, signs=0, turn=rotate, scale=block_scale, scaled=np.divide, codes=codes_of):
    """The steps of ufp4 in their order; a wrong kernel replaces one of them."""
    with np.errstate(all="ignore"):
        padded = whole_blocks(x)
        blocks = turn(padded, signs).reshape(len(x), -1, 16)
        unit = scale(blocks)
        return {"codes": codes(scaled(blocks, unit[..., None])).reshape(padded.shape), "scale": unit}


def stochastic(x, random):
    return lambda y: codes_with_random(y, whole_blocks(random).reshape(y.shape))


def right_ufp4(x, signs=0):
    return quantize(x, signs)


def right_ufp4_random(x, random, signs=0):
    return quantize(x, signs, codes=stochastic(x, random))


# wrong recipes


def not_rotated(x, signs=0):
    return quantize(x, signs, turn=lambda x, signs: x)


def rotated_without_signs(x, signs=0):
    return quantize(x, 0)


def not_rounded_to_bf16(x, signs=0):
    """The rotated values stay in float32."""
    return quantize(x, signs, turn=lambda x, signs: rotate(x, signs, result=lambda y: y))


def maximum_before_the_rotation(x, signs=0):
    with np.errstate(invalid="ignore"):
        raw = np.abs(whole_blocks(x).reshape(len(x), -1, 16)).max(axis=-1) / F32(1.75)
    return quantize(x, signs, scale=lambda blocks: np.where(raw == 0, F32(1), raw))


def multiplies_by_the_reciprocal(x, signs=0):
    return quantize(x, signs, scaled=lambda blocks, unit: blocks * (F32(1) / unit))


def multiplies_by_four_sevenths(x, signs=0):
    """amax * fl(4/7) for amax / 1.75."""

    def scale(blocks):
        unit = np.abs(blocks).max(axis=-1) * (F32(4) / F32(7))
        return np.where(unit == 0, F32(1), unit)

    return quantize(x, signs, scale=scale)


def scale_zero_stays(x, signs=0):
    """0 / 0 in a block of zeros: code 0, scale 0."""
    return quantize(x, signs, scale=lambda blocks: np.abs(blocks).max(axis=-1) / F32(1.75))


def scale_of_e2m1(x, signs=0):
    """amax / 6."""

    def scale(blocks):
        unit = np.abs(blocks).max(axis=-1) / F32(6)
        return np.where(unit == 0, F32(1), unit)

    return quantize(x, signs, scale=scale)


def scale_of_a_power_of_two(x, signs=0):
    """The scale is rounded up to a power of two."""

    def scale(blocks):
        unit = block_scale(blocks)
        return np.where(np.isfinite(unit), ((unit.view(np.uint32) + np.uint32(0x7FFFFF)) & np.uint32(0x7F800000)).view(np.float32), unit)

    return quantize(x, signs, scale=scale)


def random_not_used(x, random, signs=0):
    return quantize(x, signs)


def random_zeros(x, random, signs=0):
    return quantize(x, signs, codes=stochastic(x, np.zeros_like(random)))


def random_of_the_first_block(x, random, signs=0):
    """The same sixteen draws in every block."""
    again = np.resize(random.reshape(-1)[:16], random.shape)
    return quantize(x, signs, codes=stochastic(x, again))


def random_transposed(x, random, signs=0):
    """Draws are taken column by column."""
    return quantize(x, signs, codes=stochastic(x, np.ascontiguousarray(random.T).reshape(random.shape)))


def random_low_bit_lost(x, random, signs=0):
    return quantize(x, signs, codes=stochastic(x, random & 0xFE))
