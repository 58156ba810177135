"""log2 of binary32 numbers, correctly rounded to binary32, on tensors: digit by digit in 64-bit integers, no logarithm of a device.

y is a number from 1 to 2: y * y reaches 2 or not, the next binary digit of log2(y), and y * y or its half goes on. 54 digits decide
the rounding of nearly every number; the few beside 1 that are left are decided by decimal arithmetic with 60 digits.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import torch

from emu.engines.torch.numbers import Number, split, top_bit
from emu.engines.torch.round import encode
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.registry import get

_POINT = 61  # bits behind the point of y
_HALF = 31
_DIGITS = 54
_SLACK = 2  # units of the last digit: those behind it are one, what the squares lost is less than another


def logarithm_of(values: torch.Tensor) -> torch.Tensor:
    """Return log2 of float32 numbers, each rounded once, to nearest even: of zero -Inf, of a negative number NaN."""
    fp32: Format = get("format", "fp32")
    x = split(values.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF, fp32)
    top = top_bit(x.significand.clamp(min=1))
    exp, number = top + x.lsb_exp, x.significand.clamp(min=1) << (_POINT - top)
    whole = number == 1 << _POINT
    about = (exp << _DIGITS) + torch.where(whole, 0, _digits(number))
    low, high = (_codes(torch.where(whole, about, about + more), fp32) for more in (0, _SLACK))
    plain = (x.significand > 0) & ~x.inf & ~x.nan & ~x.sign
    for at in torch.nonzero((low != high) & plain).tolist():
        low[tuple(at)] = _by_decimals(int(number[tuple(at)]), int(exp[tuple(at)]), fp32)
    known = derive.codes(fp32)
    assert known.inf is not None
    zero, inf = (x.significand == 0) & ~x.inf & ~x.nan, x.inf & ~x.sign
    code = torch.where(plain, low, torch.where(zero, known.inf | known.sign_bit, torch.where(inf, known.inf, known.nan[0])))
    return code.to(torch.int32).view(torch.float32)


def _digits(y: torch.Tensor) -> torch.Tensor:
    """Return 54 binary digits of log2(y * 2^-61), cut; what the squares lose is worth less than 2^-58."""
    found = torch.zeros_like(y)
    for _ in range(_DIGITS):
        high, low = y >> _HALF, y & ((1 << _HALF) - 1)
        y = ((high * high) << 1) + ((high * low + ((low * low) >> (_HALF + 1))) >> (_HALF - 2))
        reaches = (y >> (_POINT + 1)) & 1
        y = y >> reaches
        found = (found << 1) | reaches
    return found


def _codes(fixed: torch.Tensor, fp32: Format) -> torch.Tensor:
    """Return integers of 2^-54 as binary32 codes, to nearest even."""
    no = torch.zeros_like(fixed, dtype=torch.bool)
    number = Number(fixed < 0, no, no, fixed.abs(), torch.full_like(fixed, -_DIGITS))
    return encode(number, fp32, get("rounding", "rne"), derive.arithmetic_entry(fp32))


def _by_decimals(number: int, exp: int, fp32: Format) -> int:
    """Return the code of log2(number * 2^(exp - 61)) from decimal logarithms, which are off by at most one unit of the 60th digit."""
    context = Context(prec=60)
    ratio = context.divide(context.ln(Decimal(number)), context.ln(Decimal(2)))
    value = Fraction(ratio) - _POINT + exp
    low, high = (_code_of(value + error, fp32) for error in (Fraction(-1, 10**56), Fraction(1, 10**56)))
    assert low == high
    return low


def _code_of(value: Fraction, fp32: Format) -> int:
    size = abs(value)
    lsb = size.numerator.bit_length() - size.denominator.bit_length() - 30
    units = size / Fraction(2) ** lsb
    whole = units.numerator // units.denominator
    significand = torch.tensor([whole << 1 | int(units != whole)])
    no = torch.zeros_like(significand, dtype=torch.bool)
    number = Number(torch.tensor([value < 0]), no, no, significand, torch.tensor([lsb - 1]))
    return int(encode(number, fp32, get("rounding", "rne"), derive.arithmetic_entry(fp32))[0])
