"""Kinds of special operands of a fused step: NaN and infinity by the place they come from. Not here: what they make of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emu.base.caches import bounded
from emu.engines.exact.datapath_terms import decode_operand
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format

KINDS: Final = (
    "nan_element", "nan_scale", "nan_scale_zero_block", "inf_times_zero", "plus_inf", "minus_inf", "nan_c", "c_plus_inf", "c_minus_inf",
)  # fmt: skip
OF_C: Final = ("nan_c", "c_plus_inf", "c_minus_inf")


def possible_kinds(plan: DatapathPlan) -> tuple[str, ...]:
    """Return the kinds whose codes the formats of a plan have; zero and a sign where a kind needs them."""
    factors = [fmt for fmt in (plan.a, plan.b, plan.scale) if fmt is not None]
    infinite = any(derive.codes(fmt).inf is not None for fmt in factors)
    signed = any(derive.codes(fmt).sign_bit for fmt in (plan.a, plan.b))
    c = derive.codes(plan.c)
    there = {
        "nan_element": bool(derive.codes(plan.a).nan or derive.codes(plan.b).nan),
        "nan_scale": plan.scale is not None and bool(derive.codes(plan.scale).nan),
        "nan_scale_zero_block": plan.scale is not None and bool(derive.codes(plan.scale).nan),
        "inf_times_zero": infinite,
        "plus_inf": infinite,
        "minus_inf": infinite and signed,
        "nan_c": bool(c.nan),
        "c_plus_inf": c.inf is not None,
        "c_minus_inf": c.inf is not None,
    }
    return tuple(kind for kind in KINDS if there[kind])


@bounded(1 << 16)
def _operand(code: int, fmt: Format, subnormals: str, unused: str) -> Value:
    return decode_operand(code, fmt, subnormals, unused)


def kinds_of_step(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan, possible: Sequence[str]
) -> list[str]:
    """Return the kinds of special operands among those of one step, in the order of KINDS.

    scale_a, scale_b: one code per element (empty without scales).   c: code of C.   possible: the kinds that the formats have.
    """
    keep, unused = plan.facts.subnormal, plan.facts.scale.unused_bits
    addend = _operand(c, plan.c, keep.c, "open")
    found = set()
    if addend.kind != "finite":
        found.add("nan_c" if addend.kind == "nan" else "c_minus_inf" if addend.sign else "c_plus_inf")
    if set(possible).difference(OF_C) and _any_special(((a, plan.a), (b, plan.b), (scale_a, plan.scale), (scale_b, plan.scale))):
        found |= _of_products(a, b, scale_a, scale_b, plan, (keep.elements, keep.scales, unused))
    return [kind for kind in KINDS if kind in found]


def _any_special(given: Sequence[tuple[Sequence[int], Format | None]]) -> bool:
    """Tell whether any code is NaN or infinite; a bit above the code does not count."""
    for codes, fmt in given:
        if fmt is not None:
            ones = (1 << derive.codes(fmt).bits) - 1
            if any(not derive.is_finite_code(code & ones, fmt) for code in set(codes)):
                return True
    return False


def _of_products(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], plan: DatapathPlan, words: tuple[str, str, str]
) -> set[str]:
    """Return the kinds of special elements and scales."""
    found: set[str] = set()
    nan_blocks: dict[int, bool] = {}
    for lane, (x, y) in enumerate(zip(a, b, strict=True)):
        factors = [_operand(x, plan.a, words[0], "open"), _operand(y, plan.b, words[0], "open")]
        alive = not any(value.is_zero for value in factors)
        if plan.scale is not None:
            factors += [_operand(codes[lane], plan.scale, words[1], words[2]) for codes in (scale_a, scale_b)]
            if any(value.kind == "nan" for value in factors[2:]):
                nan_blocks[lane // plan.block] = nan_blocks.get(lane // plan.block, False) or alive
        if any(value.kind == "nan" for value in factors[:2]):
            found.add("nan_element")
        elif any(value.kind == "inf" for value in factors) and not any(value.kind == "nan" for value in factors):
            sign = sum(value.sign for value in factors) % 2
            found.add("inf_times_zero" if any(value.is_zero for value in factors) else "minus_inf" if sign else "plus_inf")
    return found | {"nan_scale" if alive else "nan_scale_zero_block" for alive in nan_blocks.values()}
