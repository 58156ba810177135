"""Shifting and rounding of integers in a datapath: alignment of a term, and the last rounding to the result format."""

from __future__ import annotations

from fractions import Fraction

from emu.engines.exact.encode import encode_value
from emu.engines.exact.round import goes_up
from emu.engines.exact.value import Value, power_of_two
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get


def shift(significand: int, places: int, mode: str = "rz") -> int:
    """Return significand * 2^places as an integer; bits that fall off are rounded: rz on the magnitude, rd down, rne to nearest even."""
    if places >= 0:
        return significand << places
    if mode == "rd":
        return significand >> -places
    magnitude = abs(significand)
    kept, lost = magnitude >> -places, magnitude & ((1 << -places) - 1)
    half = 1 << (-places - 1)
    if mode == "rne" and (lost > half or (lost == half and kept & 1)):
        kept += 1
    return -kept if significand < 0 else kept


def round_sum(total: int, lsb_exp: int, plan: DatapathPlan, zero_sign: int = 0) -> int:
    """Return the code of total * 2^lsb_exp in the result format.

    Keeps round.keep fraction bits (fewer below the normal range), gradual subnormals, overflow as the datapath says.
    zero_sign: sign of an exact zero where special.zero is ieee; with plus every zero is +0, also one that a result vanished to.
    """
    facts, fmt = plan.facts, plan.d
    assert isinstance(fmt.facts, FloatFacts)
    rounding: Rounding = get("rounding", facts.round.mode)
    sign = int(total < 0) if total else zero_sign
    code = magnitude_code(abs(total), lsb_exp, sign, fmt, rounding, facts.round.keep) if total else 0
    codes = derive.codes(fmt)
    if code > codes.max_code:
        assert codes.inf is not None
        code = codes.inf if facts.round.overflow == "inf" else codes.max_code
    if facts.subnormal.result == "flush" and code >> fmt.facts.frac_bits == 0:
        code = 0
    if code == 0 and facts.special.zero == "plus":
        return 0
    return code | (codes.sign_bit if sign else 0)


def encode_result(value: Value, plan: DatapathPlan) -> int:
    """Return the code of a value of the result format; NaN is the datapath's own."""
    return plan.nan_code if value.kind == "nan" else encode_value(value, plan.d)


def magnitude_code(total: int, lsb_exp: int, sign: int, fmt: Format, rounding: Rounding, keep: int, random: int | None = None) -> int:
    """Return the magnitude code of total * 2^lsb_exp, total > 0, with `keep` fraction bits kept: unbounded above.

    random: the random integer, for a rounding that draws.
    """
    facts = fmt.facts
    assert isinstance(facts, FloatFacts)
    exp = max(total.bit_length() - 1 + lsb_exp, 1 - facts.bias)
    unit_exp = exp - keep
    units = total * power_of_two(lsb_exp - unit_exp)
    whole = units.numerator // units.denominator
    ulp = power_of_two(unit_exp)
    whole += goes_up(units - whole, ulp, Fraction(total) * power_of_two(lsb_exp), sign, whole % 2 == 1, rounding, random)
    significand = whole << (facts.frac_bits - keep)
    hidden = 1 << facts.frac_bits
    return significand if significand < hidden else ((exp + facts.bias) << facts.frac_bits) + significand - hidden
