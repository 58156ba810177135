"""Directed rows of dot products whose large terms vanish: what was shifted out of the adder, or not, is all that is left to see."""

from __future__ import annotations

from emu.contracts.dot.codes import Draw
from emu.contracts.dot.field import Draft, Field


def cancel(field: Field, draw: Draw) -> Draft:
    """The second half repeats the first with B negated; then one element of A changes in 70 % of the rows; C is zero or small."""
    draft = field.draft()
    half = field.k // 2
    if field.movable:
        field.move(draft, draw.between(-20, 20), draw)
    near, anchor = draw.chance(30), draw.between(*_window(field))
    low = range(half)
    by_c = field.exps[0] < -60 and draw.chance(50)  # C takes the place of the large terms
    if by_c:
        anchor = draw.between(-30, -8) - field.frac_bits + draw.between(0, 8)
    for part in range(max(1, field.parts // 2)):
        small = part > 0 and not near and field.grouped
        exp = anchor - (field.frac_bits - draw.between(-2, 6) if small and not by_c else 0)
        field.set_exp(draft, part, exp, draw)
        low = field.lanes(part) if small else low
    for lane in range(half):
        draft.a[lane] = field.a.any(draw)
        draft.b[lane] = _negatable(field, draw)
        draft.a[half + lane], draft.b[half + lane] = draft.a[lane], field.b.negated(draft.b[lane])
    if field.blocks > 1:
        for scales in (draft.scale_a, draft.scale_b):
            scales[field.blocks // 2 :] = scales[: field.blocks // 2]
    if draw.chance(70):
        lane = low.start + draw.below(len(low)) if draw.chance(70) else draw.below(field.k)
        draft.a[lane] = field.a.any(draw)
    draft.c = field.addend(anchor + field.frac_bits - draw.between(0, 8), draw) if by_c else _little(field, draw)
    return draft


def _window(field: Field) -> tuple[int, int]:
    """Return the exponents from which bits fall off the adder, or the upper half of what there is."""
    low, high = field.exps
    return min(max(low, field.finest + field.frac_bits + 1), high), high


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
    apart = draw.chance(10)  # two groups under one scale
    pairs = draw.of([1, 1, 2, 8]) if field.grouped else draw.of([1, 1, 2])
    for _ in range(pairs):
        other = first if field.grouped else (first + draw.between(1, field.parts - 1)) % field.parts
        field.cancel(draft, first if field.grouped else _new_part(field, draft, draw), other, draw, anchor, apart=apart)
    if draw.chance(86):
        _sparse(field, draft, anchor, draw)
    else:
        _straddle(field, draft, anchor, draw)
    tiny = draw.chance(20)
    lsb = anchor + field.shared_exp(draft) - field.frac_bits
    draft.c = field.addend(lsb + draw.between(-3, 4), draw) if tiny else field.c.zero(draw)
    return draft


def _sparse(field: Field, draft: Draft, anchor: int, draw: Draw) -> None:
    """Several products in every part that is left, their finest bits just below the last one that the adder keeps."""
    lsb = anchor + field.shared_exp(draft) - field.frac_bits
    grid = field.a.lsb_exp + field.b.lsb_exp
    percent = draw.of([20, 40, 60])
    if not field.grouped:
        _sparse_products(field, draft, lsb, percent, draw)
        return
    assert field.scale is not None
    for part in _left(field, draft):
        field.scale_power(draft, part, lsb - draw.of([0, 1, 1, 1, 2, 2, 3]) - grid, draw)
        for lane in field.lanes(part):
            if draw.chance(percent):
                odd = draw.chance(75)
                draft.a[lane], draft.b[lane] = (codes.odd(draw) if odd else codes.nonzero(draw) for codes in (field.a, field.b))


def _sparse_products(field: Field, draft: Draft, lsb: int, percent: int, draw: Draw) -> None:
    """The same where a product is aligned alone: products whose own bits straddle the last one, or the smallest there are."""
    for lane in _left(field, draft):
        if draw.chance(percent + 20):
            exp = lsb + draw.between(0, field.plan.product_frac_bits + 1)
            field.product(draft, lane, draw, exp, int(draw.chance(62)))
            if exp <= field.shared_exp(draft) + field.exps[0] and draw.chance(70):
                side, codes = draw.of([(draft.a, field.a), (draft.b, field.b)])
                side[lane] = codes.signed(codes.low(draw), draw.bits(1))


def _left(field: Field, draft: Draft) -> list[int]:
    """Return the parts that nothing has been put into."""
    return [part for part in range(field.parts) if not set(field.lanes(part)) & set(draft.used)]


def _new_part(field: Field, draft: Draft, draw: Draw) -> int:
    free = [part for part in range(field.parts) if part not in draft.used]
    return draw.of(free) if free else draw.below(field.parts)


def _anchor(field: Field, draw: Draw) -> int:
    """Return an exponent for the largest terms, such that terms exist at the end of the adder below it."""
    low, high = field.exps
    least = field.finest + field.frac_bits + (1 if draw.chance(90) else -1)
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


def _straddle(field: Field, draft: Draft, anchor: int, draw: Draw) -> None:
    """Put small terms of few bits around the last bit that the adder keeps below an anchor, a larger one beside them."""
    lsb = anchor + field.shared_exp(draft) - field.frac_bits
    left = _left(field, draft)
    if not left:
        return
    style, part, sign = draw.below(4), draw.of(left), int(draw.chance(65))
    exps = ((lsb - 1, -1), (lsb, -1), (lsb - 1, -1), (lsb + draw.of([-1, -1, 0, 0, 1, 2]), None))[style]
    got = field.power(draft, part, exps[0], sign, draw)
    if exps[1] is not None:  # a second product of the same part: half a bit twice, or the bit and the one below
        other = part if field.grouped else _new_part(field, draft, draw)
        field.power(draft, other, got + (0 if style == 0 else exps[1]), sign, draw, keep_scales=True)
    rest = _left(field, draft)
    if rest and draw.chance(70):
        field.power(draft, draw.of(rest), lsb + draw.between(0, 8), draw.bits(1), draw)


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
        field.cancel(draft, first, other, draw, anchor + shared, full=draw.chance(40), apart=draw.chance(60))
        draft.c = field.c.zero(draw)
    elif style < 7:
        field.set_exp(draft, first, anchor, draw)
        field.product(draft, first, draw, anchor + shared)
        draft.c = field.c.zero(draw)
    else:
        draft.c = field.addend(anchor + shared, draw)
    left = _left(field, draft)
    small = draw.of(left) if left else small
    distance = field.frac_bits + draw.between(-3, 6)
    if draw.chance(60):
        _straddle(field, draft, anchor, draw)
    elif draw.chance(50):
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
    if draw.chance(42):
        code = field.c.below(-total)
        near = code + draw.between(-1, 1)
        draft.c = near if field.c.is_finite(near) else code
        return draft
    edges = (*range(field.frac_bits - 2, field.frac_bits + 3), 23, 24, 25, 12, 13, 14)
    distance = draw.of(edges) * (1 if draw.chance(78) else -1)
    draft.c = field.addend(field.ulp_exp(total) + distance, draw, int(total > 0) if draw.chance(82) else int(total < 0))
    return draft
