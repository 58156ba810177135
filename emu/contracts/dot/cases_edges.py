"""Directed rows of dot products at the ends: NaN and infinity, zeros, subnormal numbers, and the floor of the exponent."""

from __future__ import annotations

from emu.contracts.dot.cases_cancel import align_edge
from emu.contracts.dot.cases_spread import exp_spread, gaussian
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.dot.field import Draft, Field
from emu.engines.exact.value import power_of_two

FLOOR_DISTANCES = (-2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4)  # of the opposite term from the last bit of the adder
SHARED_DISTANCES = (-2, -1, -1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 6)


def subnormal_out(field: Field, draw: Draw) -> Draft:
    """Results below the smallest normal number: tiny scales where they reach that far, else products that vanish beside a subnormal C."""
    draft = field.draft()
    least, bare = field.d.lsb_exp, draw.chance(25)
    if field.scale is not None and 2 * field.scale.min_exp < least:
        total = draw.between(least + (4 if draw.chance(80) else -1), field.d.min_exp - 5 * bare)
        if field.movable:
            field.move(draft, total - draw.between(4, 4 + field.exps[1]), draw)
        for part in range(field.parts):
            field.set_exp(draft, part, total - draw.between(0, 4), draw)
        field.fill(draft, draw, 20 if draw.chance(5) else 100)
        draft.c = field.c.zero(draw) if bare else _tiny_c(field, draw, 90)
        return draft if draw.chance(94) else _below_everything(field, draw)
    _vanishing(field, draft, draw)
    draft.c = _tiny_c(field, draw, 85)
    return draft


def _below_everything(field: Field, draw: Draw) -> Draft:
    """One negative product below the smallest result: it truncates to zero."""
    draft = field.draft()
    exp = field.d.lsb_exp - draw.between(1, 8)
    field.move(draft, exp, draw)
    field.power(draft, 0, exp, 1, draw)
    return draft


def _tiny_c(field: Field, draw: Draw, percent: int) -> int:
    """Return a subnormal C, or one near the smallest normal, or zero."""
    if draw.chance(percent):
        return field.c.signed(1 + draw.below((1 << field.c.frac_bits) - 1), draw.bits(1))
    return field.c.zero(draw) if draw.chance(50) else field.addend(field.c.min_exp + draw.between(0, 3), draw)


def _vanishing(field: Field, draft: Draft, draw: Draw) -> None:
    """Products that are zero one by one, or cancel, or (rarely) stay."""
    style = draw.below(10)
    for lane in range(field.k):
        if draw.chance(50):
            draft.a[lane], draft.b[lane] = field.a.zero(draw), field.b.any(draw)
        else:
            draft.a[lane], draft.b[lane] = field.a.any(draw), field.b.zero(draw)
    for part in range(field.parts):
        field.set_exp(draft, part, draw.between(*field.exps), draw)
    if style == 9:
        field.product(draft, draw.below(field.parts), draw, field.exps[0])


def zeros(field: Field, draw: Draw) -> Draft:
    """Zero blocks and zero scales under the largest scale of the other operand, zero products of large elements, signed zeros, tiny C."""
    draft = field.draft()
    dead = set(draw.some(field.parts, draw.between(1, max(1, field.parts - 1))))
    low = draw.of([0, 0, 1]) * draw.between(-140, -100) if field.exps[0] < -140 else 0
    if field.movable:
        field.move(draft, draw.of([0, draw.between(-140, -100)]), draw)
    alive = draw.chance(30)
    for part in range(field.parts):
        if part in dead:
            _dead_part(field, draft, part, draw)
        elif alive:
            field.set_exp(draft, part, min(max(field.exps[0], low - draw.between(0, 30)), field.exps[1]), draw)
            exp = field.exps[0] + draw.between(0, 3) + field.shared_exp(draft)
            field.product(draft, part, draw, exp)
    if field.scale is not None and not field.scale.has_zero and draw.chance(15):
        return _lowest_scale(field, draw)
    near = field.shared_exp(draft) + min(0, field.exps[1] - field.frac_bits) + draw.between(-24, 0)
    if draw.chance(30):
        draft.c = _tiny_c(field, draw, 80)
    else:
        draft.c = field.addend(max(field.c.min_exp, near), draw)
    return draft


