"""Device functions: exact sums of binary32 terms whose exponents lie far apart, as integers of nine words of 32 bits."""

from __future__ import annotations

import triton
import triton.language as tl

from emu.engines.torch.triton.bits import FRAC_BITS, FRACTION, HIDDEN, INFINITY, MAGNITUDE, SIGN, to_bits, to_values

WORDS = tl.constexpr(9)  # 24 bits times 2^0 .. 2^253, sixteen of them, and a sign: 282 bits
SIZE = tl.constexpr(16)
STAGES = tl.constexpr(4)
LOW = tl.constexpr(0xFFFFFFFF)


@triton.jit
def integer_butterfly(values):
    """Return H times the last axis of int64 [groups, 16], exactly."""
    groups: tl.constexpr = values.shape[0]
    for _ in tl.static_range(STAGES):
        a, b = tl.split(tl.reshape(values, (groups, SIZE // 2, 2)))
        values = tl.reshape(tl.permute(tl.join(a + b, a - b), (0, 2, 1)), (groups, SIZE))
    return values


@triton.jit
def word_of(values, number: tl.constexpr):
    """Return one 32-bit word of |v| in units of 2^-149, with the sign of v. int64."""
    bits = to_bits(values)
    field = ((bits & MAGNITUDE) >> FRAC_BITS).to(tl.int64)
    significand = (bits & FRACTION).to(tl.int64) | tl.where(field > 0, HIDDEN, 0)
    shift = tl.maximum(field, 1) - 1 - 32 * number  # where its lowest bit lies in this word
    inside = (significand << tl.minimum(tl.maximum(shift, 0), 31)) & LOW
    above = significand >> tl.minimum(tl.maximum(-shift, 0), 31)
    found = tl.where(shift >= 32, 0, tl.where(shift >= 0, inside, above))
    return tl.where((bits & SIGN) != 0, -found, found)


@triton.jit
def carried(terms, flips):
    """Return words in 0 .. 2^32 - 1 (the last one signed) after carries; flips: int64 0, or -1 to negate the number."""
    out, carry = (), tl.zeros_like(terms[0])
    for k in tl.static_range(WORDS):
        total = (terms[k] ^ flips) - flips + carry
        if k + 1 < WORDS:
            out = out + (total & LOW,)
            carry = total >> 32
        else:
            out = out + (total,)
    return out


@triton.jit
def leading(words_of_sum):
    """Return the top bits of a number that is not negative: uint64 of more than 32 bits where the number has so many, the lowest one
    set when anything below is not zero; and int32, the number of the word that its unit is.
    """
    top = tl.zeros_like(words_of_sum[0]).to(tl.uint64)
    base, sticky = tl.zeros(top.shape, tl.int32), tl.zeros(top.shape, tl.uint64)
    for step in tl.static_range(WORDS):
        word = words_of_sum[8 - step].to(tl.uint64)
        full = (top >> 32) != 0
        sticky = tl.where(full & (word != 0), 1, sticky).to(tl.uint64)
        top = tl.where(full, top, (top << 32) | word)
        base = tl.where(full, base, 8 - step)
    return top | sticky, base


@triton.jit
def rounded(top, base, power: tl.constexpr):
    """Return the binary32 bits of top * 2^(32 * base - 149 + power), nearest even. uint32."""
    length, rest = tl.zeros(top.shape, tl.int32), top
    for step in tl.static_range(6):
        big = (rest >> (32 >> step)) != 0
        length += tl.where(big, 32 >> step, 0)
        rest = tl.where(big, rest >> (32 >> step), rest)
    length += tl.where(rest != 0, 1, 0)
    shift = 32 * base + power
    lsb = tl.maximum(length + shift - 24, 0)
    drop = lsb - shift
    down = tl.minimum(tl.maximum(drop, 0), 63).to(tl.uint64)
    kept = tl.where(drop > 0, top >> down, top << tl.minimum(tl.maximum(-drop, 0), 63).to(tl.uint64))
    lost = tl.where(drop > 0, top - (kept << down), 0).to(tl.uint64)
    half_of_unit = tl.full(top.shape, 1, tl.uint64) << tl.maximum(down.to(tl.int32) - 1, 0).to(tl.uint64)
    up = (lost > half_of_unit) | ((lost == half_of_unit) & ((kept & 1) != 0))
    kept += tl.where((drop > 0) & up, 1, 0).to(tl.uint64)
    code = (lsb.to(tl.uint64) << FRAC_BITS) + kept
    return tl.minimum(code, INFINITY).to(tl.uint32)


@triton.jit
def wide_sums(values, power: tl.constexpr):
    """Return 2^power * H times the last axis of finite float32 [groups, 16], the exact sum rounded once. A sum of zero is +0."""
    terms = ()
    for k in tl.static_range(WORDS):
        terms = terms + (integer_butterfly(word_of(values, k)),)
    none = tl.zeros_like(terms[0])
    minus = carried(terms, none)[8] >> 63
    top, base = leading(carried(terms, minus))
    bits = rounded(top, base, power)
    return to_values(bits | tl.where(minus != 0, SIGN, 0).to(tl.uint32))
