"""Datapaths whose C joins late: after the products were rounded to a number, or by a second alignment."""

from __future__ import annotations

from collections.abc import Sequence

from emu.engines.exact.datapath_round import round_sum, shift
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.datapath_terms import Term, Triple, decode_triple
from emu.spec import derive
from emu.spec.datapath import DatapathPlan


def late_add(terms: list[Term], c: int, plan: DatapathPlan) -> Step:
    """P = round(exact sum); D = round(P + C). Both roundings are those of the result."""
    lsb_exp = plan.exact_lsb_exp
    aligned = [shift(term.significand, term.exp - term.frac_bits - lsb_exp) for term in terms]
    part = round_sum(sum(aligned), lsb_exp, plan)
    codes = [part, c]
    if any(_is_infinite(code, plan) for code in codes):
        return Step(part if _is_infinite(part, plan) else c, terms, None, None, aligned, None, sum(aligned), lsb_exp, [part])
    first, addend = (decode_triple(code, plan.d, plan.facts.subnormal.c) for code in codes)
    total = sum(shift(item.significand, item.exp - item.frac_bits - lsb_exp) for item in (first, addend))
    return Step(round_sum(total, lsb_exp, plan), terms, addend, None, aligned, None, sum(aligned), lsb_exp, [part])


def _is_infinite(code: int, plan: DatapathPlan) -> bool:
    codes = derive.codes(plan.d)
    return code & ~codes.sign_bit == codes.inf


def late_align(products: Sequence[Triple], c: Triple, plan: DatapathPlan) -> Step:
    """Sum each interleaved part under its own largest exponent, join the parts, then C under the largest of all.

    Bits that fall off go toward zero inside a part and downwards when parts and C are joined. A part of zeros is not there.
    """
    assert plan.frac_bits is not None and plan.late_c is not None
    parts = [_part(products[r :: plan.facts.split], plan.frac_bits) for r in range(plan.facts.split)]
    live = [part for part in parts if part is not None]
    exp = max([part_exp for _, part_exp in live] + [c.exp])
    joined_exp = max((part_exp for _, part_exp in live), default=exp)
    joined = sum(shift(total, part_exp - joined_exp, "rd") for total, part_exp in live)
    addend = 0
    if c.significand and c.exp >= exp - plan.late_c.drop_below:
        addend = shift(c.significand, c.exp - c.frac_bits - (exp - plan.frac_bits), "rd")
    more = plan.late_c.f2 - plan.frac_bits
    moved = shift(joined, joined_exp - exp + more, "rd")
    total, lsb_exp = moved + (addend << more), exp - plan.late_c.f2
    sums = [0 if part is None else part[0] for part in parts]
    return Step(round_sum(total, lsb_exp, plan), [], c, exp, [moved], addend << more, total, lsb_exp, sums)


def _part(products: Sequence[Triple], frac_bits: int) -> tuple[int, int] | None:
    """Return (sum, exponent) of the products of a part; None when all are zero."""
    alive = [product for product in products if product.significand]
    if not alive:
        return None
    exp = max(product.exp for product in alive)
    return sum(shift(item.significand, frac_bits + item.exp - exp - item.frac_bits) for item in alive), exp
