"""Codes of one format as the rows of dot products need them: by exponent, by value, largest, negated; and the draws that choose them.

Draws are Philox4x32-10 words of one row, taken one after another: no floats, no state outside a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeVar

from emu.base import philox
from emu.base.caches import bounded, lazy
from emu.contracts.suites import SEED
from emu.engines.exact.datapath_terms import decode_triple
from emu.engines.exact.round import locate
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.reach import frac_bits_of, reach

NARROW = 8  # bits: formats up to this have tables


class Codes:
    """Codes of a format. min_exp, max_exp: exponents that codes name.   lsb_exp: every value is a multiple of 2^lsb_exp."""

    def __init__(self, fmt: Format) -> None:
        self.fmt, known, far = fmt, derive.codes(fmt), reach(fmt)
        self.bits, self.sign_bit, self.max_code = known.bits, known.sign_bit, known.max_code
        self.nan, self.has_zero = known.nan, known.has_zero
        self.inf = () if known.inf is None else (known.inf, known.inf | known.sign_bit)
        self.min_exp, self.max_exp, self.lsb_exp = far.min_exp, far.max_exp, far.lsb_exp
        self.frac_bits, self.twos = frac_bits_of(fmt), derive.is_twos_complement(fmt)
        self.unused = derive.unused_high_bits(fmt)
        self.full = (1 << self.frac_bits) - 1

    def exponent(self, code: int) -> int:
        """Return the exponent that a code names."""
        return decode_triple(code, self.fmt, "keep").exp

    def value(self, code: int) -> Fraction:
        """Return the value of a finite code."""
        return _value(code, self.fmt)

    def is_finite(self, code: int) -> bool:
        """Tell whether a code is a number."""
        return derive.is_finite_code(code, self.fmt)

    def negated(self, code: int) -> int:
        """Return the code of the negative number; a code without one stays."""
        if self.twos:
            return code if code == 1 << (self.bits - 1) else -code & ((1 << self.bits) - 1)
        other = code ^ self.sign_bit
        return other if derive.is_finite_code(other, self.fmt) else code

    def signed(self, magnitude: int, sign: int) -> int:
        """Return a magnitude code with a sign; an unsigned format drops it."""
        return self.negated(magnitude) if sign else magnitude

    def any(self, draw: Draw) -> int:
        """Return a finite code, uniform over the bit patterns."""
        while True:
            code = draw.bits(self.bits)
            if self.is_finite(code):
                return code

    def nonzero(self, draw: Draw) -> int:
        """Return a finite code that is not zero."""
        while True:
            code = self.any(draw)
            if self.value(code):
                return code

    def zero(self, draw: Draw) -> int:
        """Return +0 or -0; +0 where there is no other."""
        return self.signed(0, draw.bits(1))

    def at(self, exp: int, fraction: int = 0, sign: int = 0) -> int:
        """Return the code of (1 + fraction / 2^frac_bits) * 2^exp, the exponent clamped to what the format has."""
        exp = min(max(exp, self.min_exp), self.max_exp)
        if self.frac_bits == 0 and not self.sign_bit and not self.twos:
            return exp - self.min_exp
        magnitude = locate(power_of_two(exp) * (1 + Fraction(fraction, 1 << self.frac_bits)), self.fmt).code
        return self.signed(min(magnitude, self.max_code), sign)

    def below(self, value: Fraction) -> int:
        """Return the code of a number rounded toward zero, no larger than the largest."""
        code = min(locate(abs(value), self.fmt).code, self.max_code)
        return self.signed(code, int(value < 0))

    def nearest(self, value: Fraction) -> int:
        """Return the code of a number rounded to nearest (half up in magnitude), no larger than the largest."""
        place = locate(abs(value), self.fmt)
        return self.signed(min(place.code + (2 * place.lost >= 1), self.max_code), int(value < 0))

    def power(self, exp: int) -> int | None:
        """Return the code of 2^exp, subnormal or not; None where there is none."""
        if not self.lsb_exp <= exp <= self.max_exp:
            return None
        place = locate(power_of_two(exp), self.fmt)
        found = not place.lost and place.code <= self.max_code and self.value(place.code) == power_of_two(exp)
        return place.code if found else None

    def odd(self, draw: Draw) -> int:
        """Return a code whose value is an odd multiple of the finest value; any but zero of a wide format."""
        while True:
            code = self.nonzero(draw)
            if self.bits > NARROW or self.value(code) / power_of_two(self.lsb_exp) % 2:
                return code

    def low(self, draw: Draw) -> int:
        """Return a code of the lowest exponent: subnormal, where there are such, or normal."""
        return draw.of(self.subnormals) if self.subnormals and draw.chance(70) else self.at(self.min_exp, draw.bits(self.frac_bits))

    @lazy
    def powers(self) -> tuple[int, ...]:
        """The exponents of all powers of two that are values."""
        return tuple(exp for exp in range(self.lsb_exp, self.max_exp + 1) if self.power(exp) is not None)

    @lazy
    def one(self) -> int:
        """The code of 1."""
        code = self.power(0)
        assert code is not None
        return code

    @lazy
    def largest(self) -> int:
        """The code of the largest magnitude; -8 in a two's complement format of 4 bits."""
        return 1 << (self.bits - 1) if self.twos else self.max_code

    @lazy
    def significand_full(self) -> int:
        """The largest finite code whose fraction is all ones; the largest code where there is none."""
        code = self.max_code | self.full
        while not self.is_finite(code) or code > self.max_code:
            code -= 1 << self.frac_bits
            if code < 0:
                return self.max_code
        return code

    @lazy
    def subnormals(self) -> tuple[int, ...]:
        """Some subnormal codes: all of a narrow format, the ends of a wide one."""
        if self.frac_bits == 0 or self.lsb_exp == self.min_exp:
            return ()
        top = 1 << self.frac_bits
        return tuple(range(1, top)) if self.bits <= NARROW else (1, 2, 3, top // 2, top - 2, top - 1)


@bounded(1 << 14)
def _value(code: int, fmt: Format) -> Fraction:
    triple = decode_triple(code, fmt, "keep")
    return triple.significand * power_of_two(triple.exp - triple.frac_bits)


PER_ROW: Final = 1 << 14  # words that a row may take
STEP: Final = 256
Item = TypeVar("Item")


class Draw:
    """The random words of one row. stream: names the list of rows.   row: its number."""

    def __init__(self, stream: int, row: int) -> None:
        self.stream, self.start, self.used = stream, row * PER_ROW, 0
        self.held: list[int] = []

    def word(self) -> int:
        """Return the next 32-bit word."""
        if self.used == len(self.held):
            self.held += philox.words(SEED, STEP, self.start + self.used, self.stream).tolist()
        self.used += 1
        return self.held[self.used - 1]

    def below(self, count: int) -> int:
        """Return an integer of 0 .. count - 1; count up to 2^64."""
        wide = self.word() if count <= 1 << 16 else self.word() << 32 | self.word()
        return wide * count >> (32 if count <= 1 << 16 else 64)

    def between(self, low: int, high: int) -> int:
        """Return an integer of low .. high; low where the range is empty."""
        return low + self.below(max(1, high - low + 1))

    def chance(self, percent: int) -> bool:
        """Return true in `percent` of 100 draws."""
        return self.below(100) < percent

    def bits(self, count: int) -> int:
        """Return an integer of `count` bits."""
        return self.below(1 << count)

    def of(self, items: Sequence[Item]) -> Item:
        """Return one of some things."""
        return items[self.below(len(items))]

    def some(self, count: int, wanted: int) -> list[int]:
        """Return `wanted` different places of 0 .. count - 1, in random order."""
        places = list(range(count))
        for i in range(min(wanted, count)):
            j = self.between(i, count - 1)
            places[i], places[j] = places[j], places[i]
        return places[:wanted]

    def normal(self) -> int:
        """Return a number of mean 0 and standard deviation 256: twelve bytes added, the nearest thing to a normal draw in integers."""
        total = 0
        for _ in range(3):
            word = self.word()
            total += sum(word >> shift & 255 for shift in (0, 8, 16, 24))
        return total - 1530
