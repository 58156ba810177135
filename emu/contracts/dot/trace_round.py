"""The last rounding of a dot product, told: which bits are kept, what is lost, whether it carried or overflowed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.contracts.text import code_text, dyadic, meaning, value_of
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models.format import FloatFacts


def rounding_of(total: int, lsb_exp: int, code: int, plan: DatapathPlan) -> dict[str, Any]:
    """Return how total * 2^lsb_exp became a result code.

    mode, kept_bits: of the significand, hidden bit included (fewer below the normal range).   unit_exp: of the last kept bit.
    kept, lost_part: the integer that is kept, and the rest as zero, less (than half), half or more.   lost: result minus exact sum.
    up: was the kept integer raised.   carry: did that lengthen it.   subnormal, overflow, zero: of the result.
    """
    facts = plan.d.facts
    assert isinstance(facts, FloatFacts)
    magnitude, keep = abs(total), plan.facts.round.keep
    lowest = 1 - facts.bias
    exp = magnitude.bit_length() - 1 + lsb_exp if magnitude else lowest
    unit_exp = max(exp, lowest) - keep
    kept, lost_part = _cut(magnitude, unit_exp - lsb_exp)
    out: dict[str, Any] = {"mode": plan.facts.round.mode, "exact": dyadic(total * power_of_two(lsb_exp)), "unit_exp": unit_exp}
    out |= {"kept": f"{kept:b}", "kept_bits": kept.bit_length(), "lost_part": lost_part, "subnormal": bool(magnitude) and exp < lowest}
    out |= {"overflow": False, "up": False, "carry": False, "lost": "0"}
    result = value_of(code, plan.d)
    largest = derive.codes(plan.d).max_code
    beyond = result.kind == "inf" or kept * power_of_two(unit_exp) > value_of(largest, plan.d).magnitude
    if beyond:
        out["overflow"] = True
    if result.kind == "finite":
        units = result.magnitude / power_of_two(unit_exp)
        out["up"] = units > kept and not beyond
        out["carry"] = bool(out["up"]) and (kept + 1).bit_length() > kept.bit_length() and kept > 0
        out["lost"] = dyadic(Fraction(result.signed) - total * power_of_two(lsb_exp))
    return out | {"result": code_text(code, plan.d), "value": meaning(code, plan.d)}


def _cut(magnitude: int, places: int) -> tuple[int, str]:
    """Return the integer in units of the last kept bit, and what lies below it."""
    if places <= 0:
        return magnitude << -places, "zero"
    kept, rest = magnitude >> places, magnitude & ((1 << places) - 1)
    half = 1 << (places - 1)
    return kept, "zero" if not rest else "less" if rest < half else "half" if rest == half else "more"
