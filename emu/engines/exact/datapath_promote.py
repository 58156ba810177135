"""promote: binary32 block scales. acc = C; for each block: acc = acc + P * (scale a * scale b), each operation rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from emu.engines.exact.arithmetic import add, multiply, round_result
from emu.engines.exact.datapath_round import encode_result
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.datapath_terms import decode_operand, group_sum, products_of
from emu.engines.exact.value import finite, power_of_two
from emu.spec.datapath import DatapathPlan
from emu.spec.models.datapath import PromoteFacts
from emu.spec.registry import get


def promote_block(a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], acc: int, plan: DatapathPlan) -> Step:
    """Return the step of one block. scale_a, scale_b: one code per element, the same for all.   acc: code of the running sum.

    The sum of products is exact; a sum of 0 is +0. NaN and infinity by the rules of the three operations.
    """
    facts = plan.facts.promote
    assert isinstance(facts, PromoteFacts) and plan.scale is not None
    sub = plan.facts.subnormal
    product, term, last = (get("rounding", name) for name in (facts.scale_product, facts.term, facts.acc))
    total = group_sum(products_of(a, b, plan), plan)
    part = finite(Fraction(total) * power_of_two(plan.product_exp - plan.product_frac_bits))
    scales = [decode_operand(codes[0], plan.scale, sub.scales) for codes in (scale_a, scale_b)]
    scale = round_result(multiply(*scales), plan.d, product)
    before = decode_operand(acc, plan.c, sub.c)
    exact = multiply(part, scale)
    rounded = round_result(exact, plan.d, term)
    after = round_result(add(before, exact if facts.fused == "yes" else rounded, last), plan.d, last)
    codes = [encode_result(value, plan) for value in (part, scale, rounded, after)]
    return Step(code=codes[3], parts=[codes[0]], scale_codes=[codes[1]], term_codes=[codes[2]])
