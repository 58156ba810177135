"""dot: rows of element codes, block scales and C -> the result of a datapath, with every stage in between.

One instruction is a chain of fused steps; a longer K is a chain of instructions. D of one step is C of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.exact.datapath_late import late_add, late_align
from emu.engines.exact.datapath_promote import promote_block
from emu.engines.exact.datapath_round import round_sum, shift
from emu.engines.exact.datapath_special import Special, special_result
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.datapath_terms import Term, Triple, decode_triple, products_of, terms_of
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format


@dataclass(frozen=True)
class Dot:
    """A dot product. code: of the result.   steps: every fused step, in order.   accumulator: the register at the end, or None."""

    code: int
    steps: list[Step] = field(repr=False)
    accumulator: int | None = None


def dot(a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan) -> Dot:
    """Return the result of a datapath for one row of A and one column of B.

    a, b: K element codes each; K is a multiple of the instruction's k.   scale_a, scale_b: K / block scale codes, empty without scales.
    c: code of C.   NaN, infinity, zero, subnormals, overflow: as the datapath says.
    Raises: ShapeError (K, number of scales), OperandError (a code too wide), OpenError (an open bit; an accumulator that overflows).
    Source: the datapath's sources.   Tests: tests/engines/exact/test_exact_datapath.py.
    """
    check_lengths(len(a), len(b), len(scale_a), len(scale_b), plan)
    check_codes(a, b, scale_a, scale_b, c, plan)
    each_a, each_b = ([code for code in scales for _ in range(plan.block)] for scales in (scale_a, scale_b))
    if plan.accumulator is not None:
        return _accumulate(a, b, each_a, each_b, c, plan)
    steps: list[Step] = []
    for start in range(0, len(a), plan.step):
        part = slice(start, start + plan.step)
        steps.append(fused_step(a[part], b[part], each_a[part], each_b[part], steps[-1].code if steps else c, plan))
    return Dot(steps[-1].code, steps)


def check_lengths(a: int, b: int, scale_a: int, scale_b: int, plan: DatapathPlan | LevelsPlan) -> None:
    """Check that K and the numbers of scales fit. Raises: ShapeError."""
    name, k = plan.datapath.id, plan.facts.k
    if a != b:
        raise ShapeError(f"datapath {name}: A has {a} elements in a row, B has {b}: both need the same K")
    if a == 0 or a % k:
        raise ShapeError(f"datapath {name}: K = {a} is no multiple of the {k} products of one instruction: pad with zeros (tail: error)")
    wanted = a // plan.block if plan.block else 0
    if (plan.block and a % plan.block) or scale_a != wanted or scale_b != wanted:
        what = f"one scale per {plan.block} elements: {wanted} each" if plan.block else "no scales"
        raise ShapeError(f"datapath {name}: K = {a} takes {what}; A has {scale_a}, B has {scale_b}")


def check_codes(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int | None, plan: DatapathPlan | LevelsPlan
) -> None:
    """Check that every code fits its format; there is a C exactly where the datapath has one. Raises: OperandError."""
    if (c is None) != (plan.c is None):
        words = "has no C: leave it out" if plan.c is None else f"adds C: give a code of {plan.c.id}"
        raise OperandError(f"c: datapath {plan.datapath.id} {words}")
    named: list[tuple[str, Sequence[int], Format]] = [("a", a, plan.a), ("b", b, plan.b)]
    named += [("c", [c], plan.c)] if c is not None and plan.c is not None else []
    named += [("a_scales", scale_a, plan.scale), ("b_scales", scale_b, plan.scale)] if plan.scale else []
    for name, codes, fmt in named:
        bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
        for number, code in enumerate(codes):
            if code < 0 or code >> bits:
                raise OperandError(f"{name}: code {code:#x} of element {number} is no {fmt.id} code: it has more than {bits} bits")


def special_code(special: Special, plan: DatapathPlan) -> int:
    """Return the result code of NaN or infinity."""
    codes = derive.codes(plan.d)
    if special == "nan":
        return plan.nan_code
    assert codes.inf is not None
    return codes.inf | (codes.sign_bit if special == "-inf" else 0)


def fused_step(a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan) -> Step:
    """Return one fused step with its stages. scale_a, scale_b: one code per element.   c: code of C. Operands as `dot` has checked them."""
    if plan.facts.scale.apply == "promote":
        return promote_block(a, b, scale_a, scale_b, c, plan)
    special = special_result(a, b, scale_a, scale_b, c, plan)
    if special is not None:
        return Step(code=special_code(special, plan), special=special)
    products = products_of(a, b, plan)
    addend = decode_triple(c, plan.c, plan.facts.subnormal.c)
    if plan.late_c is not None:
        return late_align(products, addend, plan)
    terms = terms_of(products, scale_a, scale_b, plan)
    if plan.frac_bits is None:
        return late_add(terms, c, plan) if plan.facts.late_c == "add" else _exact_step(terms, addend, plan)
    return _aligned_step(terms, addend, plan)


def _aligned_step(terms: list[Term], c: Triple, plan: DatapathPlan) -> Step:
    """Align every live term and C to the largest exponent, cut to F bits below it, add, round."""
    assert plan.frac_bits is not None
    # The largest exponent sets the unit, and what lies below the unit is lost: docs/how_it_works.md#alignment-and-loss-in-a-fused-step
    exps = [term.exp for term in terms if term.live] + ([c.exp] if c.significand else [])
    exp = max(exps + ([] if plan.floor is None else [plan.floor]), default=0)
    lsb_exp, mode = exp - plan.frac_bits, plan.align_direction
    aligned = [shift(term.significand, term.exp - term.frac_bits - lsb_exp, mode) for term in terms]
    aligned_c = shift(c.significand, c.exp - c.frac_bits - lsb_exp, mode)
    total = _wrapped(sum(aligned) + aligned_c, plan)
    return Step(round_sum(total, lsb_exp, plan), terms, c, exp, aligned, aligned_c, total, lsb_exp)


def _wrapped(total: int, plan: DatapathPlan) -> int:
    """Return a sum as the adder holds it: in two's complement of its width where it may wrap; else it fits, as the loader has proved."""
    if plan.facts.align.beyond != "wrap":
        return total
    assert plan.adder_bits is not None
    half = 1 << (plan.adder_bits - 1)
    return (total + half) % (2 * half) - half


