"""log2 of binary32 numbers, correctly rounded to binary32, on arrays: shifts and additions of 64-bit integers, no library's logarithm.

A number m from 1 to 2 is multiplied by 1 + 2^-i for i = 1, 2, ... wherever the product stays at or below 2; the logarithms of what was
multiplied are a table of integers. What is left is a sum with a known error, and a number whose rounding that error does not decide
(a few beside 1) goes through a series in Python's integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
_BITS = 62  # behind the point of m
_STEPS = 60
_KEPT = 54  # bits behind the point of a logarithm: up to 8 before it
_ERROR = 4  # units of 2^-54: 60 shifts and 60 table entries lose less than 210 units of 2^-62, the cut to 54 bits one more
_SERIES_BITS = 400


def logarithm_of(values: F32) -> F32:
    """Return log2 of float32 numbers, each rounded once, to nearest even: of zero -Inf, of a negative number NaN."""
    with np.errstate(all="ignore"):
        out = np.where(values == 0, np.float32(-np.inf), np.where(values == np.inf, values, np.float32(np.nan))).astype(np.float32)
    chosen = np.flatnonzero(np.isfinite(values) & (values > 0))
    if chosen.size:
        flat = out.reshape(-1)
        flat[chosen] = _positive(values.reshape(-1)[chosen])
    return out


def _positive(values: F32) -> F32:
    """Return the logarithms of finite numbers above zero, a flat array."""
    wide = values.astype(np.float64).view(np.uint64)  # a subnormal number is normal there
    exp = (wide >> np.uint64(52)).astype(np.int64) - 1023
    number = ((wide & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)) << np.uint64(_BITS - 52)  # from 2^62 on, below 2^63
    whole = number == np.uint64(1 << _BITS)
    two, left, removed = np.uint64(2 << _BITS), number.copy(), np.zeros(number.shape, np.uint64)
    for step, worth in enumerate(_logarithms(), 1):
        raised = left + (left >> np.uint64(step))
        fits = raised <= two
        left = np.where(fits, raised, left)
        removed += np.where(fits, np.uint64(worth), np.uint64(0))
    fraction_bits = ((np.uint64(1 << _BITS) - removed) >> np.uint64(_BITS - _KEPT)).astype(np.int64)
    about = np.where(whole, exp << _KEPT, (exp << _KEPT) + fraction_bits)
    low, high = (_rounded(np.where(whole, about, about + error)) for error in (-_ERROR, _ERROR))
    for at in np.flatnonzero(low != high):
        low[at] = _by_series(int(number[at]) >> (_BITS - 23), int(exp[at]))
    return low


@bounded(1)
def _logarithms() -> tuple[int, ...]:
    """Return log2(1 + 2^-i) for i = 1 to 60 in units of 2^-62, cut."""
    return tuple(_log2_of_ratio((1 << step) + 1, 1 << step) >> (_SERIES_BITS - _BITS) for step in range(1, _STEPS + 1))


def _rounded(fixed: I64) -> F32:
    """Return integers of 2^-54 as float32, to nearest even: what binary64 cannot hold is joined into its last bit first."""
    size = np.abs(fixed)
    joined = (size >> 10) | ((size & 1023) != 0)
    wide = np.where(size < 1 << 53, np.ldexp(size.astype(np.float64), -_KEPT), np.ldexp(joined.astype(np.float64), 10 - _KEPT))
    return np.where(fixed < 0, -wide, wide).astype(np.float32)


def _log2_of_ratio(top: int, bottom: int) -> int:
    """Return log2(top / bottom) in units of 2^-400, for a ratio from 1 to 2: artanh((top - bottom) / (top + bottom)) / artanh(1/3).

    Each artanh is a sum of at most 260 terms, each cut by less than one unit: the result is off by less than 2^-380.
    """
    return (_artanh(top - bottom, top + bottom) << _SERIES_BITS) // _artanh(1, 3)


def _artanh(top: int, bottom: int) -> int:
    power, total, odd = (top << _SERIES_BITS) // bottom, 0, 1
    while power:
        total += power // odd
        power = power * top * top // (bottom * bottom)
        odd += 2
    return total


def _by_series(significand: int, exp: int) -> np.float32:
    """Return the logarithm of significand * 2^(exp - 23), a number that is no power of two."""
    fixed = (exp << _SERIES_BITS) + _log2_of_ratio(significand, 1 << 23)
    low, high = (_nearest(fixed + error) for error in (-(1 << 20), 1 << 20))
    assert low == high
    return low


def _nearest(fixed: int) -> np.float32:
    """Return an integer of 2^-400 as float32, to nearest even; its magnitude is above 2^-30."""
    size = abs(fixed)
    cut = size.bit_length() - 26
    kept = size >> cut | (size & (1 << cut) - 1 != 0)
    value = np.ldexp(np.float64(kept), cut - _SERIES_BITS)
    return np.float32(-value if fixed < 0 else value)
