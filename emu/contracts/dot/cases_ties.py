"""Directed rows of dot products whose exact sum is half way between two results, and of the largest sums there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emu.contracts.dot.codes import Codes
from emu.contracts.dot.field import Draft, Field
from emu.contracts.dot.rows import DotRow

# of a sum: (place, sign); place 0 is the first term, 1 the last bit of the result, -1 half of it, -2 a quarter
TERMS: Final = (((0, 0), (-1, 0)), ((0, 0), (1, 0), (-1, 0)), ((0, 0), (-2, 1)))
BELOW: Final = (None, 44, 66, 0)  # C: none, so many places below the first term, or the smallest there is


def result_ties(field: Field) -> Iterator[DotRow]:
    """Yield sums half way between two results (even, odd, below a power of two), alone and with a C far below that breaks the tie.

    For group sums under scales that reach far enough; nothing elsewhere.
    """
    if field.plan.facts.scale.apply != "group" or field.scale is None:
        return
    for sign, top in enumerate((2 * field.scale.max_exp - 1, 2 * field.scale.max_exp - 4)):
        for terms in TERMS:
            for number, below in enumerate(BELOW):
                for c_sign in (0, 1) if below is not None else (0,):
                    draft = field.draft()
                    if _put(field, draft, [(_exp(top, place, field), sign ^ negative) for place, negative in terms], number):
                        draft.c = _addend(field.c, None if not below else top - below, c_sign) if below is not None else 0
                        yield draft.case()


def c_is_half(field: Field) -> Iterator[DotRow]:
    """Yield one product of a power of two and C of half a last bit of it, its lowest fraction bit clear and set; then an infinite C."""
    if field.plan.facts.scale.apply != "group" or field.scale is None:
        return
    for number in range(8):
        draft = field.draft()
        if _put(field, draft, [(-3, number & 1)], number):
            half = field.c.at(-4 - field.d.frac_bits) | (number >> 1 & 1)
            draft.c = field.c.signed(half, number >> 2)
            yield draft.case()
    for inf in field.c.inf:
        draft = field.draft()
        draft.a[1], draft.b[1], draft.c = field.a.one, field.b.one, inf
        yield draft.case()


def _exp(top: int, place: int, field: Field) -> int:
    """Return the exponent of a term: that of the first one, or counted from the last bit of the result."""
    return top if place == 0 else top - field.d.frac_bits + (place - 1 if place > 0 else place)


def _put(field: Field, draft: Draft, terms: list[tuple[int, int]], turn: int) -> bool:
    """Put one product of a power of two into a block each; False where blocks or scales do not reach."""
    assert field.scale is not None
    if len(terms) > field.blocks:
        return False
    for number, (exp, sign) in enumerate(terms):
        block = (number + turn) % field.blocks
        codes = field.scale.power(exp // 2), field.scale.power(exp - exp // 2)
        if codes[0] is None or codes[1] is None:
            return False
        draft.scale_a[block], draft.scale_b[block] = codes[0], codes[1]
        lane = block * field.plan.block + (5 * turn + number) % field.plan.block
        draft.a[lane], draft.b[lane] = field.a.signed(field.a.one, sign), field.b.one
    return True


def _addend(codes: Codes, exp: int | None, sign: int) -> int:
    """Return C with all fraction bits at an exponent, or the smallest subnormal."""
    return codes.signed(1 if exp is None else codes.at(exp, codes.full), sign)


def largest_sums(field: Field) -> Iterator[DotRow]:
    """Yield the largest sum of either sign: every element and every scale the largest, C zero. Nothing without scales."""
    if field.scale is None:
        return
    for sign in (0, 1):
        draft = field.draft()
        draft.a, draft.b = [field.a.signed(field.a.max_code, sign)] * field.k, [field.b.max_code] * field.k
        if sign == 0:
            draft.a, draft.b = [field.a.largest] * field.k, [field.b.largest] * field.k
        draft.scale_a, draft.scale_b = [field.scale.max_code] * field.blocks, [field.scale.max_code] * field.blocks
        yield draft.case()
