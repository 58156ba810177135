"""round: value -> grid without a maximum. The rule sees the discarded part, the sign, the parity of the code and the random bits only."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from emu.base.errors import OperandError, SpecError
from emu.engines.exact.decode import magnitude_of
from emu.engines.exact.value import Value, power_of_two
from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.rounding import LostPart
from emu.spec.registry import get

HALF = Fraction(1, 2)


class Position(NamedTuple):
    """A magnitude on an unbounded grid: the code at or below it, the discarded part in [0, 1), and the ulp there."""

    code: int
    lost: Fraction
    ulp: Fraction


def floor_log2(magnitude: Fraction) -> int:
    """Return floor(log2(magnitude)) of a positive rational, by integers."""
    exp = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exp if power_of_two(exp) <= magnitude else exp - 1


def locate(magnitude: Fraction, fmt: Format) -> Position:
    """Return where a magnitude lies on the grid of a float, integer or exponent format that has no maximum.

    A format without zero has nothing below its smallest value: everything there, zero too, sits on code 0.
    """
    facts = fmt.facts
    if isinstance(facts, CodebookFacts):
        raise SpecError(f"{fmt.id} is a codebook: its grid does not go on above the maximum")
    if isinstance(facts, IntegerFacts):
        ulp = power_of_two(facts.unit_exp)
        units = magnitude / ulp
        whole = units.numerator // units.denominator
        return Position(whole, units - whole, ulp)
    if not derive.codes(fmt).has_zero and magnitude <= magnitude_of(0, facts):
        return Position(0, Fraction(0), magnitude_of(1, facts) - magnitude_of(0, facts))
    if isinstance(facts, ExponentFacts):
        exp = floor_log2(magnitude)
        return Position(exp + facts.bias, magnitude / power_of_two(exp) - 1, power_of_two(exp))
    return _locate_float(magnitude, facts)


def _locate_float(magnitude: Fraction, facts: FloatFacts) -> Position:
    lowest = 1 - facts.bias if facts.subnormals == "yes" else -facts.bias
    exp = max(floor_log2(magnitude), lowest) if magnitude else lowest
    ulp = power_of_two(exp - facts.frac_bits)
    units = magnitude / ulp
    significand = units.numerator // units.denominator
    hidden = 1 << facts.frac_bits
    code = significand if significand < hidden else ((exp + facts.bias) << facts.frac_bits) + significand - hidden
    return Position(code, units - significand, ulp)


def round_magnitude(magnitude: Fraction, sign: int, fmt: Format, rounding: Rounding, random: int | None = None) -> int:
    """Return the unbounded magnitude code that a magnitude rounds to; it may exceed the format's largest.

    sign: 1 for negative.   random: the random integer of the element, for a rounding that draws.
    Raises: OperandError (random missing, unwanted or too wide), SpecError (codebook).
    Source: facts/rounding of the mode.   Tests: tests/engines/exact/test_exact_convert.py.
    """
    check_random(rounding, random)
    place = locate(magnitude, fmt)
    if rounding.facts.add == "te_fma":
        return _te_fma(magnitude, place, fmt, rounding, random)
    return place.code + goes_up(place.lost, place.ulp, magnitude, sign, place.code % 2 == 1, rounding, random)


def check_random(rounding: Rounding, random: int | None) -> None:
    """Check that a random integer is there exactly when the mode draws, and fits. Raises: OperandError."""
    bits = rounding.random_bits
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs a random operand of {bits} bits" if bits else "draws nothing: leave random out")
        )
    if random is not None and not 0 <= random < 1 << bits:
        raise OperandError(f"random {random} does not fit the {bits} bits of {rounding.id}")


def goes_up(lost: Fraction, ulp: Fraction, magnitude: Fraction, sign: int, odd: bool, rounding: Rounding, random: int | None) -> bool:
    """Tell whether the code above is taken.

    lost: discarded part in [0, 1) of an ulp.   odd: is the lower code odd.   random: checked by the caller.
    """
    facts = rounding.facts
    if not lost:
        return False
    if facts.add is not None:
        assert random is not None
        return _random_up(lost, facts.add, rounding.random_bits, random)
    rule = facts.magnitude or (facts.negative if sign else facts.positive)
    assert isinstance(rule, LostPart)
    choice = rule.less_than_half if lost < HALF else rule.half if lost == HALF else rule.more_than_half
    return {"keep": False, "next": True, "to_even_code": odd, "to_odd_code": not odd}[choice]


def _random_up(lost: Fraction, add: str, bits: int, random: int) -> bool:
    """add: the top `bits` of the lost part plus random carry; cmp: random below it; half, nearest: rounded first, ties up or to even."""
    scaled = lost * (1 << bits)
    if add == "cmp":
        return random < scaled
    if add == "half":
        return scaled + random + HALF >= 1 << bits
    if add == "nearest":
        return round(scaled) + random >= 1 << bits
    return scaled.numerator // scaled.denominator + random >= 1 << bits


def _te_fma(magnitude: Fraction, place: Position, fmt: Format, rounding: Rounding, random: int | None) -> int:
    """Software rounder: one binary32 fma adds random * ulp / 2^bits to the magnitude, then the sum is cut to the grid."""
    if not place.lost:
        return place.code
    fp32: Format = get("format", "fp32")
    total = magnitude + place.ulp * Fraction(random or 0, 1 << rounding.random_bits)
    code = round_magnitude(total, 0, fp32, get("rounding", "rne"))
    assert not isinstance(fp32.facts, CodebookFacts)
    return locate(magnitude_of(code, fp32.facts), fmt).code


def round_value(value: Value, fmt: Format, rounding: Rounding, random: int | None = None) -> Value:
    """Return a value rounded to the grid of a format continued without a maximum; NaN and Inf stay.

    Raises: as round_magnitude.
    """
    if value.kind != "finite":
        check_random(rounding, random)
        return value
    code = round_magnitude(value.magnitude, value.sign, fmt, rounding, random)
    assert not isinstance(fmt.facts, CodebookFacts)
    return Value("finite", value.sign, magnitude_of(code, fmt.facts))
