"""Device functions on the bits of binary32: decode, round, overflow, NaN. Not here: which of them a recipe asks for (program.py).

A value is a float32 tensor, a code a uint32 tensor. Every fact of a format arrives as a compile-time constant.
"""

from __future__ import annotations

import triton
import triton.language as tl

MAGNITUDE = tl.constexpr(0x7FFFFFFF)
SIGN = tl.constexpr(0x80000000)
INFINITY = tl.constexpr(0x7F800000)
HIDDEN = tl.constexpr(0x800000)
FRACTION = tl.constexpr(0x7FFFFF)
FRAC_BITS = tl.constexpr(23)
BIAS = tl.constexpr(127)
NAN = tl.constexpr(0x7FC00000)
OPEN_CODE = tl.constexpr(0xFF)


@triton.jit
def to_bits(values):
    """Return the bits of float32 values. uint32."""
    return values.to(tl.uint32, bitcast=True)


@triton.jit
def to_values(bits):
    """Return the float32 values of bits."""
    return bits.to(tl.uint32).to(tl.float32, bitcast=True)


@triton.jit
def is_nan(values):
    """Tell where values are NaN, by their bits."""
    return (to_bits(values) & MAGNITUDE) > INFINITY


@triton.jit
def canonical(values):
    """Return bits with every NaN as the canonical one. uint32."""
    return tl.where(is_nan(values), NAN, to_bits(values)).to(tl.uint32)


@triton.jit
def divide(a, b):
    """Return a / b rounded once to nearest even; never the approximate division that `/` compiles to."""
    a, b = tl.broadcast(a, b)
    return tl.math.div_rn(a, b)


@triton.jit
def smaller(a, b, drops: tl.constexpr):
    """Return min(a, b), of equal values a. drops: a NaN gives way to the other argument; otherwise it stays."""
    if drops:
        return tl.where(is_nan(a) | (b < a), b, a)
    else:
        return tl.where(is_nan(a) | (~is_nan(b) & ~(b < a)), a, b)


@triton.jit
def larger(a, b, drops: tl.constexpr):
    """Return max(a, b), of equal values a. drops: as in smaller."""
    if drops:
        return tl.where(is_nan(a) | (a < b), b, a)
    else:
        return tl.where(is_nan(a) | (~is_nan(b) & ~(a < b)), a, b)


@triton.jit
def largest_magnitude(values, axis: tl.constexpr, drops: tl.constexpr):
    """Return the maximum of |v| along an axis, kept with length 1. By integers: a NaN lies above Inf, so it stays; drops: it gives way."""
    bits = (to_bits(values) & MAGNITUDE).to(tl.int32)
    if drops:
        bits = tl.where(bits > INFINITY, -1, bits)
    found = tl.max(bits, axis=axis, keep_dims=True)
    if drops:
        found = tl.where(found < 0, NAN, found)
    return to_values(found)


@triton.jit
def choice(word: tl.constexpr, odd):
    """Return 1 where the code above is taken. word: 0 keep, 1 next, 2 to the even code, 3 to the odd code."""
    if word == 2:
        return odd
    elif word == 3:
        return 1 - odd
    else:
        return odd * 0 + word


@triton.jit
def round_magnitude(bits, random, grid: tl.constexpr, words: tl.constexpr, random_bits: tl.constexpr):
    """Return the magnitude code on a grid without a maximum.

    bits: uint32 of a finite magnitude.   grid: (fraction bits, lowest exponent).   words: choices below, at and above half.
    random_bits: 0, or how many of the discarded bits are added to `random` (uint32); the carry decides.
    """
    field = (bits >> FRAC_BITS).to(tl.int32)
    significand = (bits & FRACTION) | tl.where(field > 0, HIDDEN, 0).to(tl.uint32)
    exp = tl.maximum(field, 1) - BIAS
    place = tl.maximum(exp, grid[1])
    shift = place - exp + (FRAC_BITS - grid[0])
    near = tl.minimum(shift, 31).to(tl.uint32)  # 24 bits are all gone by then
    kept = significand >> near
    lost = significand - (kept << near)
    if random_bits:
        down = tl.minimum(tl.maximum(shift - random_bits, 0), 31).to(tl.uint32)
        up = tl.maximum(random_bits - shift, 0).to(tl.uint32)
        carry = ((((lost >> down) << up) + random) >> random_bits).to(tl.uint32)
    else:
        one, odd = tl.full(lost.shape, 1, tl.uint32) << near, kept & 1
        at_half = tl.where(lost * 2 == one, choice(words[1], odd), choice(words[2], odd))
        carry = tl.where(lost * 2 < one, choice(words[0], odd), at_half)
    carry = tl.where(lost == 0, 0, carry).to(tl.uint32)
    return ((place - grid[1]).to(tl.uint32) << grid[0]) + kept + carry


