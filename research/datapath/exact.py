"""Dot products of quantized operands without any rounding, in integers, and how far a result lies from them.

Independent of every datapath engine: only the values of codes are taken from the spec. Not here: which operands (datapath_errors.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.decode import decode_code
from emu.ops.operands import Operand
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.reach import reach

WORD = 62  # bits that a sum may have in int64


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Exact sums. numbers: Python integers [M, N], in units of 2^lsb_exp."""

    numbers: NDArray[Any]
    lsb_exp: int

    def values(self) -> NDArray[Any]:
        """Return the sums in binary64, each rounded once."""
        return np.array([_float(number, self.lsb_exp) for number in self.numbers.reshape(-1)]).reshape(self.numbers.shape)


def exact_sums(a: Operand, b: Operand) -> ExactSums:
    """Return the exact dot product of every row of A with every row of B, tensor multipliers left out.

    a, b: one element format and block size along K each.   Raises: ShapeError (K or blocks differ).
    """
    if a.codes.shape[1] != b.codes.shape[1] or a.block != b.block:
        raise ShapeError(f"K {a.codes.shape[1]} and {b.codes.shape[1]}, blocks of {a.block} and {b.block}: they must be equal")
    size = a.block or a.codes.shape[1]
    left, right = (_elements(item).reshape(len(item.codes), -1, size).transpose(1, 0, 2) for item in (a, b))
    groups = np.matmul(left, right.transpose(0, 2, 1))  # int64 [blocks, M, N], exact: few bits each
    lsb_exp = reach(a.format).lsb_exp + reach(b.format).lsb_exp
    if a.scales is None or b.scales is None:
        return ExactSums(groups.sum(axis=0).astype(object), lsb_exp)
    (sig_a, exp_a), (sig_b, exp_b) = _scales(a), _scales(b)
    exps = exp_a.T[:, :, None] + exp_b.T[:, None, :]
    least = int(exps.min())
    shifts = exps - least
    bits = int(np.abs(groups).max()).bit_length() + int(sig_a.max()).bit_length() + int(sig_b.max()).bit_length() + int(shifts.max())
    if bits + len(groups).bit_length() > WORD:
        groups, sig_a, sig_b, shifts = (item.astype(object) for item in (groups, sig_a, sig_b, shifts))
    terms = groups * (sig_a.T[:, :, None] * sig_b.T[:, None, :]) << shifts
    return ExactSums(terms.sum(axis=0).astype(object), lsb_exp + least)


def _elements(item: Operand) -> NDArray[Any]:
    """Return elements as integers in units of the format's finest value."""
    unit = Fraction(2) ** reach(item.format).lsb_exp
    table = [int(decode_code(code, item.format).signed / unit) for code in range(1 << derive.codes(item.format).bits)]
    found: NDArray[Any] = np.array(table, np.int64)[item.codes]
    return found


def _scales(item: Operand) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scales as (odd or zero integer, exponent): value = integer * 2^exponent."""
    assert item.scales is not None and item.scale_format is not None
    table = {int(code): _odd(decode_code(int(code), item.scale_format).signed) for code in np.unique(item.scales)}
    pairs = np.array([table[int(code)] for code in item.scales.reshape(-1)], np.int64).reshape(*item.scales.shape, 2)
    return pairs[..., 0], pairs[..., 1]


def _odd(value: Fraction) -> tuple[int, int]:
    if not value:
        return 0, 0
    twos = (value.numerator & -value.numerator).bit_length() - 1
    return value.numerator >> twos, twos - (value.denominator.bit_length() - 1)


def _float(number: int, exp: int) -> float:
    """Return number * 2^exp rounded once."""
    return float(number << exp) if exp >= 0 else number / (1 << -exp)


@dataclass(frozen=True)
class Errors:
    """How far results lie from exact sums.

    relative: root of (sum of squared errors / sum of squared exact values).   largest_ulp, rms_ulp, mean_ulp: of (result - exact) in ulps
    of the exact value in the result format, mean with the sign turned so that it is negative toward zero.   nearest: share of results
    that are the exact value rounded once to nearest even.   outputs: how many. Exact zeros have no ulp: they are left out of those three.
    """

    relative: float
    largest_ulp: float
    rms_ulp: float
    mean_ulp: float
    nearest: float
    outputs: int


def errors(codes: NDArray[Any], exact: ExactSums, fmt: Format | str) -> Errors:
    """Compare results with exact sums. Every difference is exact; only the statistics are binary64.

    codes: [M, N] of fmt.   Raises: OperandError (NaN or Inf among them).
    """
    model: Format = get("format", fmt)
    table: dict[int, Fraction] = {}
    squares, wholes, ulps = [], [], []
    hits = 0
    for code, number in zip(codes.reshape(-1).tolist(), exact.numbers.reshape(-1), strict=True):
        if code not in table:
            table[code] = _finite(code, model)
        result, lsb = _odd(table[code])
        low = min(lsb, exact.lsb_exp)
        lost = (result << lsb - low) - (number << exact.lsb_exp - low)
        ulp = ulp_exp(number, exact.lsb_exp, model)
        squares.append(_float(lost, low) ** 2)
        wholes.append(_float(number, exact.lsb_exp) ** 2)
        if number:
            ulps.append(_float(lost if number > 0 else -lost, low - ulp))
        hits += Fraction(result) * Fraction(2) ** (lsb - ulp) == rounded(number, exact.lsb_exp, ulp)
    count = max(len(ulps), 1)
    return Errors(
        math.sqrt(math.fsum(squares) / math.fsum(wholes)),
        max(map(abs, ulps), default=0.0),
        math.sqrt(math.fsum(item * item for item in ulps) / count),
        math.fsum(ulps) / count,
        hits / codes.size,
        codes.size,
    )


def _finite(code: int, fmt: Format) -> Fraction:
    value = decode_code(code, fmt)
    if value.kind != "finite":
        raise OperandError(f"a result is {value.kind}, {fmt.id} code {code:#x}: only finite ones have an error")
    return value.signed


def ulp_exp(number: int, lsb_exp: int, fmt: Format) -> int:
    """Return the exponent of the spacing of a float format at number * 2^lsb_exp, gradual underflow included."""
    spacing = reach(fmt)
    frac_bits = spacing.min_exp - spacing.lsb_exp
    if not number:
        return spacing.lsb_exp
    return max(abs(number).bit_length() - 1 + lsb_exp, spacing.min_exp) - frac_bits


def rounded(number: int, number_exp: int, ulp: int, toward_zero: bool = False) -> int:
    """Return number * 2^number_exp as a whole number of 2^ulp: to nearest even, or toward zero."""
    low = min(number_exp, ulp)
    unit = 1 << ulp - low
    whole, rest = divmod(abs(number) << number_exp - low, unit)
    if not toward_zero and (2 * rest > unit or (2 * rest == unit and whole & 1)):
        whole += 1
    return -whole if number < 0 else whole
