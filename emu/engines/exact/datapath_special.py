"""NaN and infinity in a dot product: the first thing a fused step looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from emu.engines.exact.datapath_terms import decode_operand, operands_of
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.datapath import DatapathPlan

Special = Literal["nan", "+inf", "-inf"]


def special_result(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan
) -> Special | None:
    """Return what NaN and infinite operands make of a step, or None when every term is finite.

    NaN: a NaN element or C, a NaN scale, infinity times zero, infinities of both signs. Else infinities of one sign give that infinity.
    scale_a, scale_b: one code per element (empty without scales).   c: code of C.
    """
    if _all_finite(a, b, scale_a, scale_b, c, plan):
        return None
    keep, unused = plan.facts.subnormal, plan.facts.scale.unused_bits
    addend = decode_operand(c, plan.c, keep.c)
    values = list(zip(operands_of(a, plan.a, keep.elements), operands_of(b, plan.b, keep.elements), strict=True))
    scales: list[tuple[Value, Value]] = []
    if plan.scale is not None:
        both = [operands_of(codes, plan.scale, keep.scales, unused) for codes in (scale_a, scale_b)]
        scales = list(zip(*both, strict=True))
    if addend.kind == "nan" or any(value.kind == "nan" for pair in values for value in pair) or _nan_scale(values, scales, plan):
        return "nan"
    signs = {addend.sign} if addend.kind == "inf" else set()
    for number, pair in enumerate(values):
        factors = (*pair, *(scales[number] if scales else ()))
        if any(value.kind == "inf" for value in factors):
            if any(value.is_zero for value in factors):
                return "nan"
            signs.add(sum(value.sign for value in factors) % 2)
    if len(signs) == 2:
        return "nan"
    return None if not signs else "-inf" if signs.pop() else "+inf"


def _all_finite(a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan) -> bool:
    scales = plan.scale is None or derive.all_finite((*scale_a, *scale_b), plan.scale)
    return scales and derive.all_finite(a, plan.a) and derive.all_finite(b, plan.b) and derive.all_finite((c,), plan.c)


def _nan_scale(values: Sequence[tuple[Value, Value]], scales: Sequence[tuple[Value, Value]], plan: DatapathPlan) -> bool:
    """A NaN scale counts always, or only where a product under it is not zero (special.nan_scale live)."""
    for (x, y), pair in zip(values, scales, strict=False):
        bad = any(scale.kind == "nan" for scale in pair)
        if bad and (plan.facts.special.nan_scale == "always" or not (x.is_zero or y.is_zero)):
            return True
    return False
