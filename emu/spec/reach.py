"""What the finite codes of a format reach: exponents, the finest step, the largest magnitude and significand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
