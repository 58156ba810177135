"""The block-scaled product of Blackwell (64 E2M1 pairs, a UE4M3 scale per 16) in integers, right and wrong.

a, b: codes [rows, K], K a multiple of 64.   scale_a, scale_b: bytes [rows, K / 16].   c: float32 bits [rows].
Answer: float32 bits [rows].
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

DOUBLED = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int64)  # E2M1 in halves
NAN = 0x7FFFFFFF


@dataclass(frozen=True)
class Machine:
    """How a fused step sums. Every field but the defaults is a fault.

    width: fraction bits of the adder.   align, last: how addends and the sum lose bits.   cancelled: a group of sum zero counts.
    late_c: C is added to the rounded sum of products.   flush_scales, flush_result: subnormals are zero.   nan_scale: it makes NaN.
    """

    width: int = 35
    align: str = "rz"
    last: str = "rz"
    cancelled: bool = True
    late_c: bool = False
    flush_scales: bool = False
    flush_result: bool = False
    nan_scale: str = "always"
    nan: int = NAN
    minus_zero: bool = False


def shifted(value, places, how):
    """value * 2^places; what falls off the end is cut toward zero or downwards."""
    left, right = np.clip(places, 0, 40), np.clip(-places, 0, 62)
    if how == "floor":
        return (value << left) >> right
    return np.sign(value) * ((np.abs(value) << left) >> right)


def scale_parts(byte, machine):
    field, fraction = (byte >> 3 & 15).astype(np.int64), (byte & 7).astype(np.int64)
    low = np.zeros_like(fraction) if machine.flush_scales else fraction
    return np.where(field == 0, low, 8 + fraction), np.where(field == 0, 1, field) - 7


def float_parts(word):
    field, fraction = (word >> 23 & 255).astype(np.int64), (word & 0x7FFFFF).astype(np.int64)
    size = np.where(field == 0, fraction, fraction | 1 << 23)
    return np.where(word >> 31 == 1, -size, size), np.where(field == 0, 1, field) - 127


def to_float32(total, lsb_exp, machine):
    """Bits of total * 2^lsb_exp."""
    size = np.abs(total)
    exponent = np.frexp(size.astype(np.float64))[1] - 1 + lsb_exp
    unit = np.maximum(exponent - 23, -149)
    away = unit - lsb_exp
    kept = shifted(size, -away, "rz")
    lost = size - shifted(kept, away, "rz")
    if machine.last == "rne":
        half = np.where(away > 0, np.int64(1) << np.clip(away - 1, 0, 61), np.int64(1) << 61)
        kept = kept + ((lost > half) | ((lost == half) & (kept & 1 == 1)))
    word = kept + np.where(unit == -149, 0, (unit + 149) << 23)
    word = np.where((total == 0) | (kept == 0), 0, word)
    word = np.minimum(word, 0x7F800000)
    word = np.where(machine.flush_result & (word < 0x800000), 0, word)
    return np.where((total < 0) & (word > 0), word | 1 << 31, word).astype(np.uint32)


def groups(a, b, scale_a, scale_b, machine, size=16):
    """Exact sum of each group times its scales: significand, exponent, whether it counts; 8 fraction bits."""
    products = (DOUBLED[a] * DOUBLED[b]).reshape(len(a), -1, size)
    total = products.sum(axis=-1)
    (left, left_exp), (right, right_exp) = scale_parts(scale_a, machine), scale_parts(scale_b, machine)
    some = (products != 0).any(axis=-1) if machine.cancelled else total != 0
    return total * left * right, left_exp + right_exp, some & (left * right != 0)


def step(a, b, scale_a, scale_b, c, machine):
    significand, exponent, live = groups(a, b, scale_a, scale_b, machine)
    c_significand, c_exponent = float_parts(c)
    if machine.late_c:
        c_significand = np.zeros_like(c_significand)
    top = np.where(live, exponent, -139).max(axis=-1)
    top = np.maximum(np.maximum(top, -139), np.where(c_significand != 0, c_exponent, -139))
    total = shifted(significand, machine.width - 8 + exponent - top[:, None], machine.align).sum(axis=-1)
    total = total + shifted(c_significand, machine.width - 23 + c_exponent - top, machine.align)
    found = to_float32(total, top - machine.width, machine)
    if machine.late_c:
        with np.errstate(all="ignore"):
            found = (found.view(np.float32) + np.where(np.isnan(c.view(np.float32)), np.float32(0), c.view(np.float32))).view(np.uint32)
    if machine.minus_zero:
        found = np.where((total == 0) & (c == 1 << 31), np.uint32(1 << 31), found)
    return specials(found, a, b, scale_a, scale_b, c, machine)


def specials(found, a, b, scale_a, scale_b, c, machine):
    is_nan = (scale_a & 0x7F == 0x7F) | (scale_b & 0x7F == 0x7F)
    if machine.nan_scale == "never":
        is_nan = np.zeros_like(is_nan)
    if machine.nan_scale == "with products":
        is_nan &= ((DOUBLED[a] * DOUBLED[b]).reshape(len(a), -1, 16) != 0).any(axis=-1)
    size = c & 0x7FFFFFFF
    found = np.where(size == 0x7F800000, c, found)
    return np.where(is_nan.any(axis=-1) | (size > 0x7F800000), machine.nan, found).astype(np.uint32)


def product(a, b, scale_a, scale_b, c, machine=Machine()):
    """A chain of fused steps of 64."""
    d = np.ascontiguousarray(c, np.uint32)
    for place in range(0, a.shape[1], 64):
        part, blocks = slice(place, place + 64), slice(place // 16, place // 16 + 4)
        d = step(a[:, part], b[:, part], scale_a[:, blocks], scale_b[:, blocks], d, machine)
    return d


def right_product(a, b, scale_a, scale_b, c):
    return product(a, b, scale_a, scale_b, c)


# wrong


def one_bit_short(a, b, scale_a, scale_b, c):
    """34 fraction bits for 35."""
    return product(a, b, scale_a, scale_b, c, Machine(width=34))


def ten_bits_short(a, b, scale_a, scale_b, c):
    """25 fraction bits."""
    return product(a, b, scale_a, scale_b, c, Machine(width=25))


def result_to_nearest(a, b, scale_a, scale_b, c):
    return product(a, b, scale_a, scale_b, c, Machine(last="rne"))


def addends_cut_downwards(a, b, scale_a, scale_b, c):
    """An arithmetic shift right: minus infinity for zero."""
    return product(a, b, scale_a, scale_b, c, Machine(align="floor"))


def cancelled_group_forgotten(a, b, scale_a, scale_b, c):
    """A group that sums to zero does not raise the exponent."""
    return product(a, b, scale_a, scale_b, c, Machine(cancelled=False))


def addend_late(a, b, scale_a, scale_b, c):
    """C is added to the rounded product sum."""
    return product(a, b, scale_a, scale_b, c, Machine(late_c=True))


def subnormal_scales_flushed(a, b, scale_a, scale_b, c):
    return product(a, b, scale_a, scale_b, c, Machine(flush_scales=True))


def subnormal_results_flushed(a, b, scale_a, scale_b, c):
    return product(a, b, scale_a, scale_b, c, Machine(flush_result=True))


def nan_scale_ignored(a, b, scale_a, scale_b, c):
    """7F is 480."""
    return product(a, b, scale_a, scale_b, c, Machine(nan_scale="never"))


def nan_scale_of_zeros_ignored(a, b, scale_a, scale_b, c):
    """A NaN scale over a block of zeros does nothing."""
    return product(a, b, scale_a, scale_b, c, Machine(nan_scale="with products"))


def canonical_nan(a, b, scale_a, scale_b, c):
    """7FC00000 for 7FFFFFFF."""
    return product(a, b, scale_a, scale_b, c, Machine(nan=0x7FC00000))


def minus_zero_kept(a, b, scale_a, scale_b, c):
    """C = -0 and products that vanish give -0."""
    return product(a, b, scale_a, scale_b, c, Machine(minus_zero=True))


def scales_of_32(a, b, scale_a, scale_b, c):
    """The scale of every second block serves two."""
    return product(a, b, np.repeat(scale_a[:, ::2], 2, axis=1), np.repeat(scale_b[:, ::2], 2, axis=1), c)


def scale_a_twice(a, b, scale_a, scale_b, c):
    return product(a, b, scale_a, scale_a, c)


def group_off_by_one(a, b, scale_a, scale_b, c):
    """Groups begin one element late."""
    return product(np.roll(a, -1, axis=1), np.roll(b, -1, axis=1), scale_a, scale_b, c)


def sequential_float32(a, b, scale_a, scale_b, c):
    """One product after the other in float32, C first."""
    left, right = (scale.view(ml_dtypes.float8_e4m3fn).astype(np.float32) for scale in (scale_a & 0x7F, scale_b & 0x7F))
    with np.errstate(all="ignore"):
        total = np.ascontiguousarray(c, np.uint32).view(np.float32)
        scale = np.repeat(left * right, 16, axis=1)
        for lane in range(a.shape[1]):
            total = total + (DOUBLED[a[:, lane]] * DOUBLED[b[:, lane]]).astype(np.float32) / np.float32(4) * scale[:, lane]
    return np.where(np.isnan(total), NAN, total.view(np.uint32)).astype(np.uint32)


def scale_product_in_fp16(a, b, scale_a, scale_b, c):
    """The product of two scales overflows in fp16: 448 * 448 becomes Inf, and NaN."""
    left, right = (scale.view(ml_dtypes.float8_e4m3fn).astype(np.float32) for scale in (scale_a & 0x7F, scale_b & 0x7F))
    with np.errstate(all="ignore"):
        beyond = np.isinf((left * right).astype(np.float16))
    found = product(a, b, scale_a, scale_b, c)
    return np.where(beyond.any(axis=1), NAN, found).astype(np.uint32)
