"""One fused step on a tile of outputs: from finite C to the rounded result, for each way of adding terms.

C and results are binary64 numbers on the grid of the result format. NaN and infinity are the caller's business
(datapath_special.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.datapath_operands import Side
from emu.engines.numpy.datapath_round import F64, ROUNDINGS, exponent, power, round_values, sum_to_odd
from emu.engines.numpy.datapath_shape import NOTHING, TINY, Shape
from emu.engines.numpy.datapath_special import outer
from emu.engines.numpy.datapath_terms import largest_exp, step_sum, term_exp, term_of
from emu.engines.numpy.float64 import add_to_odd

Step = Callable[[Side, Side, int, F64, float, Shape], F64]


def aligned(a: Side, b: Side, step: int, c: F64, largest: float, shape: Shape) -> F64:
    """Align every live term and C to the largest exponent, cut to F bits below it, add, round.

    largest: of the magnitudes of C.   Where no product can lose a bit, their sum is taken in one piece.
    """
    if _loses_nothing(a, b, step, largest, shape):
        return _in_one_piece(a, b, step, c, shape)
    plan, mode = shape.plan, ROUNDINGS[shape.plan.align_direction]
    assert plan.frac_bits is not None
    of_c = np.where(c != 0, exponent(c, shape.grid.lowest), shape.least)
    # The largest exponent sets the unit, and what lies below the unit is lost: docs/how_it_works.md#alignment-and-loss-in-a-fused-step
    exp = np.maximum(largest_exp(a, b, step, shape), of_c)
    total = _narrow_total(a, b, step, exp, shape) if shape.narrow else _total(a, b, step, power(plan.frac_bits - exp), shape)
    total += mode(c * power(plan.frac_bits - exp))
    if plan.facts.align.beyond == "wrap":
        total = _wrapped(total, plan.adder_bits or 0)
    return round_values(total * power(exp - plan.frac_bits), shape.grid)


def _total(a: Side, b: Side, step: int, unit: F64, shape: Shape) -> F64:
    """Return the sum of the aligned terms, an integer below 2^53. unit: 2^(F - E)."""
    mode = ROUNDINGS[shape.plan.align_direction]
    total = np.zeros_like(unit)
    for number in range(shape.terms):
        term = term_of(a, b, step, number, shape)
        term *= unit
        total += mode(term)
    return total


def _narrow_total(a: Side, b: Side, step: int, exp: NDArray[Any], shape: Shape) -> F64:
    """Return the same for single products whose aligned sum fits 24 bits, in binary32.

    Below exponent TINY all products are zero; what binary32 loses of a tiny one lies far below the last kept bit.
    """
    plan, mode = shape.plan, ROUNDINGS[shape.plan.align_direction]
    assert plan.frac_bits is not None
    field = np.maximum(exp, TINY).astype(np.int32)
    unit = ((plan.frac_bits + 127 - field) << 23).view(np.float32)
    total = np.zeros_like(unit)
    first = step * plan.step
    left, right = (side.value[..., first : first + plan.step].astype(np.float32) for side in (a, b))
    for number in range(plan.step):
        x, y = outer(left[..., number], right[..., number])
        term = x * y
        term *= unit
        total += mode(term)
    wide: F64 = total.astype(np.float64)
    return wide


def _wrapped(total: F64, bits: int) -> F64:
    """Return integers as a two's complement adder of `bits` holds them."""
    half = np.int64(1 << (bits - 1))
    whole = total.astype(np.int64)
    wrapped: F64 = (((whole + half) & (2 * half - 1)) - half).astype(np.float64)
    return wrapped


def _loses_nothing(a: Side, b: Side, step: int, largest: float, shape: Shape) -> bool:
    """Tell whether every product term of a step is a multiple of the unit 2^(E - F) of every output, and the adder holds the sum."""
    plan = shape.plan
    assert plan.frac_bits is not None
    a_low, a_top, b_low, b_top = a.low[step], a.top[step], b.low[step], b.top[step]
    if shape.by_sum or plan.frac_bits < shape.grid.frac_bits or plan.facts.align.beyond == "wrap":
        return False
    if a_low is None or a_top is None or b_low is None or b_top is None:
        return True
    floor = shape.grid.lowest if plan.floor is None else plan.floor
    top = max(a_top + b_top + shape.raised, (int(np.float64(largest).view(np.int64)) >> 52) - 1023, shape.grid.lowest, floor)
    return top - (a_low + b_low - shape.low_bits) <= plan.frac_bits


