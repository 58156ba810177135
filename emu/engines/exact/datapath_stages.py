"""Stages of a dot product as named columns: u<step>_<stage>, with the width of each. For golden vectors, traces and wave viewers.

A datapath has the stages of its kind, in this order:
    sg<i>        exact group sum, in units of 2^widths.product_lsb_exp; only where groups are added before the scales
    tm<i>        exact term before alignment, unit 2^(its exponent - its fraction bits); promote: the code of the rounded term
    lv           live mask: bit i = term i; where C is aligned with the terms, one more bit on top for C
    xa<i>, xc    aligned term and C, unit 2^(E - F); second alignment of late_c: the joined parts (xa0) and C, unit 2^(E - f2)
    e            E, floor applied; absent where the unit is fixed (fixed_lsb_exp)
    s            sum of the aligned terms, same unit; an accumulator: the register after the step
    p<r>         partial sums of late_c; the code of the rounded product sum (late_c add) or of the group sum (promote)
    ss           promote: the code of the rounded product of scales
    rs           code of the result, which is C of the next step; absent while a register accumulates
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emu.base.caches import Cache
from emu.engines.exact.datapath_step import Step
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.reach import reach

EXP_BITS = 12
_WIDTHS: Cache[tuple[str, ...], dict[str, int]] = Cache("emu.engines.exact.datapath_stages._WIDTHS", 1024)


class Stage(NamedTuple):
    """One column. bits: width.   signed: two's complement, sign bit counted in bits; else an unsigned code or mask."""

    name: str
    bits: int
    signed: bool


def stage_columns(plan: DatapathPlan, steps: int = 1) -> list[Stage]:
    """Return the columns of fused steps 0 .. steps - 1, step by step, each in the order above.

    Widths hold every value that codes of the plan's formats can make; with a wrapping adder they are that adder's.
    Source: the stage table of the golden-vector conventions.   Tests: tests/engines/exact/test_exact_datapath_stages.py.
    """
    one = list(_columns(plan))
    return [Stage(f"u{number}_{name}", bits, signed) for number in range(steps) for name, bits, signed in one]


def stage_values(step: Step, number: int, plan: DatapathPlan) -> dict[str, int]:
    """Return the values of one fused step by column name; signed columns as signed integers.

    number: place of the step, 0 first.   A step that NaN or infinity decided has its result alone: the other columns are absent.
    """
    return {f"u{number}_{name}": value for name, value in _values(step, plan)}


def stage_codes(step: Step, number: int, plan: DatapathPlan) -> dict[str, int]:
    """Return stage_values as raw bits: negative integers in two's complement of their column's width."""
    models = (plan.datapath, plan.a, plan.b, plan.scale)
    key = (f"{number}/{plan.block}", *(model.facts_digest for model in models if model is not None))
    if key not in _WIDTHS:
        _WIDTHS[key] = {name: bits for name, bits, _ in stage_columns(plan, number + 1)}
    return {name: value & ((1 << _WIDTHS[key][name]) - 1) for name, value in stage_values(step, number, plan).items()}


def fixed_lsb_exp(plan: DatapathPlan) -> int | None:
    """Return the unit's exponent of xa, xc and s where it is the same for all rows; None where it is E - F, or there is no such column."""
    if plan.frac_bits is not None or plan.facts.scale.apply == "promote":
        return None
    return plan.widths.step_sum_lsb_exp if plan.accumulator else plan.exact_lsb_exp


