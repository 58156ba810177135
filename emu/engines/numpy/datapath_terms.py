"""Terms of a fused step over all outputs of a tile: group sums or products, exact in binary64, and their exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.datapath_operands import DEAD, Side
from emu.engines.numpy.datapath_round import F64, exponent
from emu.engines.numpy.datapath_shape import Shape
from emu.engines.numpy.datapath_special import outer

I16 = NDArray[np.int16]
FEW_TERMS = 4  # whose exponents are worked on together


def step_sum(a: Side, b: Side, step: int, shape: Shape) -> F64:
    """Return the sum of all products of a step; exact where binary64 holds it, which the caller knows."""
    size = shape.plan.step
    part = slice(step * size, (step + 1) * size)
    total: F64 = np.matmul(a.value[..., part], np.swapaxes(b.value[..., part], -1, -2))
    return total


def term_of(a: Side, b: Side, step: int, number: int, shape: Shape) -> F64:
    """Return one term of a step, exact: a scaled group sum, or a scaled product."""
    size = shape.plan.group if shape.grouped else 1
    first = step * shape.plan.step + number * size
    if shape.grouped:
        total: F64 = np.matmul(a.value[..., first : first + size], np.swapaxes(b.value[..., first : first + size], -1, -2))
        return total
    x, y = outer(a.value[..., first], b.value[..., first])
    product: F64 = x * y
    return product


def term_exp(a: Side, b: Side, place: int | slice, shape: Shape) -> I16:
    """Return the nominal exponent of the term at a place of the K axis, far below every exponent where it is not live.

    place: a slice gives the exponents of several terms, one after another on a first axis.
    """
    x, y = outer(a.exp[place], b.exp[place])
    exp: I16 = x + y
    if a.bits is not None and b.bits is not None and not shape.by_sum:
        p, q = outer(a.bits[place], b.bits[place])
        live = p & q
        np.minimum(live, live.dtype.type(1), out=live)
        dead: I16 = live.view(np.int16) if live.dtype == np.uint16 else live.astype(np.int16)
        dead -= 1
        dead <<= 13
        exp += dead
    if shape.raised:
        exp += np.int16(shape.raised)
    return exp


def largest_exp(a: Side, b: Side, step: int, shape: Shape) -> NDArray[Any]:
    """Return the largest exponent of the live terms of a step, and at least that where nothing is live."""
    first, last = step * shape.terms, (step + 1) * shape.terms
    if not shape.by_sum and shape.terms <= FEW_TERMS:
        best: I16 = term_exp(a, b, slice(first, last), shape).max(axis=0, initial=shape.least)
        return best
    best = np.array(np.int16(shape.least))
    for place in range(first, last):
        exp = _exp_by_sum(a, b, step, place - first, shape) if shape.by_sum else term_exp(a, b, place, shape)
        best = np.maximum(best, exp, out=exp)
    return best


def _exp_by_sum(a: Side, b: Side, step: int, number: int, shape: Shape) -> I16:
    """Return the exponent of a term that depends on its sum: normalised, or not counted where it cancels."""
    align = shape.plan.facts.align
    total = term_of(a, b, step, number, shape)
    exp = term_exp(a, b, step * shape.terms + number, shape)
    if shape.grouped:
        exp = _live_only(a, b, step * shape.terms + number, exp, total, shape)
    if align.exponent == "normalised":
        leading = exponent(total, -1022) + shape.raised
        exp = np.where(total != 0, leading, exp).astype(np.int16)
    return exp


def _live_only(a: Side, b: Side, place: int, exp: I16, total: F64, shape: Shape) -> I16:
    """Return exponents of groups with those that are not live far below: all products zero, or (where that counts) a sum of zero."""
    if shape.plan.facts.align.cancelled_group_counts == "no":
        return np.where(total != 0, exp, np.int16(2 * DEAD))
    size = shape.plan.group
    x, y = (side.value[..., place * size : (place + 1) * size] != 0 for side in (a, b))
    alive = np.matmul(x.astype(np.float32), np.swapaxes(y.astype(np.float32), -1, -2)) > 0
    return np.where(alive, exp, np.int16(2 * DEAD))
