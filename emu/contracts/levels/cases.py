"""Directed rows of datapaths of levels: every kind of row is drawn, then aimed at the boundaries of the registers by what the model says.

A maker draws a row; `aim` changes one product so that a sum lies on, or just beside, an end or a tie of the register that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from emu.base.errors import EmuError
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.levels.field import Draft, Field
from emu.contracts.levels.rows import LevelsRow
from emu.contracts.levels.walk import Rounding, Walk, number_of, walk
from emu.engines.exact.levels import Number
from emu.engines.exact.value import power_of_two
from emu.spec.levels import rounding_of
from emu.spec.models.levels import FixedHold, FloatHold
from emu.spec.registry import get

Maker = Callable[[Field, Draw], Draft]


def uniform_bits(field: Field, draw: Draw) -> Draft:
    """Any finite codes, scales and C."""
    draft = field.draft()
    for lane in range(field.k):
        draft.any(lane, draw)
    _any_scales(draft, draw)
    if field.c is not None:
        draft.c = field.c.any(draw)
    return draft


def _any_scales(draft: Draft, draw: Draw) -> None:
    scale = draft.field.scale
    if scale is not None:
        for block in range(draft.field.blocks):
            draft.scale_a[block], draft.scale_b[block] = scale.any(draw), scale.any(draw)


def _near_scales(draft: Draft, draw: Draw) -> None:
    """Scales near 1, in half of the rows."""
    scale = draft.field.scale
    if scale is not None and draw.chance(50):
        for block in range(draft.field.blocks):
            for side in (draft.scale_a, draft.scale_b):
                side[block] = scale.at(draw.between(-3, 3), draw.bits(scale.frac_bits) if scale.frac_bits else 0)


def gaussian(field: Field, draw: Draw) -> Draft:
    """Normal data, scales near 1, C of the size of the sum."""
    draft = field.draft()
    _near_scales(draft, draw)
    exp = _middle(field)
    total = Fraction(0)
    for lane in range(field.k):
        total += draft.put(lane, Fraction(draw.normal(), 256) * power_of_two(exp))
    if draw.chance(70):
        draft.add_c(total * Fraction(draw.between(-512, 512), 256))
    return draft


def _middle(field: Field) -> int:
    """Return an exponent of ordinary products."""
    low, high = field.exps
    return min(max(0, low), high)


def exp_spread(field: Field, draw: Draw) -> Draft:
    """Exponents of products and C over a wide range, some lanes empty."""
    draft = field.draft()
    _near_scales(draft, draw)
    low, high = _window(field, draw)
    for lane in range(field.k):
        if draw.chance(75):
            draft.near(lane, draw.between(low, high), draw)
    if field.c is not None and draw.chance(80):
        draft.add_c(power_of_two(draw.between(low - 4, high + 4)) * (-1 if draw.bits(1) else 1))
    return draft


def _window(field: Field, draw: Draw) -> tuple[int, int]:
    """Return a range of exponents: as wide as a register, or all there is."""
    low, high = field.exps
    wide = draw.of((8, 16, 30, 60))
    top = min(high - 1, max(low, draw.between(-20, 40)))
    return max(low, top - wide), max(top, low)


def cancel(field: Field, draw: Draw) -> Draft:
    """Large products that cancel, in chosen places, and small ones beside them; C is one of them or small."""
    draft = field.draft()
    low, high = _window(field, draw)
    places = draw.some(field.k, field.k)
    pairs = draw.between(1, max(1, min(4, field.k // 3)))
    by_c = field.c is not None and draw.chance(35)
    for pair in range(pairs):
        if 2 * pair + 1 >= len(places):
            break
        got = draft.near(places[2 * pair], high, draw)
        if by_c and pair == 0:
            draft.add_c(-got)
        else:
            draft.put(places[2 * pair + 1], -got)
    for lane in places[2 * pairs :]:
        if draw.chance(60):
            draft.near(lane, draw.between(low, high - draw.between(0, 12)), draw)
    if not by_c and draw.chance(50):
        draft.add_c(power_of_two(draw.between(low, high)) * (-1 if draw.bits(1) else 1))
    return draft


def order(field: Field, draw: Draw) -> Draft:
    """A few large and small products of both signs in an order that decides what is rounded away."""
    draft = field.draft()
    _, high = _window(field, draw)
    gap = draw.of((2, 4, 8, 9, 11, 12, 23, 24, 25))
    for lane in range(field.k):
        sort = draw.below(4)
        if sort < 3:
            exp = high - (0, gap, gap + 1)[sort]
            draft.put(lane, power_of_two(exp) * Fraction(draw.of((2, -2, 2, 3, -2)), 2))
    if field.c is not None and draw.chance(60):
        draft.add_c(power_of_two(high - draw.of((0, gap, gap - 1))) * (-1 if draw.bits(1) else 1))
    return draft


def align_edge(field: Field, draw: Draw) -> Draft:
    """Two products, or one and C, that cancel or not, full significands, and small ones where an aligned addition stops keeping bits."""
    draft = field.draft()
    number, level = draw.of([(i, item) for i, item in enumerate(field.plan.levels, 1) if item.align is not None])
    assert level.align is not None
    lanes = field.products(number, draw.below(len(field.shape[number - 1])))
    lanes = [lanes[place] for place in draw.some(len(lanes), len(lanes))]
    x = field.a.at(draw.between(-4, 4), draw.bits(field.a.frac_bits))
    y = field.b.at(draw.between(-4, 4), draw.bits(field.b.frac_bits) if draw.chance(70) else field.b.full)
    draft.a[lanes[0]], draft.b[lanes[0]] = x, y
    big, exp = field.a.value(x) * field.b.value(y), field.a.exponent(x) + field.b.exponent(y)
    if len(lanes) > 1 and draw.chance(80):
        draft.a[lanes[1]], draft.b[lanes[1]] = _other_sign(field, x, y)
    elif draw.chance(70):
        draft.add_c(-big)
    own = None if level.facts.align is None else level.facts.align.cuts_running
    apart = [level.align.frac_bits] * 2 + ([] if own is None else [own.fraction_bits, own.drop_below or own.fraction_bits])
    last = exp - draw.of(apart)
    for lane in lanes[2:4]:
        draft.put(lane, power_of_two(last + draw.between(-3, 3)) * draw.of((1, -1, 3)))
    if field.c is not None and draft.c == 0 and draw.chance(60):
        draft.add_c(power_of_two(last + draw.between(-3, 3)) * draw.of((1, -1, 3)))
    if level.align.floor is not None and draw.chance(30):
        for lane in lanes:
            draft.near(lane, level.align.floor - draw.between(0, level.align.frac_bits + 2), draw)
    return draft


def saturated_same_sign(field: Field, draw: Draw) -> Draft:
    """The largest products of one sign, then of the other; scales and C large or 1."""
    draft = field.draft()
    if field.scale is not None and draw.chance(60):
        code = field.scale.max_code if draw.chance(50) else field.scale.at(draw.between(0, 10))
        for block in range(field.blocks):
            draft.scale_a[block] = code
            draft.scale_b[block] = code if draw.chance(50) else field.one
    turn = field.k if draw.chance(50) else draw.between(1, field.k)
    sign = draw.bits(1)
    for lane in range(field.k):
        minus = sign if lane < turn else 1 - sign
        x, y = field.a.largest, field.b.largest
        if (field.a.value(x) * field.b.value(y) < 0) != bool(minus):
            x, y = _other_sign(field, x, y)
        if draw.chance(97):
            draft.a[lane], draft.b[lane] = x, y
    if field.c is not None and draw.chance(60):
        draft.c = field.c.signed(draw.of((field.c.max_code, field.c.significand_full, field.c.at(_middle(field)))), sign ^ draw.bits(1))
    return draft


def _other_sign(field: Field, x: int, y: int) -> tuple[int, int]:
    if field.b.negated(y) != y:
        return x, field.b.negated(y)
    return (field.a.negated(x), y) if field.a.negated(x) != x else (field.a.max_code, y)


def register_end(field: Field, draw: Draw) -> Draft:
    """Sums up to the end of a register in fixed point, exactly, beyond by one unit or a part, then back; large scales where they help."""
    draft = field.draft()
    ends = _fixed_ends(field)
    if not ends:
        return saturated_same_sign(field, draw)
    largest, unit = draw.of(ends)
    minus = draw.bits(1)
    target = (-largest - unit if minus else largest) + unit * Fraction(draw.of((0, 0, 0, 4, -4, 8, 2, -2, 1)), 4)
    if minus and draw.chance(30):
        target -= unit
    lanes = list(range(field.k))
    if draw.chance(30):
        lanes = draw.some(field.k, field.k)
    if field.scale is not None:
        _scales_for(draft, abs(target), draw)
    last = draw.between(0, max(0, field.k // 4))
    if field.c is not None and draw.chance(50):
        draft.add_c(target * Fraction(draw.of((4, 2, 3, -1)), 4))
        assert draft.c is not None
        target -= field.c.value(draft.c)
    rest = draft.fill(lanes[: field.k - last], target)
    for lane in lanes[field.k - last :]:
        draft.put(lane, draw.of((1, -1)) * unit * draw.of((1, 1, 2, 3, 100)) if draw.chance(70) else -rest)
    return draft


def register_sums(field: Field, draw: Draw) -> Draft:
    """Sums that a register in fixed point holds exactly: its ends, powers of two with one unit more or less, of both signs."""
    draft = field.draft()
    largest, unit = draw.of(_fixed_ends(field))
    if field.scale is None and field.c is None:  # products alone may not reach the end
        largest = min(largest, field.k * abs(field.a.value(field.a.largest) * field.b.value(field.b.largest)))
    top = int(largest / unit)
    power = 1 << max(0, top.bit_length() - 1 - draw.below(top.bit_length()))
    units = draw.of((top, top, top - 1, power + 1, power + 1, power - 1, power, top - power))
    target = -(units + draw.below(2)) * unit if draw.bits(1) else units * unit
    lanes = list(range(field.k)) if draw.bits(1) else draw.some(field.k, field.k)
    if field.scale is not None:
        _scales_for(draft, abs(target), draw)
    if field.c is not None and draw.chance(30):
        draft.add_c(target)
        assert draft.c is not None
        target -= field.c.value(draft.c)
    draft.fill(lanes, target)
    return draft


def _fixed_ends(field: Field) -> list[tuple[Fraction, Fraction]]:
    """Return the largest number and the unit of every register in fixed point."""
    plan = field.plan
    holds = [(plan.facts.products.hold, plan.product_unit_exp), *((level.facts.hold, level.unit_exp) for level in plan.levels)]
    out = []
    for hold, unit_exp in holds:
        if isinstance(hold, FixedHold) and unit_exp is not None:
            unit = power_of_two(unit_exp)
            out.append((((1 << (hold.bits - 1)) - 1) * unit, unit))
    return out


def _scales_for(draft: Draft, target: Fraction, draw: Draw) -> None:
    """Give the first blocks scales under which their products reach a target, the last one 1 or less."""
    field, scale = draft.field, draft.field.scale
    assert scale is not None
    most = abs(field.a.value(field.a.largest) * field.b.value(field.b.largest)) * field.k
    exp = max(0, (int(target / most) or 1).bit_length() if target > most else 0)
    for block in range(field.blocks):
        lower = draw.of((0, 0, 2)) if block + 1 < field.blocks else -draw.below(4)
        both = exp - lower if block + 1 < field.blocks or field.blocks == 1 else lower
        first = both // 2
        draft.scale_a[block], draft.scale_b[block] = scale.at(first), scale.at(both - first)


def subnormal_out(field: Field, draw: Draw) -> Draft:
    """Products of the lowest exponents, C as small; the least scales in half of the rows."""
    draft = field.draft()
    if field.scale is not None and draw.chance(50):
        for block in range(field.blocks):
            draft.scale_a[block] = field.scale.at(field.scale.min_exp + draw.below(4))
    for lane in range(field.k):
        if draw.chance(70):
            draft.a[lane] = field.a.signed(field.a.low(draw), draw.bits(1))
            draft.b[lane] = field.b.low(draw) if draw.chance(60) else field.b.at(draw.between(field.b.min_exp, 2))
    if field.c is not None:
        draft.c = field.c.signed(field.c.low(draw) if draw.chance(60) else 0, draw.bits(1))
    return draft


def small_sums(field: Field, draw: Draw) -> Draft:
    """Sums around the smallest normal number of a register, out of few products."""
    draft = field.draft()
    names = [level.facts.hold.format for level in field.plan.levels if isinstance(level.facts.hold, FloatHold)]
    name = draw.of([*names, field.plan.facts.out.format])
    exp = Codes(get("format", name)).min_exp + draw.between(-12, 3)
    for lane in range(field.k):
        if draw.chance(60):
            draft.near(lane, exp - draw.between(0, 8), draw)
    if field.c is not None and draw.chance(50):
        draft.add_c(power_of_two(exp) * (-1 if draw.bits(1) else 1))
    return draft


def zeros(field: Field, draw: Draw) -> Draft:
    """Zero products of both signs, zero scales, a zero C, one number among them in some rows."""
    draft = field.draft()
    for lane in range(field.k):
        draft.a[lane] = field.a.zero(draw)
        draft.b[lane] = field.b.any(draw) if draw.chance(30) else field.b.zero(draw)
    if field.scale is not None and field.scale.has_zero and draw.chance(40):
        draft.scale_a = [0 if draw.chance(50) else code for code in draft.scale_a]
    if field.c is not None:
        draft.c = field.c.zero(draw) if draw.chance(80) else field.c.any(draw)
    style = draw.below(4)
    if style == 0:  # all of one sign
        sign = draw.bits(1)
        draft.a, draft.b = [field.a.signed(0, sign)] * field.k, [0] * field.k
        draft.c = None if field.c is None else field.c.signed(0, sign ^ (draw.below(4) == 0))
    elif style == 1:
        lane = draw.below(field.k)
        got = draft.near(lane, _middle(field), draw)
        if field.k > 1:
            draft.put((lane + draw.between(1, field.k - 1)) % field.k, -got)
    return draft


def specials(field: Field, draw: Draw) -> Draft:
    """NaN and infinity among the operands: one, or several of both signs; infinity times zero; an overflow beside them."""
    draft = (saturated_same_sign if draw.chance(25) else gaussian)(field, draw)
    sides = [(draft.a, field.a, 3), (draft.b, field.b, 3)]
    if field.scale is not None:
        sides += [(draft.scale_a, field.scale, 2), (draft.scale_b, field.scale, 2)]
    there = [(side, codes) for side, codes, _ in sides if codes.nan or codes.inf]
    choices = len(there) + int(field.c is not None and bool(field.c.nan or field.c.inf))
    for _ in range(draw.of((1, 1, 2, 3))):
        if not choices:
            break
        which = draw.below(choices)
        if which == len(there):
            assert field.c is not None
            draft.c = draw.of((*field.c.inf, *field.c.nan[:1], *field.c.inf))
            continue
        side, codes = there[which]
        lane = draw.below(len(side))
        side[lane] = draw.of((*codes.inf, *codes.inf, *codes.nan[:1]))
        if draw.chance(15) and side is draft.a:
            draft.b[lane] = field.b.zero(draw)
    return draft


def nan_scale(field: Field, draw: Draw) -> Draft:
    """A NaN scale; in half of the rows its block is zero, or cancels."""
    draft = gaussian(field, draw)
    if field.scale is None or not field.scale.nan:
        return specials(field, draw)
    block = draw.below(field.blocks)
    (draft.scale_a if draw.bits(1) else draft.scale_b)[block] = draw.of(field.scale.nan)
    size = field.plan.block
    if draw.chance(50):
        draft.a[block * size : (block + 1) * size] = [field.a.zero(draw) for _ in range(size)]
    elif draw.chance(40) and size > 1:
        draft.a[block * size : (block + 1) * size] = [0] * size
        draft.a[block * size], draft.b[block * size] = _one(field.a), _one(field.b)
        draft.a[block * size + 1], draft.b[block * size + 1] = field.a.negated(_one(field.a)), _one(field.b)
    return draft


def special_c(field: Field, draw: Draw) -> Draft:
    """C is NaN, infinite, the largest, the smallest, zero, any."""
    draft = gaussian(field, draw) if draw.chance(70) else zeros(field, draw)
    if field.c is not None:
        codes = [0, 1, field.c.full, field.c.full + 1, field.c.max_code, field.c.max_code - 1, *field.c.nan[:2], *field.c.inf]
        code = draw.of(codes)
        draft.c = field.c.negated(code) if draw.bits(1) and field.c.is_finite(code) else code
    return draft


def element_pairs(field: Field, draw: Draw) -> Draft:
    """One product of two codes in one lane, the lanes and codes in turn; or other codes in all lanes."""
    draft = field.draft()
    number = draw.start // 4
    if draw.chance(20):
        for lane in range(field.k):
            draft.any(lane, draw)
        return draft
    lane = draw.of((0, 1 % field.k, field.k - 1, draw.below(field.k), number % field.k))
    draft.any(lane, draw)
    return draft


def scale_codes(field: Field, draw: Draw) -> Draft:
    """Products of 1 under any scale codes, subnormal and largest ones among them."""
    draft = field.draft()
    scale = field.scale
    if scale is None:
        return element_pairs(field, draw)
    for lane in range(field.k):
        if draw.chance(50):
            draft.a[lane], draft.b[lane] = _one(field.a), _one(field.b)
    for block in range(field.blocks):
        draft.scale_a[block] = draw.of((scale.any(draw), scale.any(draw), scale.max_code, 1, 0))
        draft.scale_b[block] = draw.of((scale.any(draw), field.one))
    return draft


def aimed(field: Field, draw: Draw) -> Draft:
    """Another row, one product of it changed so that a sum lies on an end, a tie or beside them, where that can be."""
    draft = draw.of((gaussian, exp_spread, order, register_end, cancel, small_sums, saturated_same_sign))(field, draw)
    draft.words(draw)
    for _ in range(6):
        if aim(draft, draw):
            break
    return draft


def aim(draft: Draft, draw: Draw) -> bool:
    """Change one product so that a chosen sum is what an end or tie needs; tell whether it is."""
    field = draft.field
    lane = draw.below(field.k)
    draft.a[lane] = draft.b[lane] = 0
    told = told_of(draft.row(), field)
    if told is None:
        return False
    chosen = [item for item in told.roundings if _sees(item, lane, field)]
    if not chosen:
        return False
    item = draw.of(chosen)
    assert isinstance(item.before, Number)
    sum_ = number_of(item.before)
    for _ in range(4):
        target = draw.of(list(targets(item, sum_)))
        if item.word is not None and draw.chance(80):
            target = _threshold(draft, item, sum_, draw)
        got = draft.put(lane, target - sum_, exactly=True)
        if got == target - sum_ and got:
            return True
    draft.put(lane, draw.of(list(targets(item, sum_))) - sum_)
    return False


def _threshold(draft: Draft, item: Rounding, now: Fraction, draw: Draw) -> Fraction:
    """Return a sum that loses a part where the random word just carries, or just does not; set that word."""
    rounding, point = rounding_of(item.hold or "exact"), item.point
    assert rounding is not None and point is not None
    bits = rounding.random_bits
    part = draw.between(1, (1 << bits) - 1)
    place = next(i for i, one in enumerate(draft.field.draws) if one[1:4] == (item.level, item.node, item.turn))
    draft.random[place] = min(max((1 << bits) - part - draw.below(2), 0), (1 << bits) - 1)
    if draw.chance(30):
        draft.random[place] = draw.of((part, part - 1))
    unit = power_of_two(point.unit_exp)
    return ((now // unit) + Fraction(part, 1 << bits)) * unit


def told_of(row: LevelsRow, field: Field) -> Walk | None:
    """Return a row told; None where the datapath refuses it."""
    try:
        return walk(row, field.plan)
    except EmuError:
        return None


def _sees(item: Rounding, lane: int, field: Field) -> bool:
    """Tell whether a sum is a number that is rounded, with a lane among what is added."""
    plan = field.plan
    if not isinstance(item.before, Number) or item.hold in (None, "exact") or item.level <= 0:
        return False
    if item.level > len(plan.levels):
        return True
    words, children = plan.facts.levels[item.level - 1], field.shape[item.level - 1][item.node]
    if words.add == "chain" and item.sum is not None:
        by = words.by or 1
        loads = int(words.start == "c" and plan.loads_c)
        lot = children[(item.turn - loads) * by : (item.turn - loads + 1) * by]
    else:
        lot = children
    return any(lane in field.products(item.level - 1, child) for child in lot)


def targets(item: Rounding, now: Fraction) -> Iterator[Fraction]:
    """Yield sums at the boundaries of a register near what it is given now: ties of both parities, just beside them, its ends, zero."""
    hold, sign = item.hold, -1 if now < 0 else 1
    if isinstance(hold, FixedHold):
        assert item.unit_exp is not None
        unit = power_of_two(item.unit_exp)
        top = ((1 << (hold.bits - 1)) - 1) * unit
        for end in (top, -top - unit):
            yield from (end, end + unit, end - unit, end + unit / 2, end - unit / 2)
    elif isinstance(hold, FloatHold):
        codes = Codes(get("format", hold.format))
        largest = codes.value(codes.max_code)
        unit = power_of_two(item.point.unit_exp) if item.point else Fraction(1)
        ulp = power_of_two(codes.max_exp - codes.frac_bits)
        yield from (sign * largest, sign * (largest + ulp / 2), sign * (largest + ulp), sign * (largest + ulp / 2 - ulp / 4))
        lowest = power_of_two(codes.lsb_exp)
        yield from (sign * lowest / 2, sign * lowest * Fraction(3, 2), sign * power_of_two(codes.min_exp))
    else:
        unit = power_of_two(item.point.unit_exp) if item.point else Fraction(1)
    kept = now // unit
    for whole in (kept, kept + 1):
        yield from ((whole + part) * unit for part in TIES)
    yield from (Fraction(0), -now, (kept + 1) * unit)


TIES: Final = tuple(Fraction(part, 256) for part in (128, 128, 64, 192, 129, 127))  # of a unit


def product_bits(field: Field, draw: Draw) -> Draft:
    """One product of full significands, its leading part with the other sign before it (C, or a product): its last bits alone are left."""
    draft = field.draft()
    lane = draw.below(field.k)
    x, y = (side.at(draw.between(-4, 4), draw.bits(side.frac_bits) | 1 if side.frac_bits else 0) for side in (field.a, field.b))
    draft.a[lane], draft.b[lane] = (x, y) if draw.bits(1) else _other_sign(field, x, y)
    product = draft.value(lane)
    if field.c is not None and (lane == 0 or draw.bits(1)):
        draft.add_c(-product)
    elif field.k > 1:
        draft.put(draw.below(lane) if lane else 1, -product)
    return draft


def flags(field: Field, draw: Draw) -> Draft:
    """NaNs that signal and others, alone and beside infinities of both signs; infinity times zero; overflow, also beside infinite C."""
    draft, style = gaussian(field, draw), draw.below(7)
    infinity, minus = field.a.inf or (field.a.max_code, field.a.negated(field.a.max_code))
    last = draw.below(field.k)
    if style <= 2:
        _put_nan(draft, draw, style == 0)
    if style in (2, 3):
        draft.a[last], draft.b[last] = infinity, _one(field.b)
        draft.a[last - 1], draft.b[last - 1] = minus, _one(field.b)
    elif style == 4:
        draft.a[last], draft.b[last] = infinity, field.b.zero(draw)
    elif style >= 5:
        largest = draw.of((field.a.max_code, field.a.max_code - 1))
        draft.a[last], draft.b[last] = largest, draw.of((field.b.max_code, _one(field.b)))
        if field.c is not None:
            ends = (field.c.max_code, field.c.negated(field.c.max_code), 0)
            draft.c = draw.of((field.c.inf[-1],) if style == 6 and field.c.inf else ends)
    return draft


def _put_nan(draft: Draft, draw: Draw, signalling: bool) -> None:
    """Put a NaN into an operand that has some, one that signals or does not where its format knows both."""
    field = draft.field
    sides: list[tuple[str, Codes]] = [("a", field.a), ("b", field.b)]
    sides += [] if field.scale is None else [("scale_a", field.scale), ("scale_b", field.scale)]
    sides += [] if field.c is None else [("c", field.c)]
    name, codes = draw.of([side for side in sides if side[1].nan] or sides[:1])
    if not codes.nan:
        return
    code = codes.nan[0]
    if codes.inf and field.plan.signals(codes.fmt):
        code = codes.inf[0] + 1 if signalling else code
    if name == "c":
        draft.c = code
    else:
        lanes: list[int] = getattr(draft, name)
        lanes[draw.below(len(lanes))] = code


MAKERS: Final[dict[str, Maker]] = {
    "uniform_bits": uniform_bits, "gaussian": gaussian, "exp_spread": exp_spread, "cancel": cancel, "order": order,
    "align_edge": align_edge, "saturated_same_sign": saturated_same_sign, "register_end": register_end, "aimed": aimed,
    "subnormal_out": subnormal_out, "small_sums": small_sums, "zeros": zeros, "elem_special": specials,
    "nan_scale": nan_scale, "special_c": special_c, "element_pair": element_pairs, "scale_code": scale_codes,
    "flags": flags,
}  # fmt: skip
LATER_MAKERS: Final[dict[str, Maker]] = {  # of the suite `bits`: the rows of the others stay as they are
    "product_bits": product_bits, "register_sums": register_sums,
}  # fmt: skip


def applies(category: str, field: Field) -> bool:
    """Tell whether a category has rows for a plan."""
    if category == "nan_scale":
        return field.scale is not None and bool(field.scale.nan)
    if category == "scale_code":
        return field.scale is not None
    if category == "special_c":
        return field.c is not None
    if category == "flags":
        return field.plan.facts.flags is not None
    if category == "align_edge":
        return any(level.align is not None for level in field.plan.levels)
    if category == "product_bits":
        return bool(field.registers)
    if category == "register_sums":
        return bool(_fixed_ends(field))
    if category == "elem_special":
        operands = [codes for codes in (field.a, field.b, field.scale, field.c) if codes is not None]
        return any(codes.nan or codes.inf for codes in operands)
    return True


def make(category: str, field: Field, draw: Draw) -> LevelsRow:
    """Return a row of a category."""
    draft = (MAKERS.get(category) or LATER_MAKERS[category])(field, draw)
    if category != "aimed":
        draft.words(draw)
    return draft.row()


def _one(codes: Codes) -> int:
    """Return the code of 1, or of the number next to it."""
    return codes.nearest(Fraction(1))