def _columns(plan: DatapathPlan) -> Iterator[Stage]:
    facts, result = plan.facts, derive.codes(plan.d).bits
    if facts.scale.apply == "promote":
        yield from (Stage(name, result, False) for name in ("tm0", "p0", "ss", "rs"))
        return
    wide = sum_bits(plan)
    if plan.late_c is not None:
        yield from (Stage(name, EXP_BITS if name == "e" else wide, True) for name in ("xa0", "xc", "e", "s"))
        yield from (Stage(f"p{part}", _part_bits(plan), True) for part in range(facts.split))
        yield Stage("rs", result, False)
        return
    terms = range(plan.step // plan.group)
    if facts.scale.apply == "group":
        yield from (Stage(f"sg{i}", plan.widths.group_sum_bits + 1, True) for i in terms)
    yield from (Stage(f"tm{i}", plan.widths.term_bits + 1, True) for i in terms)
    yield Stage("lv", len(terms) + int(facts.align.include_c == "yes"), False)
    yield from (Stage(f"xa{i}", wide, True) for i in terms)
    if facts.align.include_c == "yes":
        yield Stage("xc", wide, True)
    if plan.frac_bits is not None:
        yield Stage("e", EXP_BITS, True)
    yield Stage("s", wide, True)
    if facts.late_c == "add":
        yield Stage("p0", result, False)
    if plan.accumulator is None:
        yield Stage("rs", result, False)


def sum_bits(plan: DatapathPlan) -> int:
    """Return the bits of s, xa and xc with the sign: the adder's or register's, or what the largest sum with C needs."""
    if plan.accumulator is not None:
        return plan.accumulator.bits
    if plan.adder_bits is not None:
        return plan.adder_bits
    if plan.late_c is not None:
        largest = reach(plan.a).significand * reach(plan.b).significand * plan.step + reach(plan.c).significand
        return int(largest).bit_length() + plan.late_c.f2 + 1
    if plan.frac_bits is not None:
        return plan.frac_bits + plan.integer_bits_needed + 1
    unit = plan.exact_lsb_exp
    total = (1 << (plan.widths.step_sum_bits + plan.widths.step_sum_lsb_exp - unit)) - 1
    if plan.facts.align.include_c == "yes":
        total += int(reach(plan.c).largest * (1 << -unit)) if unit < 0 else int(reach(plan.c).largest) >> unit
    return total.bit_length() + 1


def _part_bits(plan: DatapathPlan) -> int:
    """Bits of an interleaved partial sum of late_c, unit 2^(its own exponent - F)."""
    assert plan.frac_bits is not None
    largest = reach(plan.a).significand * reach(plan.b).significand * (plan.step // plan.facts.split)
    return int(largest).bit_length() + plan.frac_bits + 1


def _values(step: Step, plan: DatapathPlan) -> Iterator[tuple[str, int]]:
    if step.special is None:
        yield from _inner(step, plan)
    if plan.accumulator is None:
        yield "rs", step.code


def _inner(step: Step, plan: DatapathPlan) -> Iterator[tuple[str, int]]:
    if plan.facts.scale.apply == "promote":
        yield from (("tm0", step.term_codes[0]), ("p0", step.parts[0]), ("ss", step.scale_codes[0]))
        return
    if plan.facts.scale.apply == "group":
        yield from ((f"sg{i}", term.group_sum) for i, term in enumerate(step.terms))
    yield from ((f"tm{i}", term.significand) for i, term in enumerate(step.terms))
    if step.terms:
        yield "lv", _live_mask(step, plan)
    yield from ((f"xa{i}", _held(value, plan)) for i, value in enumerate(step.aligned))
    if step.aligned_c is not None:
        yield "xc", _held(step.aligned_c, plan)
    if step.exp is not None:
        yield "e", step.exp
    assert step.total is not None
    yield "s", step.total
    yield from ((f"p{part}", value) for part, value in enumerate(step.parts))


def _live_mask(step: Step, plan: DatapathPlan) -> int:
    mask = sum(int(term.live) << i for i, term in enumerate(step.terms))
    counts = plan.facts.align.include_c == "yes" and step.c is not None and step.c.significand != 0
    return mask | int(counts) << len(step.terms)


def _held(value: int, plan: DatapathPlan) -> int:
    """Return an aligned integer as a wrapping adder takes it."""
    if plan.facts.align.beyond != "wrap":
        return value
    half = 1 << (sum_bits(plan) - 1)
    return (value + half) % (2 * half) - half
