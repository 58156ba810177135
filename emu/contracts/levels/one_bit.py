"""Rows of one addition to a register in a float format in which one bit decides: of a term, of the sum, of what is rounded away, of a NaN.

Row by row they go through every place: how far a term lies below the register, how many leading bits cancel, how many bits are lost.
Everything follows from the formats of the operands and of the register. The other products of a row are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from emu.base.caches import bounded
from emu.base.errors import EmuError
from emu.contracts.dot.codes import PER_ROW, Codes, Draw
from emu.contracts.levels.field import Draft, Field
from emu.contracts.levels.walk import walk
from emu.engines.exact.round import floor_log2
from emu.engines.exact.value import power_of_two
from emu.spec.levels import rounding_of


def lone_product(field: Field, draw: Draw) -> Draft:
    """A power of two beside the register, above it to far below, of both signs; the register ordinary, lowest or zero."""
    number, draft = draw.start // PER_ROW, field.draft()
    held, lane = draw.of(field.registers), draw.below(field.k)
    span = _span(field)
    turn, below = divmod(number, span)
    if turn % 3 == 2:
        exp, x = held.lsb_exp, Fraction(0)
        if draw.bits(1) and field.c is not None:
            draft.c = field.c.zero(draw)
    else:
        exp = draw.between(*_middle(field, held)) if turn % 3 == 0 else held.min_exp + draw.between(-held.frac_bits, 2)
        if draw.chance(15):
            exp = held.max_exp
        x = _number(held, exp, draw)
    at = exp + held.frac_bits + 3 - below
    if below + 8 > span:  # as far apart as can be
        at, x = field.exps[0] + draw.below(4), _number(held, held.max_exp - draw.below(8), draw)
    _product(draft, lane, at, 0, 0, (turn // 3 + (x < 0)) % 2, draw)
    _load(draft, lane, x, draw)
    return _words(draft, draw)


def lone_sum(field: Field, draw: Draw) -> Draft:
    """A product and its leading part with the other sign, some units apart at most: one bit is left, or few; also where they vanish."""
    number, draft = draw.start // PER_ROW, field.draft()
    held, lane = draw.of(field.registers), draw.below(field.k)
    turn, at = divmod(number, _depths(field))
    style = ("lone", "neighbours", "lone", "any")[turn % 4]
    if style == "lone":  # each number of leading bits that cancel
        depth = min(at + 1, field.a.frac_bits + field.b.frac_bits)
        first, second = _fractions(field, depth, draw)
        low = held.lsb_exp - held.frac_bits - 3, held.lsb_exp + 2 * held.frac_bits
        left = draw.between(*(_middle(field, held) if draw.chance(30) else low))
    else:  # what is left goes through the places from below the least number up
        depth, first, second = held.frac_bits + 1, 0, 0
        left = held.lsb_exp - held.frac_bits // 2 - 1 + at
        if style == "any":
            first, second = draw.bits(field.a.frac_bits), draw.bits(field.b.frac_bits)
    sign = draw.bits(1)
    if turn % 8 != 1 or not _subnormal_power(draft, lane, at, left + depth, sign):
        _product(draft, lane, left + depth, first, second, sign, draw)
    product = draft.value(lane)
    x = -_toward_zero(held, product)
    unit = _unit(held, x) * (-1 if product > 0 else 1)  # away from zero
    if style == "neighbours":
        x += unit * (1 if turn % 8 == 5 else Fraction(-1, 2))
    elif style == "any" or draw.chance(50):
        x += unit * draw.of((1, 1, 0, -1, 1 << draw.below(held.frac_bits + 1)))
    _load(draft, lane, _toward_zero(held, x), draw)
    return _words(draft, draw)


def lost_part(field: Field, draw: Draw) -> Draft:
    """What a rounding loses is chosen: half, a bit more or less, one bit, all; the register even, odd, full; words just carry."""
    number, draft = draw.start // PER_ROW, field.draft()
    held, lane = draw.of(field.registers), draw.below(field.k)
    most = _depths(field) - 1
    turn, lost = divmod(number, _lost(field))
    lost += 1
    place = draw.below(lost) if draw.bits(1) else 0
    half = 1 << (lost - 1)
    part = (half + 1, 1, half, half - 1, 2 * half - 1, half + (1 << place), half - (1 << place), 1 << place)[turn % 8] % (2 * half)
    if lost > most:  # longer than a product: all of its bits
        part = (1 << (most - turn % 2)) - 1
    exp = draw.between(*_middle(field, held)) if draw.chance(60) else held.min_exp + draw.between(-held.frac_bits, 1)
    x = _number(held, exp, draw)
    lowest = floor_log2(_unit(held, x)) - lost  # exponent of the last bit of the product
    wide = field.a.frac_bits + field.b.frac_bits
    found = _factors(field, min(lost, part.bit_length()) if lost > most else lost, part, draw)
    if found is None:
        draft.put(lane, power_of_two(lowest) * part * draw.of((1, -1)))
    else:
        _product(draft, lane, lowest + wide, *found, draw.bits(1), draw)
    if turn % 2:  # where it can be the sum needs a bit more than the register, and loses its last bit too: half
        unit, product = _unit(held, x), draft.value(lane)
        full = _toward_zero(held, power_of_two(exp + 1) - unit)
        x = (full - unit * (int(abs(product) / unit) % 2)) * (-1 if product < 0 else 1)
    _load(draft, lane, x, draw)
    return _words(draft, draw)


def lost_pair(field: Field, draw: Draw) -> Draft:
    """A product near a number that the register holds, or near a tie, and a small register that leaves one bit of the difference."""
    number, draft = draw.start // PER_ROW, field.draft()
    held, lane = draw.of(field.registers), draw.below(field.k)
    turn, below = divmod(number, held.frac_bits + 1)
    bits = max(1, min(field.a.frac_bits, field.b.frac_bits, held.frac_bits))
    small = draw.bits(max(1, bits - below)) - draw.bits(max(1, bits - below))
    found = _factors(field, bits, ((1 << bits >> 1) * (turn % 2) + small) % (1 << bits), draw)
    wide = field.a.frac_bits + field.b.frac_bits
    exp = draw.between(*_middle(field, held)) if turn % 4 < 3 else held.min_exp + draw.between(-held.frac_bits, 1)
    product = _product(draft, lane, exp, *(found or (0, 0)), draw.bits(1), draw)
    if product and field.k + (field.c is not None) > 1:
        half = _unit(held, product) / 2
        rest = product - round(product / half) * half
        last = power_of_two(floor_log2(abs(product)) - wide - below)
        _load(draft, lane, _toward_zero(held, -rest + last * draw.of((1, -1))), draw)
    return _words(draft, draw)


def nan_bit(field: Field, draw: Draw) -> Draft:
    """A NaN with one bit in its fraction, each bit of each operand in turn, beside ordinary numbers."""
    number, draft = draw.start // PER_ROW, field.draft()
    lane = draw.below(field.k)
    for at in range(field.k):
        draft.near(at, 0, draw)
    draft.add_c(Fraction(draw.of((1, -1))))
    sides = nan_sides(field)
    name, place = sides[number % len(sides)]
    codes: Codes = getattr(field, name)
    code = codes.inf[draw.below(2)] | 1 << place
    if name == "c":
        draft.c = code
    else:
        getattr(draft, name)[lane] = code
    return _words(draft, draw)


def nan_sides(field: Field) -> list[tuple[str, int]]:
    """Return operand and place of every fraction bit of a NaN, of formats in which every fraction but zero is one."""
    sides = [(name, codes) for name, codes in (("a", field.a), ("b", field.b), ("c", field.c)) if codes is not None]
    return [(name, place) for name, codes in sides if getattr(codes.fmt.facts, "nan", None) == "ieee" and len(codes.inf) == 2
            for place in range(codes.frac_bits)]  # fmt: skip


def _widest(field: Field) -> int:
    """Return the most bits of a significand of a register."""
    return 1 + max(codes.frac_bits for codes in field.registers)


def _span(field: Field) -> int:
    """Return how many places lie between the highest product beside a register and the lowest below it."""
    return 4 * _widest(field) + 14


def _depths(field: Field) -> int:
    """Return how many places a product has below its first one."""
    return max(2, field.a.frac_bits + field.b.frac_bits + 1)


MAKERS: Final[dict[str, Callable[[Field, Draw], Draft]]] = {
    "lone_product": lone_product, "lone_sum": lone_sum, "lost_part": lost_part, "lost_pair": lost_pair,
    "nan_bit": nan_bit,
}  # fmt: skip


def counts(field: Field) -> dict[str, int]:
    """Return the number of rows of each category: every place a few times; nothing without a float register."""
    if not field.registers:
        return {}
    found = {"lone_product": 6 * _span(field), "lone_sum": 12 * _depths(field), "lost_part": 8 * _lost(field)}
    found |= {"lost_pair": 8 * _widest(field), "nan_bit": len(nan_sides(field))}
    return {name: count for name, count in found.items() if count}


def _middle(field: Field, held: Codes) -> tuple[int, int]:
    """Return exponents that products and the register both have, in the middle of what there is."""
    low, high = max(field.exps[0], held.min_exp), min(field.exps[1], held.max_exp)
    return max(low, min(-6, high)), max(low, min(6, high))


def _number(held: Codes, exp: int, draw: Draw) -> Fraction:
    """Return a number of a register: odd or even, a power of two, full, any; below the lowest normal number a subnormal one."""
    fraction = draw.of((0, 1, held.full, held.full - 1, draw.bits(held.frac_bits), draw.bits(held.frac_bits))) if held.frac_bits else 0
    value = _toward_zero(held, power_of_two(exp) * (1 + Fraction(fraction, 1 << held.frac_bits)))
    return -value if draw.bits(1) else value


def _toward_zero(held: Codes, value: Fraction) -> Fraction:
    return held.value(held.below(value))


def _unit(held: Codes, value: Fraction) -> Fraction:
    """Return the last place of a number of a register."""
    exp = held.min_exp if not value else max(floor_log2(abs(value)), held.min_exp)
    return power_of_two(exp - held.frac_bits)


def _fractions(field: Field, depth: int, draw: Draw) -> tuple[int, int]:
    """Return fractions of one bit each, or none: the last bit of the product lies so many places below its first."""
    low, high = max(0, depth - field.b.frac_bits), min(depth, field.a.frac_bits)
    first = draw.of((low, high, draw.between(low, high)))
    second = depth - first
    return (1 << (field.a.frac_bits - first) if first else 0), (1 << (field.b.frac_bits - second) if second else 0)


def _lost(field: Field) -> int:
    """Return the most bits below the register that a rounding may lose and still see: of a product, and as many as it may lie lower."""
    return _depths(field) + _widest(field) + max((draw.rounding.random_bits for draw in field.draws), default=0)


def _factors(field: Field, lost: int, part: int, draw: Draw) -> tuple[int, int] | None:
    """Return fractions of two factors whose product ends in some bits; None where there are none, or more than a quick search finds."""
    a, b = field.a.frac_bits, field.b.frac_bits
    if lost <= min(a, b):
        first = draw.bits(a) | 1
        return first, draw.bits(b) >> lost << lost | part * pow(first, -1, 1 << lost) % (1 << lost)
    if part == (1 << lost) - 1 and lost <= 2 * min(a, b):  # 2^2k - 1 = (2^k - 1) (2^k + 1)
        half = min(a, b)
        return ((1 << half) - 1) * 2 % (1 << half), 1
    found = _pairs(a, b, lost, part) if max(a, b) <= SEARCHED else ()
    return draw.of(found) if found else None


SEARCHED: Final = 10  # bits of a fraction: all factors of that many are tried


@bounded(256)
def _pairs(a: int, b: int, lost: int, part: int) -> tuple[tuple[int, int], ...]:
    """Return all fractions of odd significands of a and b bits whose product ends in some bits."""
    out = []
    for first in range((1 << a) + 1, 2 << a, 2):
        second = part * pow(first, -1, 1 << lost) % (1 << lost)
        out += [(first - (1 << a), one - (1 << b)) for one in range(second, 2 << b, 1 << lost) if one >> b == 1]
    return tuple(out)


def _subnormal_power(draft: Draft, lane: int, place: int, exp: int, sign: int) -> bool:
    """Make a product 2^exp, the first factor subnormal, its bit at a place; tell whether there is one."""
    field = draft.field
    tiny = field.a.lsb_exp + place % max(1, field.a.frac_bits)
    first, second = field.a.power(tiny), field.b.power(exp - tiny)
    if first is None or second is None:
        return False
    draft.a[lane], draft.b[lane] = field.a.signed(first, sign), second
    return True


def _product(draft: Draft, lane: int, exp: int, first: int, second: int, sign: int, draw: Draw) -> Fraction:
    """Make a product of two significands, 2^exp and more, under scales that bring it there. Returns what it is."""
    field = draft.field
    low, high = field.exps
    if field.scale is not None and not low <= exp <= high:
        block, more = lane // field.plan.block, exp - min(max(exp, low), high)
        draft.scale_a[block] = field.scale.at(more // 2)
        draft.scale_b[block] = field.scale.at(more - more // 2)
    inner = exp - floor_log2(abs(draft.factor(lane)))
    least, most = max(field.a.min_exp, inner - field.b.max_exp), min(field.a.max_exp, inner - field.b.min_exp)
    if not first and not second and (least > most or draw.bits(1)):
        return draft.put(lane, power_of_two(exp) * (-1 if sign else 1))
    one = draw.of((least, most, draw.between(least, most), draw.between(least, most)))
    draft.a[lane], draft.b[lane] = field.a.at(one, first), field.b.at(inner - one, second)
    if draw.chance(25):  # one of them subnormal
        side, codes, fraction = draw.of(((draft.a, field.a, first), (draft.b, field.b, second)))
        other = draft.b if side is draft.a else draft.a
        tiny = draw.between(codes.lsb_exp, codes.min_exp - 1)
        rest = field.b if side is draft.a else field.a
        if codes.lsb_exp < codes.min_exp and rest.min_exp <= inner - tiny <= rest.max_exp:
            side[lane] = codes.below(power_of_two(tiny) * (1 + Fraction(fraction, 1 << codes.frac_bits)))
            other[lane] = rest.at(inner - tiny, second if side is draft.a else first)
    if sign:
        draft.a[lane] = field.a.negated(draft.a[lane])
    return draft.value(lane)


def _load(draft: Draft, lane: int, x: Fraction, draw: Draw) -> None:
    """Let the register be a number before a product: by C, or by a product before it."""
    field = draft.field
    if not x:
        return
    if field.c is not None and (field.k == 1 or draw.chance(70)):
        draft.add_c(x)
    elif field.k > 1:
        if lane:
            draft.put(lane - 1, x)
        else:
            draft.a[1], draft.b[1], draft.a[0], draft.b[0] = draft.a[0], draft.b[0], 0, 0
            draft.put(0, x)


def _words(draft: Draft, draw: Draw) -> Draft:
    """Draw the random words; in most rows one is such that it just carries, or just does not."""
    draft.words(draw)
    if not draft.random or draw.chance(25):
        return draft
    field = draft.field
    try:
        told = walk(draft.row(), field.plan).roundings
    except EmuError:
        return draft
    for item in told:
        rounding, lost = rounding_of(item.hold or "exact"), Fraction(0) if item.point is None else item.point.lost
        if item.word is None or rounding is None or not lost:
            continue
        top = 1 << rounding.random_bits
        place = next(i for i, one in enumerate(field.draws) if one[1:4] == (item.level, item.node, item.turn))
        draft.random[place] = min(max(top - int(lost * top) - draw.below(2), 0), top - 1)
        break
    return draft
