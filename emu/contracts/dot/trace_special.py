"""Why NaN or infinity decided a fused step: the first cause, in the order in which the datapath looks."""

from __future__ import annotations

from emu.contracts.dot.rows import DotRow
from emu.contracts.text import named, value_text
from emu.engines.exact.datapath_terms import decode_operand
from emu.engines.exact.value import Value
from emu.spec.datapath import DatapathPlan


def cause_of(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str:
    """Return the cause in words.

    row: the elements of the step, with one scale code per element.   c: code of C.   start: number of its first element.
    """
    for look in (_nan, _infinite):
        found = look(row, c, start, plan)
        if found:
            return found
    return "no operand is NaN or infinite"


def _nan(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str | None:
    keep = plan.facts.subnormal
    if decode_operand(c, plan.c, keep.c).kind == "nan":
        return f"C {named(c, plan.c)} is NaN"
    for name, codes, fmt in (("a", row.a, plan.a), ("b", row.b, plan.b)):
        for k, code in enumerate(codes):
            if decode_operand(code, fmt, keep.elements).kind == "nan":
                return f"{name}[{start + k}] {named(code, fmt)} is NaN"
    if plan.scale is None:
        return None
    for name, codes in (("sa", row.scale_a), ("sb", row.scale_b)):
        for k, code in enumerate(codes):
            if decode_operand(code, plan.scale, keep.scales, plan.facts.scale.unused_bits).kind == "nan":
                alive = not any(value.is_zero for value in _factors(row, k, plan)[:2])
                if plan.facts.special.nan_scale == "always" or alive:
                    return f"{name}[{(start + k) // plan.block}] {named(code, plan.scale)} is NaN"
    return None


def _factors(row: DotRow, k: int, plan: DatapathPlan) -> list[Value]:
    keep = plan.facts.subnormal
    found = [decode_operand(row.a[k], plan.a, keep.elements), decode_operand(row.b[k], plan.b, keep.elements)]
    if plan.scale is not None:
        unused = plan.facts.scale.unused_bits
        found += [decode_operand(code, plan.scale, keep.scales, unused) for code in (row.scale_a[k], row.scale_b[k])]
    return found


def _infinite(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str | None:
    addend = decode_operand(c, plan.c, plan.facts.subnormal.c)
    seen: list[tuple[int, str]] = [(addend.sign, f"C is {value_text(addend)}")] if addend.kind == "inf" else []
    for k in range(len(row.a)):
        factors = _factors(row, k, plan)
        if any(value.kind == "inf" for value in factors):
            text = " * ".join(value_text(value) for value in factors)
            if any(value.is_zero for value in factors):
                return f"product {start + k} is {text}: infinity times zero"
            seen.append((sum(value.sign for value in factors) % 2, f"product {start + k} is {text}"))
    first = next((item for item in seen if item[0] != seen[0][0]), None)
    if first is not None:
        return f"infinities of both signs: {seen[0][1]}, {first[1]}"
    return seen[0][1] if seen else None