def _in_one_piece(a: Side, b: Side, step: int, c: F64, shape: Shape) -> F64:
    """Return the rounded sum of the exact products and of C, which alone loses bits: below 2^(E - F), E without C.

    Where C has the largest exponent itself, F keeps all of its bits.
    """
    plan, grid = shape.plan, shape.grid
    assert plan.frac_bits is not None
    exp = largest_exp(a, b, step, shape)
    total = step_sum(a, b, step, shape)
    field = exp.astype(np.int64)
    np.subtract(1023 + plan.frac_bits, field, out=field)
    field <<= 52
    kept = c * field.view(np.float64)
    mode = ROUNDINGS[plan.align_direction]
    kept = np.trunc(kept, out=kept) if mode is np.trunc else mode(kept)
    np.subtract(2046 << 52, field, out=field)
    kept *= field.view(np.float64)
    total += kept
    plain = grid.mode == "rz" and grid.zero_plus and not grid.flush
    if plain and int(exp.min()) - plan.frac_bits >= grid.lowest - grid.keep:
        return _cut(total, grid.keep, grid.largest, grid.beyond)
    return round_values(total, shape.grid)


def _cut(total: F64, keep: int, largest: float, beyond: float) -> F64:
    """Round toward zero where every sum is a multiple of the smallest subnormal: the bits beyond `keep` are cleared."""
    bits = total.view(np.int64)
    bits &= np.int64(-1 << (52 - keep))
    total += 0.0
    if max(float(total.max()), -float(total.min())) > largest:
        over = np.abs(total) > largest
        total[over] = np.copysign(beyond, total[over])
    return total


def exact(a: Side, b: Side, step: int, c: F64, largest: float, shape: Shape) -> F64:
    """Add all terms and C without loss, round once."""
    return round_values(_exact_sum(a, b, step, [c], shape), shape.grid)


def late_add(a: Side, b: Side, step: int, c: F64, largest: float, shape: Shape) -> F64:
    """Round the exact sum of all terms, then add C and round again; an infinite first sum stays."""
    part = round_values(_exact_sum(a, b, step, [], shape), shape.grid)
    finite = np.where(np.isfinite(part), part, 0.0)
    if shape.plan.facts.subnormal.c == "flush":
        finite = np.where(np.abs(finite) < ldexp(1.0, shape.grid.lowest), 0.0, finite)
    total = round_values(add_to_odd(finite, c), shape.grid)
    return np.where(np.isfinite(part), total, part)


def _exact_sum(a: Side, b: Side, step: int, more: list[F64], shape: Shape) -> F64:
    """Return the exact sum of a step's terms and of `more`, rounded to odd."""
    if _fits(a, b, step, shape):
        terms = [step_sum(a, b, step, shape), *more]
    else:
        terms = [*(term_of(a, b, step, number, shape) for number in range(shape.terms)), *more]
    return sum_to_odd(terms) if len(terms) > 1 else terms[0]


def _fits(a: Side, b: Side, step: int, shape: Shape) -> bool:
    """Tell whether the exact sum of a step's products fits binary64, whatever the order: always, or with these exponents."""
    a_low, a_top, b_low, b_top = a.low[step], a.top[step], b.low[step], b.top[step]
    if not shape.wide or a_low is None or a_top is None or b_low is None or b_top is None:
        return True
    return a_top + b_top + shape.plan.integer_bits_needed - (a_low + b_low - shape.low_bits) <= 53


def late_align(a: Side, b: Side, step: int, c: F64, largest: float, shape: Shape) -> F64:
    """Sum each interleaved part under its own largest exponent, join the parts, then C under the largest of all."""
    plan = shape.plan
    frac_bits, late = plan.frac_bits, plan.late_c
    assert frac_bits is not None and late is not None
    parts = [_part(a, b, step, r, shape) for r in range(plan.facts.split)]
    joined_exp = np.maximum.reduce([exp for _, exp in parts])
    alive = joined_exp > NOTHING
    c_exp = exponent(c, shape.grid.lowest)
    exp = np.maximum(joined_exp, c_exp)
    joined_exp = np.where(alive, joined_exp, exp)
    joined = sum(np.floor(total * power(np.maximum(part_exp - joined_exp, -900))) for total, part_exp in parts)
    addend = np.floor(c * power(frac_bits - exp))
    addend[c_exp < exp - late.drop_below] = 0.0
    more = late.f2 - frac_bits
    total = np.floor(joined * power(joined_exp - exp + more)) + addend * float(1 << more)
    return round_values(total * power(exp - late.f2), shape.grid)


def _part(a: Side, b: Side, step: int, part: int, shape: Shape) -> tuple[F64, NDArray[np.int64]]:
    """Return (sum, exponent) of one interleaved part; its exponent is NOTHING where all its products are zero."""
    plan = shape.plan
    assert plan.frac_bits is not None
    numbers = range(part, plan.step, plan.facts.split)
    first = step * plan.step
    exps = [term_exp(a, b, first + number, shape) for number in numbers]
    exp = np.maximum(np.maximum.reduce(exps), NOTHING).astype(np.int64)
    unit = power(plan.frac_bits - exp)
    total = np.zeros_like(unit)
    for number in numbers:
        total += np.trunc(term_of(a, b, step, number, shape) * unit)
    return total, exp


STEPS: dict[str, Step] = {"aligned": aligned, "exact": exact, "late_add": late_add, "late_align": late_align}
