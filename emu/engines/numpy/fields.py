"""Binary fields of float codes as arrays: sign, class, significand and the exponent of its unit. Integers only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError, OpenError, OperandError
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]


class Fields(NamedTuple):
    """value = (-1)^sign * significand * 2^lsb_exp where neither nan nor inf; exp is floor(log2) of a non-zero magnitude."""

    sign: Bool
    nan: Bool
    inf: Bool
    significand: U64
    lsb_exp: I64
    exp: I64


def split(codes: NDArray[np.unsignedinteger], fmt: Format) -> Fields:
    """Return the fields of codes of a float format.

    codes: unsigned, any shape.   Raises: EngineError for another class of format.
    """
    facts = fmt.facts
    if not isinstance(facts, FloatFacts):
        raise EngineError(f"engine numpy reads the fields of float formats, not of {fmt.id}: use engine='exact'")
    derived = derive.codes(fmt)
    check_width(codes, fmt)
    wide = codes.astype(np.uint64)
    magnitude = wide & np.uint64((1 << derived.magnitude_bits) - 1)
    sign = (wide & np.uint64(derived.sign_bit)) != 0
    top = np.uint64(((1 << facts.exp_bits) - 1) << facts.frac_bits)
    inf = magnitude == np.uint64(derived.inf) if derived.inf is not None else np.zeros(wide.shape, bool)
    nan = (magnitude >= top) & ~inf if facts.nan == "ieee" else np.isin(wide, np.array(derived.nan, np.uint64))
    field = (magnitude >> np.uint64(facts.frac_bits)).astype(np.int64)
    fraction = magnitude & np.uint64((1 << facts.frac_bits) - 1)
    least = int(facts.subnormals == "yes")  # the lowest exponent field whose codes have a hidden bit
    significand = np.where(field >= least, fraction | np.uint64(1 << facts.frac_bits), fraction)
    lsb_exp = np.maximum(field, least) - (facts.bias + facts.frac_bits)
    return Fields(sign, nan, inf, significand, lsb_exp, lsb_exp + top_bit(significand))


def check_width(codes: NDArray[np.unsignedinteger], fmt: Format) -> None:
    """Refuse codes with a bit above the format's. Raises: OpenError (a spare bit of the stored code), OperandError (further up)."""
    bits = derive.codes(fmt).bits
    if codes.dtype.itemsize * 8 <= bits or not codes.size or not int(codes.max()) >> bits:
        return
    largest = int(codes.max())
    if not largest >> (bits + derive.unused_high_bits(fmt)):
        raise OpenError(f"{fmt.id} code {largest:#04x}: what a set bit {bits} means is open")
    raise OperandError(f"a code has more than {bits} bits: it is no {fmt.id} code")


def top_bit(significand: U64) -> I64:
    """Return the place of the highest set bit of integers below 2^53; -1023 for zero. binary64 holds them, its field is read."""
    return ((significand.astype(np.float64).view(np.uint64) >> np.uint64(52)).astype(np.int64)) - 1023
