"""log2, correctly rounded: the logarithm of a rational between two fractions, as close as the rounding needs."""

from __future__ import annotations

from fractions import Fraction

from emu.engines.exact.convert import convert_value
from emu.engines.exact.round import floor_log2
from emu.engines.exact.value import NAN, Value, finite, power_of_two
from emu.spec import derive
from emu.spec.models import Format, Rounding

FIRST_BITS = 64


def logarithm_of(a: Value, to: Format, rounding: Rounding) -> Value:
    """Return log2(a): exact where a is a power of two, else a value that rounds to `to` as the logarithm does.

    Of zero -Inf, of +Inf +Inf, of a negative number and NaN NaN. The logarithm of a rational that is no power of two is irrational: it is
    never a number of the format and never a tie, so an interval that is small enough rounds to one code.
    """
    if a.is_zero:
        return Value("inf", 1)
    if a.kind == "nan" or a.sign:
        return NAN
    if a.kind == "inf":
        return a
    exp = floor_log2(a.magnitude)
    if a.magnitude == power_of_two(exp):
        return finite(Fraction(exp))
    bits, entry = FIRST_BITS, derive.arithmetic_entry(to)
    while True:
        low, high = (finite(exp + end) for end in bounds(a.magnitude / power_of_two(exp), bits))
        if convert_value(low, to, rounding, entry) == convert_value(high, to, rounding, entry):
            return low
        bits *= 2


def bounds(number: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return two fractions between which log2 of a number above 1 and below 2 lies, about 2^-bits apart.

    Digit by digit: y = number; each digit says whether y * y reaches 2, and then y * y / 2 goes on. y is kept between two integers.
    """
    size = 2 * bits
    two = 2 << size
    low = (number.numerator << size) // number.denominator
    high, digits, count = low + 1, 0, 0
    while count < bits:
        low, high = low * low >> size, -(-high * high >> size)
        if low < two < high:
            break
        digit = int(low >= two)
        if digit:
            low, high = low >> 1, -(-high >> 1)
        digits, count = 2 * digits + digit, count + 1
    unit = power_of_two(-count)
    return digits * unit, (digits + 1) * unit
