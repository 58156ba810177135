"""Directed rows of dot products whose large terms vanish: what was shifted out of the adder, or not, is all that is left to see."""

from __future__ import annotations

from emu.vectors.dot_draws import Draw
from emu.vectors.dot_field import Draft, Field


def cancel(field: Field, draw: Draw) -> Draft:
    """The second half repeats the first with B negated; then one element of A changes in 70 % of the rows; C is zero or small."""
    draft = field.draft()
    half = field.k // 2
    if field.movable:
        field.move(draft, draw.between(-20, 20), draw)
    near = draw.chance(50)
    anchor = draw.between(*_window(field))
    for part in range(max(1, field.parts // 2)):
        exp = anchor if part == 0 or near else draw.between(max(field.exps[0], anchor - field.frac_bits - 6), anchor)
        field.set_exp(draft, part, exp, draw)
    for lane in range(half):
        draft.a[lane] = field.a.any(draw)
        draft.b[lane] = _negatable(field, draw)
        draft.a[half + lane], draft.b[half + lane] = draft.a[lane], field.b.negated(draft.b[lane])
    if field.blocks > 1:
        for scales in (draft.scale_a, draft.scale_b):
            scales[field.blocks // 2 :] = scales[: field.blocks // 2]
    if draw.chance(70):
        draft.a[draw.below(field.k)] = field.a.any(draw)
    draft.c = _little(field, draw)
    return draft


def _window(field: Field) -> tuple[int, int]:
    """Return the exponents from which bits fall off the adder, or the upper half of what there is."""
    low, high = field.exps
    return min(max(low, field.finest + field.frac_bits - 2), high), high


def _negatable(field: Field, draw: Draw) -> int:
    while True:
        code = field.b.any(draw)
        if field.b.negated(code) != code or not field.b.value(code):
            return code


def _little(field: Field, draw: Draw) -> int:
    """Return zero, -0, or a C of 2^-30 .. 2^-8."""
    if draw.chance(40):
        return field.c.zero(draw)
    return field.addend(draw.between(max(-30, field.c.min_exp), -8), draw)


def cancelled_group(field: Field, draw: Draw) -> Draft:
    """One part cancels under the largest exponents; the others are sparse and lie where bits of the adder end; C is zero or tiny."""
    draft = field.draft()
    anchor = _anchor(field, draw)
    _move_to(field, draft, anchor, draw)
    first = draw.below(field.parts)
    field.set_exp(draft, first, anchor, draw)
    pairs = draw.of([1, 1, 2, 8]) if field.grouped else draw.of([1, 1, 2])
    for _ in range(pairs):
        other = first if field.grouped else (first + draw.between(1, field.parts - 1)) % field.parts
        field.cancel(draft, first if field.grouped else _new_part(field, draft, draw), other, draw, anchor)
    _straddle(field, draft, anchor, draw, {first} if field.grouped else set())
    tiny = draw.chance(25)
    draft.c = field.addend(anchor - field.frac_bits + draw.between(-3, 2), draw) if tiny else field.c.zero(draw)
    return draft


def _new_part(field: Field, draft: Draft, draw: Draw) -> int:
    free = [part for part in range(field.parts) if part not in draft.used]
    return draw.of(free) if free else draw.below(field.parts)


def _anchor(field: Field, draw: Draw) -> int:
    """Return an exponent for the largest terms, such that terms exist at the end of the adder below it."""
    low, high = field.exps
    least = field.finest + field.frac_bits - 1
    if field.movable:
        return high
    if least >= high:
        return high
    if draw.chance(60) and high - least > 200:
        return draw.between(max(low, least, -100), min(high, 100))
    return draw.between(max(low, least), high)


def _move_to(field: Field, draft: Draft, anchor: int, draw: Draw) -> None:
    """Give scales that all products share a place of their own; the anchor is what elements reach without them."""
    if field.movable:
        field.move(draft, draw.between(-60, 60) if draw.chance(80) else draw.between(-130, -90), draw)


def _straddle(field: Field, draft: Draft, anchor: int, draw: Draw, taken: set[int]) -> None:
    """Put small terms of few bits around the last bit that the adder keeps below an anchor."""
    lsb = anchor + field.shared_exp(draft) - field.frac_bits
    left = [part for part in range(field.parts) if part not in taken and not set(field.lanes(part)) & set(draft.used)]
    if not left:
        return
    style = draw.below(4)
    part = draw.of(left)
    if style == 0:  # two halves of the last bit in one part: kept only where the part is added first
        got = field.power(draft, part, lsb - 1, 0, draw)
        field.power(draft, part if field.grouped else _new_part(field, draft, draw), got, 0, draw, keep_scales=True)
    elif style == 1:  # the last bit and the one below
        got = field.power(draft, part, lsb + draw.between(0, 1), draw.bits(1), draw)
        field.power(draft, part if field.grouped else _new_part(field, draft, draw), got - 1, draw.bits(1), draw, keep_scales=True)
    else:
        field.power(draft, part, lsb + draw.of([-1, -1, 0, 0, 1, 2]), draw.bits(1), draw)
    for other in [one for one in left if one != part][: draw.of([0, 0, 1, 2])]:
        if not set(field.lanes(other)) & set(draft.used):
            field.power(draft, other, lsb + draw.between(-2, 8), draw.bits(1), draw)


def align_edge(field: Field, draw: Draw) -> Draft:
    """Two terms, or one and C, whose exponents lie F - 6 .. F + 3 apart; the larger one often vanishes by a second product."""
    draft = field.draft()
    anchor = _anchor(field, draw)
    _move_to(field, draft, anchor, draw)
    style = draw.below(10)
    shared = field.shared_exp(draft)
    first = draw.below(field.parts)
    small = _new_part(field, draft, draw)
    if style < 4:  # the larger term cancels: inside its part, or against another one
        field.set_exp(draft, first, anchor, draw)
        other = first if field.grouped and draw.chance(50) else (first + 1) % field.parts
        if other != first and field.grouped:
            for scales in (draft.scale_a, draft.scale_b):
                for mine, theirs in zip(field.part_blocks(first), field.part_blocks(other), strict=True):
                    scales[theirs] = scales[mine]
        field.cancel(draft, first, other, draw, anchor + shared, full=draw.chance(40))
        draft.c = field.c.zero(draw)
    elif style < 7:
        field.set_exp(draft, first, anchor, draw)
        field.product(draft, first, draw, anchor + shared)
        draft.c = field.c.zero(draw)
    else:
        draft.c = field.addend(anchor + shared, draw)
    left = [part for part in range(field.parts) if not set(field.lanes(part)) & set(draft.used)]
    small = draw.of(left) if left else small
    distance = field.frac_bits + draw.between(-3, 6)
    if draw.chance(50):
        field.power(draft, small, anchor + shared - distance, draw.bits(1), draw)
    else:
        field.set_exp(draft, small, anchor - distance, draw)
        for _ in range(draw.between(1, 2) if field.grouped else 1):
            field.product(draft, small, draw, anchor + shared - distance)
    return draft


def c_edge(field: Field, draw: Draw) -> Draft:
    """C = -(product sum) and one ulp beside it, or an exponent at an edge of the adder or of the result away from the sum's."""
    draft = field.draft()
    anchor = draw.between(*_window(field))
    if field.movable:
        field.move(draft, draw.between(-60, 60), draw)
    for part in range(field.parts):
        field.set_exp(draft, part, max(field.exps[0], anchor - (0 if draw.chance(40) else draw.between(0, 12))), draw)
    field.fill(draft, draw, draw.of([10, 50, 100]))
    total = field.total(draft)
    if not total:
        draft.c = field.addend(0, draw)
        return draft
    if draw.chance(50):
        code = field.c.below(-total)
        near = code + draw.between(-1, 1)
        draft.c = near if field.c.is_finite(near) else code
        return draft
    edges = (*range(field.frac_bits - 2, field.frac_bits + 2), 23, 24, 25, 12, 13, 14)
    distance = draw.of(edges) * (1 if draw.chance(50) else -1)
    draft.c = field.addend(field.ulp_exp(total) + distance, draw)
    return draft
