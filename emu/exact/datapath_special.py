"""NaN and infinity in a dot product: the first thing a fused step looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from emu.exact.datapath_terms import decode_operand
from emu.exact.value import Value
from emu.spec.datapath import Plan

Special = Literal["nan", "+inf", "-inf"]


def special_result(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: Plan
) -> Special | None:
    """Return what NaN and infinite operands make of a step, or None when every term is finite.

    NaN: a NaN element or C, a NaN scale, infinity times zero, infinities of both signs. Else infinities of one sign give that infinity.
    scale_a, scale_b: one code per element (empty without scales).   c: code of C.
    """
    keep, unused = plan.facts.subnormal, plan.facts.scale.unused_bits
    addend = decode_operand(c, plan.c, keep.c)
    values = [(decode_operand(x, plan.a, keep.elements), decode_operand(y, plan.b, keep.elements)) for x, y in zip(a, b, strict=True)]
    scales: list[tuple[Value, Value]] = []
    if plan.scale is not None:
        given = zip(scale_a, scale_b, strict=True)
        scales = [tuple(decode_operand(code, plan.scale, keep.scales, unused) for code in pair) for pair in given]  # type: ignore[misc]
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


def _nan_scale(values: Sequence[tuple[Value, Value]], scales: Sequence[tuple[Value, Value]], plan: Plan) -> bool:
    """A NaN scale counts always, or only where a product under it is not zero (special.nan_scale live)."""
    for (x, y), pair in zip(values, scales, strict=False):
        bad = any(scale.kind == "nan" for scale in pair)
        if bad and (plan.facts.special.nan_scale == "always" or not (x.is_zero or y.is_zero)):
            return True
    return False