def _lowest_scale(field: Field, draw: Draw) -> Draft:
    """Products under the lowest scale, whose code might be taken for zero, and a large one of the other operand."""
    draft = field.draft()
    assert field.scale is not None
    block = draw.below(field.blocks)
    pair = [0, field.scale_at(draw.between(field.scale.max_exp - 30, field.scale.max_exp), draw)]
    order = draw.bits(1)
    draft.scale_a[block], draft.scale_b[block] = pair[order], pair[1 - order]
    for lane in range(block * field.plan.block, (block + 1) * field.plan.block):
        draft.a[lane], draft.b[lane] = field.a.any(draw), field.b.any(draw)
    draft.c = field.c.zero(draw)
    return draft


def _dead_part(field: Field, draft: Draft, part: int, draw: Draw) -> None:
    """Zero elements, or a zero scale, under the largest scale or element of the other operand."""
    zero_scale = field.grouped and field.scale is not None and field.scale.has_zero and draw.chance(40)
    for lane in field.lanes(part):
        large = field.a.at(field.a.max_exp, draw.bits(field.a.frac_bits)) if draw.chance(50) else field.a.any(draw)
        other = field.b.any(draw) if zero_scale else field.b.zero(draw)
        draft.a[lane], draft.b[lane] = (large, other) if draw.chance(50) or zero_scale else (field.a.zero(draw), field.b.max_code)
    for block in field.part_blocks(part):
        assert field.scale is not None
        top = field.scale.at(field.scale.max_exp, draw.bits(field.scale.frac_bits))
        top = top if field.scale.is_finite(top) else field.scale.max_code
        pair = [0 if zero_scale else field.scale.any(draw) if draw.chance(20) else top, top]
        order = draw.bits(1)
        draft.scale_a[block], draft.scale_b[block] = pair[order], pair[1 - order]


def nan_scale(field: Field, draw: Draw) -> Draft:
    """One NaN scale; its block is all zero in half of the rows; C is infinite in 30 %."""
    draft = gaussian(field, draw)
    assert field.scale is not None
    block, size = draw.below(field.blocks), field.plan.block
    scales = draft.scale_a if draw.chance(50) else draft.scale_b
    scales[block] = draw.of(_nans(field.scale))
    if draw.chance(60):
        for lane in range(block * size, (block + 1) * size):
            zero_a, zero_b = field.a.zero(draw), field.b.zero(draw)
            draft.a[lane], draft.b[lane] = (zero_a, draft.b[lane]) if draw.chance(50) else (draft.a[lane], zero_b)
    if draw.chance(30) and field.c.inf:
        draft.c = draw.of(field.c.inf)
    return draft


