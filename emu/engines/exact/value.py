"""The numbers of the reference model: an exact rational with a sign that zero keeps, infinity, or NaN."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from emu.base.caches import bounded

ZERO: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Value:
    """One exact value.

    kind: finite, inf or nan.   sign: 1 for negative (also of zero, Inf and NaN).   magnitude: exact, 0 unless finite.
    """

    kind: Literal["finite", "inf", "nan"]
    sign: int
    magnitude: Fraction = ZERO

    def __hash__(self) -> int:
        """Hash the two parts of the magnitude: in lowest terms they are as good as its own hash, which takes an inverse modulo a prime."""
        return hash((self.kind, self.sign, self.magnitude.numerator, self.magnitude.denominator))

    @property
    def signed(self) -> Fraction:
        """The rational number; only for finite values."""
        return -self.magnitude if self.sign else self.magnitude

    @property
    def is_zero(self) -> bool:
        """True for +0 and -0."""
        return self.kind == "finite" and not self.magnitude


NAN: Final = Value("nan", 0)


def finite(number: Fraction, zero_sign: int = 0) -> Value:
    """Return the value of a rational; zero_sign is the sign of a zero."""
    if not number:
        return Value("finite", zero_sign)
    return Value("finite", int(number < 0), abs(number))


def less(a: Value, b: Value) -> bool:
    """Tell whether a < b; false when either is NaN; -0 equals +0."""
    if a.kind == "nan" or b.kind == "nan":
        return False
    return _key(a) < _key(b)


def equal(a: Value, b: Value) -> bool:
    """Tell whether a = b; false when either is NaN; -0 equals +0."""
    return a.kind != "nan" and b.kind != "nan" and _key(a) == _key(b)


def _key(a: Value) -> tuple[int, Fraction]:
    if a.kind == "inf":
        return (-1, ZERO) if a.sign else (1, ZERO)
    return (0, a.signed)


@bounded(4096)
def power_of_two(exp: int) -> Fraction:
    """Return 2^exp."""
    return Fraction(1 << exp) if exp >= 0 else Fraction(1, 1 << -exp)
