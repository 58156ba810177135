"""Directed rows of dot products over the whole range: uniform bits, rounded normal data, spread exponents, full carries, chains."""

from __future__ import annotations

from fractions import Fraction

from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.dot.field import Draft, Field
from emu.engines.exact.value import power_of_two

SPREAD = 45  # scale exponents of exp_spread lie within this of 0


def uniform_bits(field: Field, draw: Draw) -> Draft:
    """Every code, scale and C uniform over the finite bit patterns."""
    draft = field.draft()
    field.fill(draft, draw)
    if field.scale is not None:
        draft.scale_a = [field.scale.any(draw) for _ in range(field.blocks)]
        draft.scale_b = [field.scale.any(draw) for _ in range(field.blocks)]
    draft.c = field.c.any(draw)
    return draft


def gaussian(field: Field, draw: Draw) -> Draft:
    """Rounded normal data, scale exponents -3 .. 3, C of the size of the sum."""
    draft = field.draft()
    for codes, out in ((field.a, draft.a), (field.b, draft.b)):
        unit = _deviation(codes)
        out[:] = [codes.nearest(draw.normal() * unit) for _ in range(field.k)]
    if field.scale is not None:
        for scales in (draft.scale_a, draft.scale_b):
            scales[:] = [field.scale_at(draw.between(-3, 3), draw) for _ in range(field.blocks)]
    total = field.total(draft)
    draft.c = field.addend(field.ulp_exp(total) + draw.between(-2, 2) if total else 0, draw)
    return draft


def _deviation(codes: Codes) -> Fraction:
    """Return what 1/256 of a standard deviation is: 1, or a third of the largest number of a narrow grid."""
    top = abs(codes.value(codes.max_code))
    return Fraction(1, 256) if top > 16 else top / (3 * 256)