@triton.jit
def cast_float(values, random, facts: tl.constexpr):
    """Return codes of a float or integer grid.

    facts: grid, words for positive, words for negative, random bits, largest code, sign bit (0: the sign is lost), NaN code (-1: open),
    mask of the bits that stay (0: saturates).
    """
    bits = to_bits(values)
    magnitude, negative = bits & MAGNITUDE, (bits & SIGN) != 0
    safe = tl.where(magnitude >= INFINITY, 0, magnitude).to(tl.uint32)
    code = round_magnitude(safe, random, facts[0], facts[1], facts[3])
    if facts[1] != facts[2]:
        code = tl.where(negative, round_magnitude(safe, random, facts[0], facts[2], facts[3]), code)
    if facts[7]:
        code = code & facts[7]
    else:
        code = tl.minimum(code, facts[4])
    code = tl.where(magnitude == INFINITY, facts[4], code)
    if facts[5]:
        code = code | tl.where(negative, facts[5], 0)
    return tl.where(magnitude > INFINITY, OPEN_CODE if facts[6] < 0 else facts[6], code).to(tl.uint32)


@triton.jit
def cast_exponent(values, facts: tl.constexpr):
    """Return codes of powers of two; what lies below the smallest sits on code 0. facts: bias, words, largest code, NaN code."""
    magnitude = to_bits(values) & MAGNITUDE
    field = (magnitude >> FRAC_BITS).to(tl.int32)
    subnormal = field == 0
    fraction = tl.where(subnormal, (magnitude << 1) & FRACTION, magnitude & FRACTION).to(tl.uint32)
    code = field - BIAS + facts[0]
    low = (code < 0) | (subnormal & (magnitude < HIDDEN // 2))
    code = tl.where(low, 0, code).to(tl.uint32)
    odd = code & 1
    at_half = tl.where(fraction * 2 == HIDDEN, choice(facts[1][1], odd), choice(facts[1][2], odd))
    carry = tl.where(fraction * 2 < HIDDEN, choice(facts[1][0], odd), at_half)
    code = code + tl.where(low | (fraction == 0), 0, carry).to(tl.uint32)
    code = tl.where(magnitude == INFINITY, facts[2], tl.minimum(code, facts[2]))
    return tl.where(magnitude > INFINITY, facts[3], code).to(tl.uint32)


@triton.jit
def decode_float(code, facts: tl.constexpr):
    """Return the float32 values of codes of a format inside binary32, exactly.

    facts: fraction bits, bias, sign bit (0: none), magnitude code of Inf and first NaN magnitude (-1: none).
    """
    magnitude = code & (facts[2] - 1) if facts[2] else code
    if facts[1] == BIAS:
        bits = magnitude << (FRAC_BITS - facts[0])
    else:
        field, fraction = magnitude >> facts[0], magnitude & ((1 << facts[0]) - 1)
        normal = ((field + (BIAS - facts[1])) << FRAC_BITS) | (fraction << (FRAC_BITS - facts[0]))
        small = to_bits(fraction.to(tl.float32) * (2.0 ** (1 - facts[1] - facts[0])))
        bits = tl.where(field == 0, small, normal).to(tl.uint32)
        if facts[3] >= 0:
            bits = tl.where(magnitude == facts[3], INFINITY, bits).to(tl.uint32)
    if facts[4] >= 0:
        bits = tl.where(magnitude >= facts[4], NAN, bits).to(tl.uint32)
    if facts[2]:
        bits = bits | tl.where((code & facts[2]) != 0, SIGN, 0).to(tl.uint32)
    return to_values(bits)


@triton.jit
def decode_exponent(code, facts: tl.constexpr):
    """Return 2^(code - bias) as float32. facts: bias, NaN code (-1: none)."""
    field = code.to(tl.int32) + (BIAS - facts[0])
    small = (tl.full(code.shape, 1, tl.uint32) << 22) >> tl.minimum(tl.maximum(-field, 0), 31).to(tl.uint32)
    bits = tl.where(field <= 0, small, tl.maximum(field, 0).to(tl.uint32) << FRAC_BITS)
    return to_values(tl.where(code == facts[1], NAN, bits)) if facts[1] >= 0 else to_values(bits)


@triton.jit
def e8m0_rule(values, rule: tl.constexpr, emax: tl.constexpr, frac_bits: tl.constexpr):
    """Return the E8M0 code that a named rule gives for the binary32 fields of a magnitude; NaN gives 0xFF."""
    bits = to_bits(values) & MAGNITUDE
    nan = bits > INFINITY
    if rule == "even":
        bits = (bits + ((HIDDEN // 2) >> frac_bits)) & INFINITY
    field = (bits >> FRAC_BITS).to(tl.int32)
    if rule == "ceil" or rule == "field_up":
        field += tl.where((bits & FRACTION) != 0, 1, 0)
    if rule == "field_up":
        code = tl.minimum(field, 0xFF)
    else:
        code = tl.maximum(tl.minimum(field - BIAS - emax, BIAS + 1), -BIAS) + BIAS
    return tl.where(nan, 0xFF, code).to(tl.uint32)


@triton.jit
def holds(test: tl.constexpr, u, v):
    """Tell where the test of a select holds; comparisons with NaN are false."""
    if test == "zero":
        return (to_bits(u) & MAGNITUDE) == 0
    elif test == "nan":
        return is_nan(u)
    elif test == "inf":
        return (to_bits(u) & MAGNITUDE) == INFINITY
    elif test == "neg":
        return u < 0.0
    elif test == "lt":
        return u < v
    elif test == "ge":
        return u >= v
    else:
        return u <= v