def _nans(codes: Codes) -> list[int]:
    """Return NaN codes: of an IEEE format quiet and signalling ones of both signs."""
    if codes.inf:
        top = codes.inf[0]
        found = [top + 1, top + (codes.full + 1) // 2, top + codes.full]
        return [*found, *(code | codes.sign_bit for code in found)]
    return list(codes.nan)


def special_c(field: Field, draw: Draw) -> Draft:
    """C infinite, NaN, largest, smallest normal and subnormal, zero; the products are ordinary."""
    draft = gaussian(field, draw) if draw.chance(35) else field.draft()
    c, style = field.c, draw.below(100)
    if style < 25:
        draft.c = draw.of([*c.inf, *_nans(c)])
    elif style < 35:
        draft.c = draw.of([c.max_code, 0])
    else:
        draft.c = draw.of([c.at(c.min_exp), 1, *c.subnormals])
    if draw.chance(50) and c.is_finite(draft.c):
        draft.c = c.signed(draft.c, 1)
    return draft


def elem_special(field: Field, draw: Draw) -> Draft:
    """NaN and infinite elements, infinity times zero, infinities of both signs far apart, with and without a special C."""
    draft = gaussian(field, draw)
    style, lane, other = draw.below(4), *draw.some(field.k, 2)
    side, codes = (draft.a, field.a) if (field.a.nan and draw.chance(50)) or not field.b.nan else (draft.b, field.b)
    partner, their = (draft.b, field.b) if side is draft.a else (draft.a, field.a)
    if style == 0 or not codes.inf:
        side[lane] = draw.of(_nans(codes))
        partner[lane] = their.zero(draw) if draw.chance(40) else partner[lane]
    else:
        side[lane] = draw.of(codes.inf)
        partner[lane] = their.zero(draw) if style == 1 else their.signed(their.one, draw.bits(1))
        if style == 3:
            side[other] = draw.of(codes.inf)
            partner[other] = their.signed(their.one, draw.bits(1))
    if draw.chance(40):
        draft.c = draw.of([*field.c.inf, *_nans(field.c), field.c.max_code])
    return draft


def special_elements(field: Field) -> bool:
    """Tell whether an element format has NaN or infinity."""
    return bool(field.a.nan or field.b.nan or field.a.inf or field.b.inf)


def scale_signbit(field: Field, draw: Draw) -> Draft:
    """A scale with the unused bit above its code set: what it means is open."""
    draft = exp_spread(field, draw) if draw.chance(50) else gaussian(field, draw)
    assert field.scale is not None
    for block in draw.some(field.blocks, draw.between(1, 2)):
        scales = draft.scale_a if draw.chance(50) else draft.scale_b
        scales[block] |= 1 << field.scale.bits
    return draft


def floor_edge(field: Field, draw: Draw) -> Draft:
    """C = 0, a sum of k smallest subnormals whose exponent lies below the floor, and one opposite term at the last bit of the adder.

    30 %: the same around the smallest normal exponent with a subnormal C. Where no term is so small: the smallest ones there are.
    """
    floor = field.plan.floor if field.plan.floor is not None else field.d.min_exp - field.plan.integer_bits_needed
    draft = field.draft()
    with_c = draw.chance(14)
    exp = field.d.min_exp if with_c else floor
    target = exp - field.frac_bits + draw.of(FLOOR_DISTANCES if field.grouped else SHARED_DISTANCES)
    sign = draw.bits(1)
    if not reaches(field, target):
        return _lowest_terms(field, draft, draw)
    if with_c:
        code = draw.of([2, 3, 4, 2 + draw.below(1 << field.c.frac_bits >> 4), 2 + draw.below((1 << field.c.frac_bits) - 2)])
        draft.c = field.c.signed(code + (1 << max(0, target - field.c.lsb_exp + 2)), sign)  # larger than the opposite term
    if field.movable:
        _shared_floor(field, draft, target, sign, with_c, draw)
        return draft
    if not with_c:
        field.power(draft, 0, field.d.lsb_exp + draw.between(1, 3), sign, draw)
        for _ in range(draw.between(0, 2)):
            field.power(draft, 0, field.d.lsb_exp + draw.between(0, 2), sign, draw, keep_scales=True)
        if draw.chance(10):
            draft = field.draft()
    field.power(draft, field.parts - 1, target, 1 - sign, draw)
    return draft


def _shared_floor(field: Field, draft: Draft, target: int, sign: int, with_c: bool, draw: Draw) -> None:
    """The same where one pair of scales moves all products: the elements alone reach from the smallest subnormal to the target."""
    least, most = field.a.powers[0] + field.b.powers[0], field.a.powers[-1] + field.b.powers[-1]
    top = target if with_c else field.d.lsb_exp + 3
    shift = draw.between(max(top - most, -254), min(target - least, 254)) if top - most <= target - least else target - least
    field.move(draft, shift, draw)
    if not with_c:
        for lane in range(draw.between(1, 3)):
            field.power(draft, lane, field.d.lsb_exp + (draw.between(1, 3) if lane == 0 else draw.between(0, 2)), sign, draw)
    field.power(draft, field.k - 1, target, 1 - sign, draw)


def reaches(field: Field, exp: int) -> bool:
    """Tell whether some product is as small as 2^exp."""
    lowest = field.finest + (2 * field.scale.lsb_exp if field.movable and field.scale else 0)
    return lowest <= exp


def _lowest_terms(field: Field, draft: Draft, draw: Draw) -> Draft:
    """The smallest terms of the format, with a subnormal or tiny C."""
    if draw.chance(5):
        return align_edge(field, draw)
    exp = field.finest + (0 if field.grouped else field.shared_exp(draft))
    for part in draw.some(field.parts, draw.between(1, field.parts)):
        field.power(draft, part, exp + draw.between(0, 3), draw.bits(1), draw)
    draft.c = _tiny_c(field, draw, 40)
    if draw.chance(30):
        draft.c = field.c.below(power_of_two(exp) * draw.between(1, 64))
    return draft
