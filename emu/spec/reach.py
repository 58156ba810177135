"""What the finite codes of a format reach: exponents, the finest step, the largest magnitude and significand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from emu.base.caches import Cache
from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts


@dataclass(frozen=True)
class Reach:
    """What the finite codes of a format can reach.

    lsb_exp: every value is a multiple of 2^lsb_exp.   min_exp, max_exp: exponents that codes name (subnormals: the lowest).
    largest: largest magnitude.   significand: largest |value| * 2^-(its exponent).
    """

    lsb_exp: int
    min_exp: int
    max_exp: int
    largest: Fraction
    significand: Fraction


_reaches: Cache[str, Reach] = Cache("emu.spec.reach._reaches", 4096)


def reach(fmt: Format) -> Reach:
    """Return what a format can reach. Raises: SpecError (a codebook has no exponents)."""
    found = _reaches.get(fmt.facts_digest)
    return found if found is not None else _reaches.keep(fmt.facts_digest, _reach(fmt))


def _reach(fmt: Format) -> Reach:
    facts, codes = fmt.facts, derive.codes(fmt)
    if isinstance(facts, CodebookFacts):
        raise SpecError(f"{fmt.id} is a codebook: its codes name no exponent")
    if isinstance(facts, IntegerFacts):
        top = Fraction(codes.max_code + int(derive.is_twos_complement(fmt)))
        unit = Fraction(2) ** facts.unit_exp
        return Reach(facts.unit_exp, facts.unit_exp, facts.unit_exp, top * unit, top)
    if isinstance(facts, ExponentFacts):
        first = min(code for code in range(codes.max_code + 1) if code not in codes.nan) - facts.bias
        last = codes.max_code - facts.bias
        return Reach(first, first, last, Fraction(2) ** last, Fraction(1))
    return _float_reach(facts, codes)


def _float_reach(facts: FloatFacts, codes: derive.Codes) -> Reach:
    unit, lowest = Fraction(1, 1 << facts.frac_bits), (1 if facts.subnormals == "yes" else 0) - facts.bias
    exp_field, fraction = codes.max_code >> facts.frac_bits, codes.max_code & ((1 << facts.frac_bits) - 1)
    normal = exp_field > 0 or facts.subnormals == "no"
    top = (int(normal) + fraction * unit) * Fraction(2) ** max(exp_field - facts.bias, lowest)
    full = 1 << facts.frac_bits
    first = int(facts.subnormals == "yes")  # the least field of normal numbers
    whole = exp_field > first or (exp_field == first and fraction == full - 1)
    significand = 2 - unit if whole else max(first * (1 - unit), int(normal) + fraction * unit)
    return Reach(lowest - facts.frac_bits, lowest, max(exp_field - facts.bias, lowest), top, significand)


def frac_bits_of(fmt: Format) -> int:
    """Return the fraction bits of the significand that a code names; 0 for integers and powers of two."""
    return fmt.facts.frac_bits if isinstance(fmt.facts, FloatFacts) else 0


C_BELOW = 2  # |C| < 2 * 2^(its exponent)


def aligned_sum(terms: int, one: Fraction | None, raised: int, frac_bits: int | None, rounds_up: bool) -> Fraction:
    """Return what no sum of aligned terms exceeds, in units of 2^E.

    one: largest magnitude of a term over 2^(the exponent that it names); None where that is normalised: below 2.   raised: added to those.
    frac_bits: F, None where nothing is cut.   rounds_up: a term that is cut may gain a unit, 2^(E - F).
    """
    total = terms * (Fraction(2) if one is None else one) / Fraction(2) ** raised
    return total + Fraction(terms, 1 << frac_bits) if rounds_up and frac_bits is not None else total


def bits_beside_c(total: Fraction) -> int:
    """Return the integer bits of a sum of terms, as aligned_sum has it, and a C that is a float."""
    return (math.ceil(total + C_BELOW) - 1).bit_length()


def times(x: Reach, y: Reach) -> Reach:
    """Return what products reach."""
    return Reach(x.lsb_exp + y.lsb_exp, x.min_exp + y.min_exp, x.max_exp + y.max_exp, x.largest * y.largest, x.significand * y.significand)


class Extent(NamedTuple):
    """How far an addition goes: what a shortcut that holds its numbers in fewer bits, or in binary64, asks before it is taken.

    unit: every term, the running value and the sum are multiples of 2^unit before anything is cut.   top: all of them lie below 2^top, also
    rounded up.   low, high: E where something names it, least and largest; 0 where nothing is aligned.   grid: E - F, least and largest.
    """

    unit: int
    top: int
    low: int = 0
    high: int = 0
    grid: tuple[int, int] = (0, 0)


def extent(
    terms: int,
    values: Reach,
    running: Reach | None,
    frac_bits: int | None = None,
    *,
    raised: int = 0,
    normalised: bool = False,
    floor: int | None = None,
    adder_bits: int = 0,
) -> Extent:
    """Return how far an addition of terms goes.

    values: what a term reaches.   running: what the running value or C does, or None.   frac_bits: F, None: nothing is aligned.
    raised: added to the exponents of terms.   normalised: those are of leading bits.   floor: least E.   adder_bits: of a sum that wraps.
    """
    unit = values.lsb_exp if running is None else min(values.lsb_exp, running.lsb_exp)
    largest = terms * values.largest + (Fraction(0) if running is None else running.largest)
    if frac_bits is None:
        return Extent(unit, _above(largest))
    low, high = (values.lsb_exp, _above(values.largest) - 1) if normalised else (values.min_exp, values.max_exp)
    low, high = low + raised, high + raised
    if running is not None:
        low, high = min(low, running.min_exp), max(high, running.max_exp)
    if floor is not None:
        low, high = max(low, floor), max(high, floor)
    grid = low - frac_bits, high - frac_bits
    largest += (terms + 1) * Fraction(2) ** grid[1]
    return Extent(unit, max(_above(largest), grid[1] + adder_bits), low, high, grid)


def _above(number: Fraction) -> int:
    """Return an exponent of a power of two that a number which is not negative lies below, at most twice the number."""
    return number.numerator.bit_length() - number.denominator.bit_length() + 1
