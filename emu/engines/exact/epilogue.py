"""epilogue: tensor scales and C after the last instruction. Binary32, each operation rounded once."""

from __future__ import annotations

from fractions import Fraction

from emu.engines.exact.arithmetic import add, multiply, round_result
from emu.engines.exact.datapath_round import encode_result
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import code_of_one
from emu.engines.exact.value import finite
from emu.spec.datapath import DatapathPlan
from emu.spec.models.levels import EpilogueFacts
from emu.spec.registry import get


def alpha_code(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return alpha = round(scale a * scale b): binary32 codes of the multipliers in, code out. Once per matmul."""
    product = multiply(decode_code(scale_a, plan.d), decode_code(scale_b, plan.d))
    return encode_result(round_result(product, plan.d, get("rounding", facts.alpha)), plan)


def epilogue(d: int, alpha: int, c: int | None, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return the code of alpha * D, then + C where the epilogue adds it (c None: nothing to add, or C was in the dot product).

    d, alpha, c: binary32 codes.   fused yes: one rounding for product and sum.   Zeros as IEEE 754 has them; NaN is the datapath's.
    Source: the datapath's sources.   Tests: tests/engines/exact/test_exact_datapath.py.
    """
    rounding = get("rounding", facts.d)
    product = multiply(decode_code(alpha, plan.d), decode_code(d, plan.d))
    if c is None:
        return encode_result(round_result(product, plan.d, rounding), plan)
    scaled = product if facts.fused == "yes" else round_result(product, plan.d, rounding)
    return encode_result(round_result(add(scaled, decode_code(c, plan.d), rounding), plan.d, rounding), plan)


def factor_code(factor: Fraction, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return the code of the exact product of both blocks' factors, rounded once as alpha is."""
    return encode_result(round_result(finite(factor), plan.d, get("rounding", facts.alpha)), plan)


def scaled(
    d: int,
    scale_a: int | None,
    scale_b: int | None,
    single: bool,
    factor: Fraction,
    c: int | None,
    facts: EpilogueFacts,
    plan: DatapathPlan,
) -> int:
    """Return the code of one output: D times the scales of its row of A and column of B, then + C.

    d, c: binary32 codes; c None: nothing to add.   scale_a, scale_b: binary32 codes, None where the operand has no such scale; at least
    one is there.   single: one of the operands has a single scale.   factor: exact product of both blocks' factors, which is asked for
    only where it stands apart.
    Each multiplication is rounded before the next one: all but the last as `alpha` says, the last one as `epilogue` does.
    Source: the epilogue's or the datapath's sources.   Tests: tests/engines/exact/test_exact_epilogue.py.
    """
    if facts.factor == "sum_first":
        d = alpha_code(d, factor_code(factor, facts, plan), facts, plan)
    if facts.scales == "together" or (facts.scales == "together_or_a_first" and single):
        left, right = (code_of_one(plan.d) if code is None else code for code in (scale_a, scale_b))
        alpha = alpha_code(left, right, facts, plan)
        if facts.factor == "alpha_last":
            alpha = alpha_code(alpha, factor_code(factor, facts, plan), facts, plan)
        return epilogue(d, alpha, c, facts, plan)
    order = (scale_b, scale_a) if facts.scales == "b_first" else (scale_a, scale_b)
    *before, last = (code for code in order if code is not None)
    for code in before:
        d = alpha_code(d, code, facts, plan)
    return epilogue(d, last, c, facts, plan)


def add_codes(x: int, y: int, plan: DatapathPlan) -> int:
    """Return the code of x + y in the result format, rounded to nearest even: how partial results of a split K are joined."""
    nearest = get("rounding", "rne")
    return encode_result(round_result(add(decode_code(x, plan.d), decode_code(y, plan.d), nearest), plan.d, nearest), plan)