def _exact_step(terms: list[Term], c: Triple, plan: DatapathPlan) -> Step:
    """Add everything in one fixed-point number that loses nothing, then round once."""
    lsb_exp = plan.exact_lsb_exp
    aligned = [shift(term.significand, term.exp - term.frac_bits - lsb_exp) for term in terms]
    aligned_c = shift(c.significand, c.exp - c.frac_bits - lsb_exp)
    total = sum(aligned) + aligned_c
    return Step(round_sum(total, lsb_exp, plan), terms, c, None, aligned, aligned_c, total, lsb_exp)


def _accumulate(a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan) -> Dot:
    """Add all terms of K in one fixed-point register that starts at 0, then add C and round once."""
    special = special_result(a, b, scale_a, scale_b, c, plan)
    if special is not None:
        code = special_code(special, plan)
        return Dot(code, [Step(code=code, special=special)])
    steps: list[Step] = []
    acc, lsb_exp = 0, plan.widths.step_sum_lsb_exp
    for start in range(0, len(a), plan.step):
        part = slice(start, start + plan.step)
        terms = terms_of(products_of(a[part], b[part], plan), scale_a[part], scale_b[part], plan)
        aligned = [shift(term.significand, term.exp - term.frac_bits - lsb_exp) for term in terms]
        acc += sum(aligned)
        _check_register(acc, start + plan.step, plan)
        steps.append(Step(0, terms, None, None, aligned, None, acc, lsb_exp))
    addend = decode_triple(c, plan.c, plan.facts.subnormal.c)
    least = plan.exact_lsb_exp
    total = shift(acc, lsb_exp - least) + shift(addend.significand, addend.exp - addend.frac_bits - least)
    return Dot(round_sum(total, least, plan), steps, acc)


def _check_register(acc: int, k: int, plan: DatapathPlan) -> None:
    """Refuse a sum that the register does not hold. Raises: OpenError."""
    assert plan.accumulator is not None
    half = 1 << (plan.accumulator.bits - 1)
    if not -half <= acc < half:
        raise OpenError(
            f"datapath {plan.datapath.id}: the {plan.accumulator.bits}-bit accumulator overflows after {k} products: "
            f"any values fit up to K = {plan.largest_k}"
        )