def exp_spread(field: Field, draw: Draw) -> Draft:
    """Scale exponents over a wide range, C anywhere in it; elements spread where they carry the exponents."""
    draft = field.draft()
    low, high = (0, 0) if field.scale is None else (max(field.scale.min_exp, -SPREAD), min(field.scale.max_exp, SPREAD))
    if field.movable:
        low, high = low // 3, high // 3
    if field.scale is not None:
        for scales in (draft.scale_a, draft.scale_b):
            scales[:] = [field.scale_at(draw.between(low, high), draw) for _ in range(field.blocks)]
    if field.grouped:
        field.fill(draft, draw)
    else:
        _spread_products(field, draft, draw)
    least, most = field.a.min_exp + field.b.min_exp + 2 * low, field.a.max_exp + field.b.max_exp + 2 * high
    draft.c = field.c.zero(draw) if draw.chance(4) else field.addend(draw.between(least * 2 // 3, most), draw, int(draw.chance(34)))
    return draft


def _spread_products(field: Field, draft: Draft, draw: Draw) -> None:
    """Products over their range of exponents; in half of the rows over the lower part of it, with subnormal elements."""
    low, high = field.exps
    top = low + (high - low) // 2 if draw.chance(66 if field.movable else 4) else high - draw.between(0, 4)
    for lane in range(field.k):
        field.product(draft, lane, draw, field.shared_exp(draft) + draw.between(low, top))
    for lane in draw.some(field.k, draw.of([2, field.k // 4]) if field.movable else 1):
        side, codes = draw.of([(draft.a, field.a), (draft.b, field.b)])
        side[lane] = codes.signed(codes.low(draw), draw.bits(1))


def saturated_same_sign(field: Field, draw: Draw) -> Draft:
    """Every element at the largest magnitude and of one sign, scales with full significands: the whole carry width; C all ones."""
    draft = field.draft()
    sign, plain = draw.bits(1), draw.chance(4)
    fullest = draw.chance(85)
    first, second = (_fullest(field.a), _fullest(field.b)) if fullest else (field.a.largest, field.b.largest)
    draft.a, draft.b = [field.a.signed(first, sign)] * field.k, [second] * field.k
    if field.scale is not None:
        exps = [draw.between(*_scale_range(field)) for _ in range(2)]
        for scales, exp in ((draft.scale_a, exps[0]), (draft.scale_b, exps[1])):
            scales[:] = [field.scale_at(exp, draw, full=not plain)] * field.blocks
    exp = _top_exp(field, draft)
    shift = 0 if draw.chance(60) else draw.between(-3, 14)
    code = field.c.at(exp + shift, field.c.full if draw.chance(80) else draw.bits(field.c.frac_bits), sign if draw.chance(95) else 1 - sign)
    draft.c = code if field.c.is_finite(code) else 0
    for lane in draw.some(field.k, draw.of([0, 0, 0, 0, 0, 0, 1, 2])):
        draft.a[lane] = field.a.signed(field.a.one, sign)
    return draft


def _fullest(codes: Codes) -> int:
    """Return the code whose significand is the largest: the largest number may have fewer ones."""
    return codes.significand_full if codes.frac_bits else codes.largest


def _scale_range(field: Field) -> tuple[int, int]:
    assert field.scale is not None
    return max(field.scale.min_exp, -20), min(field.scale.max_exp - (field.scale.significand_full < field.scale.max_code), 20)


def _top_exp(field: Field, draft: Draft) -> int:
    """Return the exponent of the terms of a row whose parts are alike."""
    if field.grouped:
        return field.part_exp(draft, 0)
    return field.shared_exp(draft) + field.a.exponent(draft.a[0]) + field.b.exponent(draft.b[0])


def overflow(field: Field, draw: Draw) -> Draft:
    """Sums and C near the largest result, both signs, on both sides of the border."""
    draft, sign = field.draft(), int(draw.chance(40))
    top = field.d.max_exp
    reach = min(top, field.exps[1] + (2 * field.scale.max_exp if field.movable and field.scale else 0))
    if field.movable:
        field.move(draft, draw.between(top - 13, top) - draw.between(0, field.exps[1]), draw)
    few = field.grouped and reach < top
    depth = 12 if few or draw.chance(75) else 2
    same = 40 if few else 85  # products that reach the largest result push it over; others borrow from C
    for part in draw.some(
        field.parts, draw.between(max(1, field.parts // 2), field.parts) if few else draw.between(1, max(2, field.parts // 2))
    ):
        field.set_exp(draft, part, draw.between(reach - 13, reach), draw)
        for _ in range(draw.between(1, 3) if field.grouped else 1):
            field.product(draft, part, draw, draw.between(reach - depth, reach), sign if draw.chance(same) else 1 - sign)
    if reach < top and not field.grouped and draw.chance(35):
        draft.c = field.addend(draw.between(reach - 4, reach + 3), draw, sign)
        return draft
    limit = power_of_two(top + 1) - (power_of_two(top - field.d.frac_bits) if draw.chance(70) else 0)
    total = field.total(draft)
    if draw.chance(60) and abs(total) < 2 * limit:
        draft.c = _beside(field, field.c.below((-1 if sign else 1) * limit - total), draw)
    else:
        draft.c = field.c.at(top, field.c.full if draw.chance(60) else draw.bits(field.c.frac_bits), sign if draw.chance(85) else 1 - sign)
    return draft


def _beside(field: Field, code: int, draw: Draw) -> int:
    """Return a code of C up to two ulps away."""
    near = code + draw.between(-1, 2)
    return near if near >= 0 and field.c.is_finite(near) and (near ^ code) & field.c.sign_bit == 0 else code


def chain(parts: list[Draft]) -> Draft:
    """Instructions one after another; the first one's C starts the chain."""
    out = Draft([], [], [], [], parts[0].c)
    for part in parts:
        out.a += part.a
        out.b += part.b
        out.scale_a += part.scale_a
        out.scale_b += part.scale_b
    return out
