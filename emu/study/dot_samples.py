"""Directed and random rows for any datapath: the categories in which datapaths are known to differ. A row depends on key, category, number.

Where a datapath cannot show a case (no scales, no subnormal results) the category gives the nearest rows it can.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final

from emu.errors import OperandError
from emu.spec import derive
from emu.spec.datapath import Plan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.study.dot_draws import Draws
from emu.study.dot_maker import Maker
from emu.study.dot_rows import DotRow, answer, value_of


def samples(plan: Plan, category: str, key: int, count: int, instructions: int = 1, first: int = 0) -> Iterator[DotRow]:
    """Yield rows first .. first + count - 1 of a category. instructions: K = that many times the instruction's k.

    Raises: OperandError (unknown category, key of more than 64 bits).
    """
    if category not in CATEGORIES:
        raise OperandError(f"category {category!r} is unknown: one of {', '.join(CATEGORIES)}")
    for number in range(first, first + count):
        draws = Draws(key, f"{category}/{plan.a.id}x{plan.b.id}/{number}")
        yield CATEGORIES[category](Maker(plan, draws, instructions))


def _uniform_bits(make: Maker) -> DotRow:
    make.fill()
    if make.plan.scale is not None:
        fmt = make.plan.scale
        make.scale_a = [make.any_code(fmt) & ~derive.codes(fmt).sign_bit for _ in range(make.blocks)]
        make.scale_b = [make.any_code(fmt) & ~derive.codes(fmt).sign_bit for _ in range(make.blocks)]
    make.c = make.any_code(make.plan.c)
    return make.row()


def _gaussian(make: Maker) -> DotRow:
    for codes, fmt in ((make.a, make.plan.a), (make.b, make.plan.b)):
        table = _sorted_codes(fmt)
        largest = table[-1][0]
        for k in range(make.k):
            bell = sum(make.draws.bits(8) for _ in range(12)) - 6 * 255
            place = bisect_left(table, (bell * largest / (3 * 255), 0))
            codes[k] = table[min(place, len(table) - 1)][1]
    for block in range(make.blocks):
        make.scale(block, make.draws.between(-3, 3))
    make.c_near(make.draws.between(-2, 6))
    return make.row()


_tables: dict[str, list[tuple[float, int]]] = {}


def _sorted_codes(fmt: Format) -> list[tuple[float, int]]:
    """Return (value, code) of finite codes, ascending; of wide formats a part around 1."""
    if fmt.facts_digest not in _tables:
        wide = derive.codes(fmt).bits > 8
        codes = range(0, 1 << derive.codes(fmt).bits, 61 if wide else 1)
        values = [(value_of(code, fmt), code) for code in codes]
        kept = [(float(value.signed), code) for value, code in values if value.kind == "finite" and (not wide or value.magnitude < 8)]
        _tables[fmt.facts_digest] = sorted(kept)
    return _tables[fmt.facts_digest]


def _cancel(make: Maker) -> DotRow:
    """Second half repeats the first with B negated and scales copied; often one element then changes."""
    make.fill()
    half = make.k // 2
    for block in range(make.blocks):
        make.scale(block, make.draws.between(-4, 4))
    for k in range(half):
        make.a[half + k], make.b[half + k] = make.a[k], make.b[k]
        make.negate_b(half + k)
    if make.blocks > 1:
        for block in range(make.blocks // 2):
            make.scale_a[make.blocks // 2 + block], make.scale_b[make.blocks // 2 + block] = make.scale_a[block], make.scale_b[block]
    if make.draws.chance(70):
        make.a[make.draws.below(make.k)] = make.any_code(make.plan.a)
    if make.draws.chance(60):
        make.c_near(make.draws.between(-30, -8))
    return make.row()


def _cancelled_group(make: Maker) -> DotRow:
    """One group of pairs (x, y), (x, -y) under large scales, the rest sparse under small ones."""
    low, high = make.span()
    group = make.plan.group if make.plan.group > 1 else 2
    start = make.draws.below(make.k // group) * group
    top = high - make.draws.below(3)
    for block in range(make.blocks):
        inside = start // make.size == block
        make.scale(block, top if inside else max(low + make.draws.below(6), top - 60))
    for k in range(start, start + group, 2):
        make.product(k, top if make.plan.scale is None else 0)
        make.a[k + 1], make.b[k + 1] = make.a[k], make.b[k]
        make.negate_b(k + 1)
    for k in range(make.k):
        outside = not start <= k < start + group
        if outside and make.draws.chance(20):
            make.product(k, low + make.draws.below(8) if make.plan.scale is None else 0)
    if make.draws.chance(40):
        make.c_near(top - make.draws.between(20, 45))
    return make.row()


def _exp_spread(make: Maker) -> DotRow:
    low, high = make.span()
    middle = make.draws.between(low, high)
    near = (max(low, middle - 45), min(high, middle + 45))
    for block in range(make.blocks):
        make.scale(block, make.draws.between(*near))
    for k in range(make.k):
        if make.draws.chance(50):
            make.product(k, make.draws.between(*near) if make.plan.scale is None else make.draws.between(-4, 4))
    make.c_near(make.draws.between(near[0] - 4, near[1] + 8))
    return make.row()


def _align_edge(make: Maker) -> DotRow:
    """Two terms, or one and C, whose exponents differ by about F: the border of what alignment keeps."""
    low, high = make.span()
    fraction = make.plan.frac_bits if make.plan.frac_bits is not None else 35
    top = make.draws.between(max(low, min(high, low + fraction)), high)
    small = top - fraction + make.draws.between(-3, 6)
    places = (make.draws.below(make.k), make.draws.below(make.k))
    blocks = [place // make.size for place in places]
    for place, exp in zip(places, (top, small), strict=True):
        if make.plan.scale is None:
            make.product(place, exp)
            continue
        make.product(place)
        make.scale(place // make.size, exp)
    if make.draws.chance(50) or blocks[0] == blocks[1] or small < low:
        make.c_near(make.draws.choice((small, small, top)))
    return make.row()


def _full_scale(make: Maker) -> DotRow:
    """Every element at the largest magnitude, all products of one sign, significands full, C all ones."""
    first, second = derive.codes(make.plan.a), derive.codes(make.plan.b)
    negative = make.draws.chance(50)
    make.a = [first.max_code] * make.k
    make.b = [second.max_code] * make.k
    if negative:
        for k in range(make.k):
            make.negate_b(k)
    low, high = make.span()
    exp = make.draws.between(max(low, high - 40), high) if make.draws.chance(50) else make.draws.between(low, high)
    for block in range(make.blocks):
        make.scale(block, exp)
        if make.plan.scale is not None and make.draws.chance(80):
            _full_significand(make, block)
    if make.draws.chance(70):
        make.c_near(exp + make.draws.between(-36, 8))
        facts = make.plan.c.facts
        assert isinstance(facts, FloatFacts)
        make.c |= (1 << facts.frac_bits) - 1 if value_of(make.c, make.plan.c).kind == "finite" else 0
    for _ in range(make.draws.below(3)):
        make.a[make.draws.below(make.k)] = make.any_code(make.plan.a)
    return make.row()


def _full_significand(make: Maker, block: int) -> None:
    facts = make.plan.scale.facts if make.plan.scale else None
    if isinstance(facts, FloatFacts) and make.plan.scale is not None:
        ones, largest = (1 << facts.frac_bits) - 1, derive.codes(make.plan.scale).max_code
        for scales in (make.scale_a, make.scale_b):
            full = scales[block] | ones
            scales[block] = full if full <= largest else full - ones - 1


def _floor_edge(make: Maker) -> DotRow:
    """Sums near the floor of E and the least subnormal result, with one term that only a low floor keeps; else subnormal C."""
    low, high = make.span()
    facts = make.plan.d.facts
    assert isinstance(facts, FloatFacts)
    lowest = 1 - facts.bias
    floor = make.plan.floor if make.plan.floor is not None else lowest - 13
    fraction = make.plan.frac_bits if make.plan.frac_bits is not None else 35
    exps = (lowest - facts.frac_bits + make.draws.between(0, 8), floor - fraction + make.draws.between(-3, 3))
    for number, exp in enumerate(exps):
        place = min(number * make.size, make.k - 1) if make.blocks > 1 else make.draws.below(make.k)
        make.product(place, exp if make.plan.scale is None else 0)
        make.scale(place // make.size, min(max(exp, low), high))
        if number and make.draws.chance(60):
            make.negate_b(place)
    if make.draws.chance(40):
        make.c_near(make.draws.between(lowest - facts.frac_bits, lowest + 2))
    return make.row()


def _subnormal_out(make: Maker) -> DotRow:
    low, high = make.span()
    facts = make.plan.d.facts
    assert isinstance(facts, FloatFacts)
    lowest = 1 - facts.bias
    for block in range(make.blocks):
        make.scale(block, min(max(make.draws.between(lowest - 24, lowest), low), high))
    for _ in range(make.draws.between(1, 6)):
        make.product(make.draws.below(make.k), max(low, lowest - 12) if make.plan.scale is None else 0)
    make.c_near(make.draws.between(lowest - facts.frac_bits, lowest))
    return make.row()


def _zeros(make: Maker) -> DotRow:
    """All-zero blocks, zero and least scales under the largest scale of the other operand, signed zeros, tiny C."""
    low, _ = make.span()
    for block in range(make.blocks):
        make.scale(block, low + make.draws.below(12))
    for k in range(make.k):
        if make.draws.chance(30):
            make.product(k, low + 3 if make.plan.scale is None else 0)
    if make.plan.scale is not None:
        block = make.draws.below(make.blocks)
        make.scale_a[block], make.scale_b[block] = derive.codes(make.plan.scale).max_code, make.draws.choice((0, 0, 1))
        if make.draws.chance(60):
            make.a[block * make.size : (block + 1) * make.size] = [0] * make.size
    make.c_near(low + make.draws.between(-8, 8)) if make.draws.chance(60) else None
    return make.row()


def _overflow(make: Maker) -> DotRow:
    _, high = make.span()
    facts = make.plan.d.facts
    assert isinstance(facts, FloatFacts)
    top = derive.codes(make.plan.d).max_code >> facts.frac_bits
    for block in range(make.blocks):
        make.scale(block, min(high, top - facts.bias - make.draws.between(0, 12)))
    for k in range(make.k):
        if make.draws.chance(40):
            make.product(k, high if make.plan.scale is None else 0)
    make.c_near(top - facts.bias - make.draws.between(0, 2))
    return make.row()


def _c_edge(make: Maker) -> DotRow:
    """C = -(product sum) give or take one ulp, or its exponent about F, 24 or 13 away from the sum."""
    make.fill()
    low, high = make.span()
    for block in range(make.blocks):
        make.scale(block, make.draws.between(max(low, -6), min(high, 6)))
    found = answer(make.row(), make.plan)
    if found is None or value_of(found, make.plan.d).kind != "finite" or not value_of(found, make.plan.d).magnitude:
        return make.row()
    codes, facts = derive.codes(make.plan.d), make.plan.d.facts
    assert isinstance(facts, FloatFacts)
    if make.draws.chance(50):
        magnitude = (found & ~codes.sign_bit) + make.draws.between(-1, 1)
        make.c = min(magnitude, codes.max_code) | ((found ^ codes.sign_bit) & codes.sign_bit)
        return make.row()
    fraction = make.plan.frac_bits if make.plan.frac_bits is not None else 35
    away = make.draws.choice((fraction - 2, fraction - 1, fraction, fraction + 1, 23, 24, 25, 12, 13, 14))
    make.c_near(((found & ~codes.sign_bit) >> facts.frac_bits) - facts.bias + make.draws.choice((-1, 1)) * away)
    return make.row()


def _special(make: Maker) -> DotRow:
    """One NaN scale, a special C, or a special element where the formats have them."""
    _gaussian(make)
    choices: list[tuple[list[int], Format]] = [([], make.plan.c)]
    choices += [(make.a, make.plan.a), (make.b, make.plan.b)]
    choices += [(make.scale_a, make.plan.scale), (make.scale_b, make.plan.scale)] if make.plan.scale else []
    where, fmt = make.draws.choice(choices)
    codes = derive.codes(fmt)
    special = [*codes.nan[:2], *([] if codes.inf is None else [codes.inf, codes.inf | codes.sign_bit]), codes.max_code]
    if where:
        where[make.draws.below(len(where))] = make.draws.choice(special)
    else:
        make.c = make.draws.choice(special)
    return make.row()


CATEGORIES: Final[dict[str, Callable[[Maker], DotRow]]] = {
    "uniform_bits": _uniform_bits,
    "gaussian": _gaussian,
    "cancel": _cancel,
    "cancelled_group": _cancelled_group,
    "exp_spread": _exp_spread,
    "align_edge": _align_edge,
    "full_scale": _full_scale,
    "floor_edge": _floor_edge,
    "subnormal_out": _subnormal_out,
    "zeros": _zeros,
    "overflow": _overflow,
    "c_edge": _c_edge,
    "special": _special,
}
