"""What a rotation gives in any order of its additions: where orders part, an interval that no right order leaves."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.contracts.form import Bits
from emu.engines.numpy.convert import to_fp64
from emu.engines.run import run_convert
from emu.spec import derive, get
from emu.spec.models import Format, Transform
from emu.spec.models.format import FloatFacts

F64 = NDArray[np.float64]
NEVER: Final = 2000  # an exponent beyond every number


class Ends(NamedTuple):
    """By element. low, high: codes of the least and the largest result.   free: nothing is known: a sum may overflow in some order."""

    low: Bits
    high: Bits
    free: Bits


def any_order(codes: Bits, source: Format, transform: Transform, signs: int) -> Ends:
    """Return what some order of additions may give, each addition rounded to nearest in the format of the sum, scaled before or after.

    codes: [rows, n] of a source of at most 32 bits.   Where every partial sum is a number of that format, both ends are the exact result;
    else the sum S lies within u n / (1 - u n) sum |x| of it, u half a step of 1. binary64, rounded outward by 2^-48 of sum |x|.
    """
    facts = transform.facts
    to: Format = get("format", facts.sum_format)
    assert isinstance(to.facts, FloatFacts)
    bits, size, scale = to.facts.frac_bits + 1, facts.size, float(derive.parse_exact(facts.scale))
    least = 2.0 ** (2 - to.facts.bias - bits)  # the smallest number of the sum's format
    x = to_fp64(codes, source).reshape(-1, size)
    with np.errstate(all="ignore"):
        matrix = np.array([[1.0 - 2 * ((i & j).bit_count() & 1) for j in range(size)] for i in range(size)])
        matrix *= [1.0 - 2 * (signs >> j & 1) for j in range(size)]
        finite = np.isfinite(x).all(axis=1, keepdims=True)
        plain = np.where(np.isfinite(x), x, 0)
        whole = np.abs(plain).sum(axis=1, keepdims=True)
        unit = np.ldexp(1.0, _unit(plain))[:, None]
        exact = (whole <= 2.0**bits * unit) & (unit * min(scale, 1) >= least)
        share = size * 2.0**-bits
        wide = np.where(exact, 0, whole * (share / (1 - share) + 2.0**-48) * scale + size * least)
        middle = np.where(finite, (plain @ matrix.T) * scale, np.nan)
        top = float(decode_top(to))
        free = (whole * max(scale, 1) * (1 + 2 * share) > top) & np.ones(middle.shape, bool)
    low, high = (_rounded(ends, transform).reshape(codes.shape) for ends in (middle - wide, middle + wide))
    return Ends(low, high, (free & ~np.isnan(x).any(axis=1, keepdims=True)).reshape(codes.shape))


def _unit(x: F64) -> NDArray[np.int64]:
    """Return the exponent of the lowest bit that is set in a row, by row; NEVER in a row of zeros, cut to what binary64 holds."""
    bits = np.ascontiguousarray(x).view(np.int64) & ((1 << 63) - 1)
    field = bits >> 52
    whole = (bits & ((1 << 52) - 1)) | ((field > 0).astype(np.int64) << 52)
    lowest = ((whole & -whole).astype(np.float64).view(np.int64) >> 52) - 1023  # of a power of two: its exponent field
    found: NDArray[np.int64] = np.where(whole == 0, NEVER, np.maximum(field, 1) - 1075 + lowest).min(axis=1)
    return np.minimum(found, 1023)


def decode_top(fmt: Format) -> float:
    """Return the largest number of a format."""
    return float(to_fp64(np.array([derive.codes(fmt).max_code], np.uint32), fmt)[0])


def _rounded(values: F64, transform: Transform) -> Bits:
    fmt: Format = get("format", transform.facts.result)
    codes = np.ascontiguousarray(values).view(np.uint64)
    return run_convert(codes, get("format", "fp64"), fmt, get("rounding", "rne"), get("policy", "ieee"), None, "auto")


def ordered(codes: Bits, fmt: Format) -> NDArray[np.int64]:
    """Return codes as integers in the order of their numbers; both zeros are 0."""
    sign = derive.codes(fmt).sign_bit
    plain = codes.astype(np.int64)
    return np.where(plain & sign, -(plain & ~sign), plain)
