"""epilogue: tensor scales and C after the last instruction. Binary32, each operation rounded once."""

from __future__ import annotations

from emu.engines.exact.arithmetic import add, multiply, round_result
from emu.engines.exact.datapath_round import encode_result
from emu.engines.exact.decode import decode_code
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


def add_codes(x: int, y: int, plan: DatapathPlan) -> int:
    """Return the code of x + y in the result format, rounded to nearest even: how partial results of a split K are joined."""
    nearest = get("rounding", "rne")
    return encode_result(round_result(add(decode_code(x, plan.d), decode_code(y, plan.d), nearest), plan.d, nearest), plan)
