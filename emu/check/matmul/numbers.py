"""Codes as exact integers times powers of two, in NumPy's 64-bit integers; one that would not fit is refused. Nothing is rounded here."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import OperandError
from emu.base.philox import stream_of, words
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts, IntegerFacts

Ints = NDArray[np.int64]
Bits = NDArray[Any]
NARROW: Final = 16  # bits of a format whose codes are listed
ROOM: Final = 62  # bits of an integer here


class Exact(NamedTuple):
    """Values n x 2^e, n odd or 0. nominal: exponent of the field, of a subnormal that of the smallest normal number; 0 where n is."""

    n: Ints
    e: Ints
    nominal: Ints


_tables: Cache[str, Exact] = Cache("emu.check.matmul.numbers._tables", 64)


def exact_of(codes: Bits, fmt: Format) -> Exact:
    """Return finite codes as exact numbers, shape of the codes. Raises: OperandError (NaN, Inf, a wide format that is no float)."""
    if derive.codes(fmt).bits > NARROW:
        return _wide(codes, fmt)
    table = _tables.get(fmt.facts_digest)
    if table is None:
        table = _tables.keep(fmt.facts_digest, _listed(fmt))
    at = np.asarray(codes).astype(np.int64)
    return Exact(table.n[at], table.e[at], table.nominal[at])


def _listed(fmt: Format) -> Exact:
    found = [_one(code, fmt) if derive.is_finite_code(code, fmt) else (0, 0, 0) for code in range(1 << derive.codes(fmt).bits)]
    n, e, nominal = (np.array(list(column), np.int64) for column in zip(*found, strict=True))
    return Exact(n, e, nominal)


def _one(code: int, fmt: Format) -> tuple[int, int, int]:
    value = decode_code(code, fmt)
    number: Fraction = Fraction(0) if value.is_zero else Fraction(value.signed)
    if not number:
        return 0, 0, 0
    n, e = number.numerator, 1 - number.denominator.bit_length()
    if number.denominator & (number.denominator - 1):
        raise OperandError(f"format {fmt.id}: code {code:#x} is no sum of powers of two")
    low = (n & -n).bit_length() - 1
    return n >> low, e + low, _nominal(abs(n).bit_length() - 1 + e, fmt)


def _nominal(top: int, fmt: Format) -> int:
    facts = fmt.facts
    if isinstance(facts, FloatFacts):
        return max(top, 1 - facts.bias) if facts.subnormals == "yes" else top
    return facts.unit_exp + facts.bits - 1 if isinstance(facts, IntegerFacts) else top


def _wide(codes: Bits, fmt: Format) -> Exact:
    facts = fmt.facts
    if not isinstance(facts, FloatFacts) or derive.codes(fmt).bits > 32:
        raise OperandError(f"format {fmt.id}: scales of this kind are not taken here: use a float format of at most 32 bits")
    whole = np.asarray(codes).astype(np.int64)
    field, fraction = whole >> facts.frac_bits & ((1 << facts.exp_bits) - 1), whole & ((1 << facts.frac_bits) - 1)
    if bool((field == (1 << facts.exp_bits) - 1).any()):
        raise OperandError(f"format {fmt.id}: a scale is no number")
    hidden = np.where(field > 0, 1 << facts.frac_bits, 0)
    n, e = fraction + hidden, np.maximum(field, 1) - facts.bias - facts.frac_bits
    sign = np.where(whole & derive.codes(fmt).sign_bit, -1, 1) if derive.codes(fmt).sign_bit else np.ones_like(whole)
    low = trailing_zeros(n)
    return Exact(sign * (n >> low), np.where(n == 0, 0, e + low), np.where(n == 0, 0, e + facts.frac_bits))


def trailing_zeros(n: Ints) -> Ints:
    """Return how many low bits of each integer are zero; 0 for 0."""
    lowest = np.where(n == 0, 1, n & -n).astype(np.float64)  # powers of two below 2^63: exact
    return np.asarray(np.frexp(lowest)[1] - 1, np.int64)


def bit_length(n: Ints) -> Ints:
    """Return the bits of each magnitude below 2^53."""
    return np.asarray(np.where(n == 0, 0, np.frexp(np.abs(n).astype(np.float64))[1]), np.int64)


def in_units(exact: Exact) -> tuple[Ints, Ints]:
    """Return a matrix as integers and the exponent of the unit of each row: the coarsest unit in which all of the row are integers.

    Raises: OperandError (a row spans more than ROOM / 2 bits).
    """
    none = exact.n == 0
    unit = np.where(none, 1 << 20, exact.e).min(axis=1) if exact.n.shape[1] else np.zeros(len(exact.n), np.int64)
    unit = np.where(none.all(axis=1), 0, unit)
    shift = np.where(none, 0, exact.e - unit[:, None])
    if exact.n.size and int((shift + bit_length(exact.n)).max()) > ROOM // 2:
        raise OperandError("a row of operands spans too many powers of two to be added exactly")
    return exact.n << shift, unit


def product(a: Ints, b: Ints) -> Ints:
    """Return a @ b.T in integers. Raises: OperandError (a sum could leave 62 bits)."""
    most = [int(np.abs(item).max()) if item.size else 0 for item in (a, b)]
    if most[0] * most[1] * max(a.shape[1], 1) >> ROOM:
        raise OperandError("sums of these operands do not fit 62 bits")
    # every partial sum is an integer below 2^53 in the first case, so binary64 holds it; else 64-bit integers do
    if most[0] * most[1] * max(a.shape[1], 1) < 1 << 53:
        return (a.astype(np.float64) @ b.T.astype(np.float64)).astype(np.int64)
    return a @ b.T


class Draws:
    """Numbers drawn from a key and a name, in order; the same for every machine."""

    def __init__(self, key: int, name: str) -> None:
        self.key, self.stream, self.at = key, stream_of(f"check matmul {name}"), 0

    def below(self, limit: int, *shape: int) -> Ints:
        """Return integers from 0 to limit - 1, limit at most 2^31."""
        count = math.prod(shape)
        drawn = words(self.key, count, self.at, self.stream)
        self.at += count
        return (drawn.astype(np.uint64) * np.uint64(limit) >> np.uint64(32)).astype(np.int64).reshape(shape)

    def chosen(self, table: Bits, *shape: int) -> Bits:
        """Return entries of a table."""
        return table[self.below(len(table), *shape)]
