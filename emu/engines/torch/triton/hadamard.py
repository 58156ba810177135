"""Device functions: rotations of 16 consecutive elements with a stated order of additions. The exact sum's wide case is in wide_sum."""

from __future__ import annotations

import triton
import triton.language as tl

from emu.engines.torch.triton.bits import FRAC_BITS, INFINITY, MAGNITUDE, SIGN, is_nan, round_magnitude, to_bits, to_values
from emu.engines.torch.triton.wide_sum import wide_sums

SIZE = tl.constexpr(16)
STAGES = tl.constexpr(4)
SAFE_SPREAD = tl.constexpr(25)  # exponents of 16 binary32 terms may differ by so much and binary64 still holds their sum


@triton.jit
def butterfly(values):
    """Return H times the last axis: strides 1, 2, 4, 8, (a, b) becomes (a + b, a - b).

    values: [groups, 16] of a float or integer type, every addition rounded in it.
    Each stage works on neighbours and moves the lowest digit of the place to the top: after four the order is back.
    """
    groups: tl.constexpr = values.shape[0]
    for _ in tl.static_range(STAGES):
        a, b = tl.split(tl.reshape(values, (groups, SIZE // 2, 2)))
        values = tl.reshape(tl.permute(tl.join(a + b, a - b), (0, 2, 1)), (groups, SIZE))
    return values


@triton.jit
def sequential(values):
    """Return H times the last axis: element 0 first, one rounded addition after the other from +0."""
    groups: tl.constexpr = values.shape[0]
    lane = tl.arange(0, SIZE)[None, :]
    bits, total = to_bits(values), tl.zeros((groups, SIZE), tl.float32)
    for j in tl.static_range(SIZE):
        term = tl.sum(tl.where(lane == j, bits, 0).to(tl.uint32), axis=1, keep_dims=True)
        both = lane & j
        both = both ^ (both >> 2)
        odd = (both ^ (both >> 1)) & 1
        total = total + to_values(term ^ tl.where(odd != 0, SIGN, 0).to(tl.uint32))
    return total


@triton.jit
def exact(values, power: tl.constexpr):
    """Return 2^power * H times the last axis, the whole sum rounded once to binary32.

    Close exponents: binary64 holds the sum. Others: integers of many words. Inf and NaN: as the sum of the elements that are such.
    """
    magnitude = to_bits(values) & MAGNITUDE
    special = magnitude >= INFINITY
    finite = tl.where(special, 0.0, values)
    found = (butterfly(finite.to(tl.float64)) * (2.0**power) + 0.0).to(tl.float32)  # a zero sum is +0
    field = tl.maximum(magnitude >> FRAC_BITS, 1).to(tl.int32)
    highest = tl.max(tl.where(special | (magnitude == 0), 0, field), axis=1, keep_dims=True)
    lowest = tl.min(tl.where(special | (magnitude == 0), 255, field), axis=1, keep_dims=True)
    wide = highest - lowest > SAFE_SPREAD
    if tl.max(wide.to(tl.int32)) > 0:
        found = tl.where(wide, wide_sums(finite, power), found)
    zeros = tl.where(magnitude == 0, tl.where((to_bits(values) & SIGN) != 0, -1, 1), 0)
    found = tl.where(butterfly(zeros) == -SIZE, -0.0, found)  # unless every term is -0 under its sign in the row
    specials = butterfly(tl.where(special, values, 0.0))
    return tl.where(tl.max(special.to(tl.int32), axis=1, keep_dims=True) > 0, specials, found)


@triton.jit
def to_result(values, grid: tl.constexpr):
    """Return values rounded to nearest even on the grid of a format with binary32's exponents, by integers. grid: () is binary32 itself."""
    if len(grid) == 0:
        return values
    else:
        bits = to_bits(values)
        code = round_magnitude(bits & MAGNITUDE, bits, grid, (0, 2, 1), 0)  # what exceeds the largest is Inf's code, and Inf stays
        return tl.where(is_nan(values), values, to_values((code << (FRAC_BITS - grid[0])) | (bits & SIGN)))


@triton.jit
def rotate(values, signs, facts: tl.constexpr):
    """Return rotated elements of a tile of any shape whose last axis is a multiple of 16.

    signs: int32 scalar, bit i negates element i of a group.
    facts: order of additions, power of two that scales the sum, grid of the result.
    """
    groups = tl.reshape(values, (values.numel // SIZE, SIZE))
    flip = ((signs >> tl.arange(0, SIZE)) & 1).to(tl.uint32) << 31
    groups = to_values(to_bits(groups) ^ flip[None, :])
    if facts[0] == "exact":
        found = exact(groups, facts[1])
    elif facts[0] == "butterfly":
        found = butterfly(groups) * (2.0 ** facts[1])
    else:
        found = sequential(groups) * (2.0 ** facts[1])
    return tl.reshape(to_result(found, facts[2]), values.shape)
