"""What a plan asks of the NumPy engine, derived once: the kind of its sums, their widths, and whether binary64 holds them.

A plan is taken when every sum it needs is exact in binary64 (or in an expansion of a few of them); `fault` says why one is not.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod
from typing import Literal

from emu.base.caches import Cache
from emu.engines.numpy.datapath_round import ROUNDINGS, ResultGrid, grid_of
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import binary_format, same_facts
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts, IntegerFacts
from emu.spec.reach import reach, times

EXACT_BITS = 53
NOTHING = -600  # an exponent that nothing live has: only zeros are scaled by it
FAR = 1022  # exponents of binary64 that numbers keep to
SMALL, LARGE, TINY = -149, 128, -100  # binary32: its smallest number, what lies above its largest, and the least E of products in it
MANY_TERMS = 9  # an expansion of more terms is slower than the reference model is worth
Kind = Literal["aligned", "exact", "late_add", "late_align", "register", "promote"]


@dataclass(frozen=True)
class Shape:
    """A plan, as the steps of this engine read it.

    kind: how terms are added.   grouped: terms are sums of groups, else single products.   terms: of one step.
    raised: added to the exponent of a term.   by_sum: whether a term's own sum decides if it counts, or what its exponent is.
    low_bits: fraction bits below the exponent of a term.   least: E where nothing is live, the floor or NOTHING.
    narrow: binary32 holds the aligned sum.
    wide: the exact sum of a step may not fit binary64.
    """

    plan: DatapathPlan
    kind: Kind
    grid: ResultGrid
    grouped: bool
    terms: int
    raised: int
    by_sum: bool
    low_bits: int
    least: int
    narrow: bool
    wide: bool


_shapes: Cache[Hashable, Shape] = Cache("emu.engines.numpy.datapath_shape._shapes", 256)


def shape_of(plan: DatapathPlan) -> Shape:
    """Return the shape of a plan that `fault` takes."""
    found = _shapes.get(plan.key)
    return found if found is not None else _shapes.keep(plan.key, _shape(plan))


def _kind(plan: DatapathPlan) -> Kind:
    if plan.facts.scale.apply == "promote":
        return "promote"
    if plan.accumulator is not None:
        return "register"
    if plan.late_c is not None:
        return "late_align"
    if plan.frac_bits is not None:
        return "aligned"
    return "late_add" if plan.facts.late_c == "add" else "exact"


def _shape(plan: DatapathPlan) -> Shape:
    align = plan.facts.align
    grouped = plan.facts.scale.apply in ("group", "promote")
    assert isinstance(align.exponent_raise, int)
    by_sum = align.exponent == "normalised" or (grouped and align.cancelled_group_counts == "no")
    low_bits = plan.product_frac_bits + plan.scale_frac_bits - (plan.product_exp if grouped else 0)
    terms = plan.step // plan.group if grouped else plan.step
    least = NOTHING if plan.floor is None else max(plan.floor, NOTHING)
    wide = plan.widths.step_sum_bits > EXACT_BITS
    return Shape(plan, _kind(plan), grid_of(plan), grouped, terms, align.exponent_raise, by_sum, low_bits, least, _is_narrow(plan), wide)


def fault(plan: DatapathPlan) -> str | None:
    """Return why this engine does not take a plan, or None."""
    return _format_fault(plan) or _rounding_fault(plan) or _width_fault(plan) or _extent_fault(plan)


def _extent_fault(plan: DatapathPlan) -> str | None:
    """Return which numbers of a plan lie too far out, or None: in binary64 each is normal, in the unit of any sum that it is brought to."""
    found = plan.extent
    if plan.facts.scale.apply == "promote":
        return None if found.unit >= SMALL and found.top <= LARGE else "group sums beyond binary32"
    scales = [] if plan.scale is None else [reach(plan.scale)]
    for side in ([reach(fmt), *scales] for fmt in (plan.a, plan.b)):
        if sum(part.lsb_exp for part in side) < -FAR or prod(part.largest for part in side) >= 1 << FAR:
            return f"elements beyond 2^-{FAR} or 2^{FAR}"
    if found.unit < -FAR or found.top > FAR:
        return f"sums beyond 2^-{FAR} or 2^{FAR}"
    if plan.frac_bits is not None and (found.low <= NOTHING or found.unit - found.high < -FAR):
        return f"exponents that reach 2^{NOTHING}, or terms that lie more than {FAR} bits below the largest"
    return None


def _is_narrow(plan: DatapathPlan) -> bool:
    """Tell whether binary32 holds the products, exactly, and their aligned sum; below TINY, where the unit of a sum stops, all are zero."""
    if plan.scale is not None or plan.frac_bits is None:
        return False
    found, ends = plan.extent, [reach(plan.a), reach(plan.b)]
    product = times(*ends)
    if plan.widths.product_bits > 24 or plan.frac_bits + plan.integer_bits_needed > 24:
        return False
    least = product.lsb_exp if plan.facts.align.exponent == "normalised" else product.min_exp
    inside = all(part.lsb_exp >= SMALL and part.largest < 1 << LARGE for part in (*ends, product))
    seen = plan.align_direction != "rd" or product.lsb_exp - found.grid[1] >= SMALL  # a number that goes down must not vanish
    return inside and seen and least + int(plan.facts.align.exponent_raise) >= TINY and found.grid[1] < LARGE - 1


def _format_fault(plan: DatapathPlan) -> str | None:
    for fmt in (plan.a, plan.b):
        if not isinstance(fmt.facts, FloatFacts | IntegerFacts) or derive.codes(fmt).bits > 16:
            return f"{fmt.id} elements are not floats or integers of at most 16 bits"
    if binary_format(plan.d) not in ("binary32", "binary16", "bfloat16") or not same_facts(plan.c, plan.d):
        return f"results in {plan.d.id}"
    if plan.scale is None or plan.facts.scale.apply == "promote":
        return None
    derived = derive.codes(plan.scale)
    if derived.bits > 8 or derived.sign_bit or derived.inf is not None:
        return f"{plan.scale.id} scales have a sign, infinity or more than 8 bits"
    return None


def _rounding_fault(plan: DatapathPlan) -> str | None:
    facts = plan.facts
    if plan.round_direction not in ROUNDINGS:
        return f"rounding {facts.round.mode}"
    if facts.scale.apply != "promote":
        return None
    if any(_has_specials(fmt) for fmt in (plan.a, plan.b)):
        return "promote of elements with NaN or infinity"
    if facts.subnormal.c == "flush" or facts.subnormal.scales == "flush":
        return "promote that flushes"
    return None


def _has_specials(fmt: Format) -> bool:
    derived = derive.codes(fmt)
    return bool(derived.nan) or derived.inf is not None


def _width_fault(plan: DatapathPlan) -> str | None:
    facts, widths = plan.facts, plan.widths
    kind, grouped = _kind(plan), facts.scale.apply in ("group", "promote")
    if kind == "promote":
        return None if widths.group_sum_bits <= 24 else "group sums of more than 24 bits"
    if kind == "late_align":
        if plan.scale is not None or plan.frac_bits is None or plan.late_c is None:
            return "late C with scales"
        bits = plan.late_c.f2 + plan.integer_bits_needed + 2
        return None if bits <= EXACT_BITS else f"sums of {bits} bits"
    if kind == "aligned":
        return _aligned_fault(plan)
    if plan.accumulator is not None and (plan.accumulator.bits > 64 or widths.step_sum_bits > EXACT_BITS):
        return "a register of more than 64 bits, or steps of more than 53"
    if widths.step_sum_bits > EXACT_BITS and (not grouped or widths.term_bits > EXACT_BITS or plan.step // plan.group > MANY_TERMS):
        return f"exact sums of {widths.step_sum_bits} bits"
    return None


def _aligned_fault(plan: DatapathPlan) -> str | None:
    facts = plan.facts
    assert plan.frac_bits is not None
    bits = plan.frac_bits + plan.integer_bits_needed
    if bits > EXACT_BITS:
        return f"aligned sums of {bits} bits"
    if plan.widths.term_bits > EXACT_BITS:
        return f"terms of {plan.widths.term_bits} bits"
    if facts.scale.apply == "group" and plan.group > 64:
        return "groups of more than 64 products"
    if facts.align.beyond == "wrap" and (plan.adder_bits is None or plan.adder_bits > EXACT_BITS):
        return "an adder of more than 53 bits that wraps"
    return None
