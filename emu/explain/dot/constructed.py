"""Constructed rows: a few products and C of chosen exponents, each made to show one fact of a datapath in the bits of D.

An anchor is a large value that sets E and cancels (or stays); a tiny term next to it shows what alignment keeps. Families:
    align     anchor, cancelled over two groups or inside one, and a tiny term 2^-j below: F, and whether a cancelled group counts
    side      the tiny term has another size or sign (3/4, 3/2, -1): rounding of aligned terms
    pair      two tiny halves near or far from each other: size of the groups that are added exactly
    step      anchor and tiny term in halves of the row: products per fused step
    c         C is the tiny term, or C is the anchor: alignment of C, late C
    round     a sum with bits below the last kept one: mode of the last rounding, kept bits
    floor     sums far below the least normal number: floor of E, subnormal results
    full      every element and scale at its largest significand: integer bits of the adder
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from emu.contracts.dot.rows import DotRow
from emu.explain.dot.powers import ProductPlacer, powers
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models.format import FloatFacts
from emu.spec.reach import reach

DEEPEST = 44  # exponents below the anchor that are tried


class Built(NamedTuple):
    """A constructed row. family: of the list above.   text: what it is, in words.   row: a DotRow; of a datapath of levels a LevelsRow."""

    family: str
    text: str
    row: Any


def constructed(plan: DatapathPlan, k: int | None = None) -> list[Built]:
    """Return the constructed rows of a plan, without repetitions, simple families first. k: length; None: one instruction."""
    length = k or plan.facts.k
    out: dict[tuple[tuple[int, ...], ...], Built] = {}
    for make in (_align, _side, _pair, _step, _c, _round, _floor, _full):
        for built in make(plan, length):
            out.setdefault(built.row.key(), built)
    return list(out.values())


def _built(family: str, text: str, placer: ProductPlacer) -> Iterator[Built]:
    row = placer.row()
    if row is not None:
        yield Built(family, text, row)


def _top(plan: DatapathPlan) -> int:
    """Return an exponent for anchors: the largest one whose square fits the result, at most 16."""
    first, second = (max(powers(fmt)[1]) for fmt in (plan.a, plan.b))
    top = first + second if plan.scale is None else 2 * max(powers(plan.scale)[1])
    facts = plan.d.facts
    assert isinstance(facts, FloatFacts)
    return min(top, 16, (derive.codes(plan.d).max_code >> facts.frac_bits) - facts.bias - 4)


def _lowest(plan: DatapathPlan) -> int:
    """Return the exponent of the least product that is a power of two."""
    least = sum(min(powers(fmt)[1]) for fmt in (plan.a, plan.b))
    return least + (2 * min(powers(plan.scale)[1]) if plan.scale else 0)


def _places(plan: DatapathPlan, k: int) -> tuple[int, int, int]:
    """Return elements of a second group, of the next block after both (or the next element), and of the second half."""
    group = max(1, plan.group)
    block = plan.block if plan.block and plan.block < k else group
    after = max(block, 2 * group) if block <= 2 * group else block
    after = -(-2 * group // block) * block
    return group, min(after, k - 1), max(k // 2, min(after, k - 1))


def _anchors(plan: DatapathPlan, k: int, top: int) -> Iterator[tuple[str, ProductPlacer]]:
    """The anchors that cancel: over two groups; inside one group."""
    group, _, _ = _places(plan, k)
    yield "2^{0} - 2^{0} in two groups", ProductPlacer(plan, k).put(0, top).put(group, top, 1)
    if plan.group > 1:
        yield "2^{0} - 2^{0} in one group", ProductPlacer(plan, k).put(0, top).put(1, top, 1)


def _align(plan: DatapathPlan, k: int) -> Iterator[Built]:
    top = _top(plan)
    for j in range(1, DEEPEST):
        for text, placer in _anchors(plan, k, top):
            yield from _built("align", f"{text.format(top)}, and 2^{top - j}", placer.put(_places(plan, k)[1], top - j))


def _side(plan: DatapathPlan, k: int) -> Iterator[Built]:
    """Tiny terms of -1, 3 and -3 units of 2^(top - j)."""
    top, place = _top(plan), _places(plan, k)[1]
    for j in range(8, DEEPEST):
        for sign, odd in ((1, 1), (0, 3), (1, 3)):
            text, placer = next(_anchors(plan, k, top))
            value = f"{'-' if sign else ''}{odd if odd > 1 else ''}{'*' if odd > 1 else ''}2^{top - j}"
            yield from _built("side", f"{text.format(top)}, and {value}", placer.put(place, top - j, sign, odd))


def _pair(plan: DatapathPlan, k: int) -> Iterator[Built]:
    top, place = _top(plan), _places(plan, k)[1]
    for j in range(8, DEEPEST):
        for away in (1, 2, 4, 8, 16, 32):
            if place + away < k:
                text, placer = next(_anchors(plan, k, top))
                placer.put(place, top - j).put(place + away, top - j)
                yield from _built("pair", f"{text.format(top)}, and 2^{top - j} at elements {place} and {place + away}", placer)


def _step(plan: DatapathPlan, k: int) -> Iterator[Built]:
    """The anchor cancels in one place; the tiny term stands in other parts of the row, before and after it."""
    top = _top(plan)
    spots = sorted({place for place in (k // 8, k // 4, k // 2, 3 * k // 4, k - 1) if place > 1})
    for j in (20, 22, 24, 25, 26, 27, 28, 30, 33, 36, 38):
        for spot in spots:
            placer = ProductPlacer(plan, k).put(0, top).put(1, top, 1).put(spot, top - j)
            yield from _built("step", f"2^{top} - 2^{top} at elements 0 and 1, and 2^{top - j} at element {spot}", placer)
        placer = ProductPlacer(plan, k).put(k - 2, top).put(k - 1, top, 1).put(0, top - j)
        yield from _built("step", f"2^{top} - 2^{top} at the last two elements, and 2^{top - j} at element 0", placer)
        placer = ProductPlacer(plan, k).put(0, top).put(k - 1, top, 1).put(k // 2, top - j)
        yield from _built("step", f"2^{top} - 2^{top} at the first and last element, and 2^{top - j} in the middle", placer)


def _c(plan: DatapathPlan, k: int) -> Iterator[Built]:
    top, place = _top(plan), _places(plan, k)[1]
    for j in range(8, DEEPEST):
        for sign in (0, 1):
            text, placer = next(_anchors(plan, k, top))
            yield from _built("c", f"{text.format(top)}, and C = {'-' if sign else ''}2^{top - j}", placer.put_c(top - j, sign))
            small = max(_lowest(plan), top - 28)
            placer = ProductPlacer(plan, k).put(0, small, 1 - sign).put_c(small + j, sign)
            yield from _built("c", f"C = {'-' if sign else ''}2^{small + j}, and a product {'' if sign else '-'}2^{small}", placer)
            placer = ProductPlacer(plan, k).put(0, top, 1).put(place, top - j, sign).put_c(top)
            yield from _built("c", f"C = 2^{top}, and products -2^{top} and {'-' if sign else ''}2^{top - j}", placer)
    for j in (1, 2, 3, 4):
        placer = ProductPlacer(plan, k).put(0, top - 25).put(place, top - 25 - j, 1).put_c(top)
        yield from _built("c", f"C = 2^{top}, and products 2^{top - 25} and -2^{top - 25 - j}", placer)


def _round(plan: DatapathPlan, k: int) -> Iterator[Built]:
    """A leading part, alone or eight times, and a part just below the last kept bit; both signs."""
    top, place = _top(plan) - 4, _places(plan, k)[1]
    size = plan.block if plan.block and plan.block < k else max(plan.group, 1)
    for times in (1, 8):
        for keep in sorted({plan.facts.round.keep, 10, 13, 23}):
            lead = top + (3 if times == 8 else 0)
            for j, odd in ((keep - 1, 1), (keep, 1), (keep + 1, 1), (keep + 1, 3), (keep + 2, 1), (keep + 2, 3), (keep + 3, 3)):
                for sign in (0, 1):
                    placer = ProductPlacer(plan, k)
                    for i in range(times):
                        placer.put(i, top, sign)
                    spot = max(place, -(-times // size) * size)
                    if spot < k:
                        placer.put(spot, lead - j, sign, odd)
                        told = f"{'-' if sign else '+'}(2^{lead} + {odd}*2^{lead - j})"
                        yield from _built("round", f"{told}, the first part from {times} products", placer)
                    if times == 1:
                        placer = ProductPlacer(plan, k).put(0, lead - j, sign, odd).put_c(lead, sign)
                        yield from _built("round", f"C = {'-' if sign else ''}2^{lead}, product {odd}*2^{lead - j} of its sign", placer)


def _floor(plan: DatapathPlan, k: int) -> Iterator[Built]:
    """A sum that is a subnormal number, and an opposite term just below what the floor keeps; C likewise."""
    facts = plan.d.facts
    assert isinstance(facts, FloatFacts)
    lowest, least = 1 - facts.bias, 1 - facts.bias - facts.frac_bits
    place = _places(plan, k)[1]
    fraction = plan.frac_bits if plan.frac_bits is not None else 35
    for big in (least, least + 5, lowest - 8, lowest - 1):
        for small in range(lowest - fraction - 16, least, 1):
            placer = ProductPlacer(plan, k).put(0, big).put(place, small, 1)
            yield from _built("floor", f"2^{big} and -2^{small}", placer)
    for big in (least, lowest - 2):
        for small in range(lowest - fraction - 3, least, 2):
            yield from _built("floor", f"C = 2^{big} and -2^{small}", ProductPlacer(plan, k).put(0, small, 1).put_c(big))


def _full(plan: DatapathPlan, k: int) -> Iterator[Built]:
    """Everything at its largest magnitude and significand, with C on top, below, and with one product missing."""
    codes = (derive.codes(plan.a), derive.codes(plan.b))
    a = (1 << codes[0].bits - 1) if derive.is_twos_complement(plan.a) else codes[0].max_code
    b = (1 << codes[1].bits - 1) if derive.is_twos_complement(plan.b) else codes[1].max_code
    minus = codes[1].max_code if derive.is_twos_complement(plan.b) else b | codes[1].sign_bit
    for name, scales in _full_scales(plan, k):
        for sign, other in ((0, b), (1, minus)):
            told = f"all elements at their largest, sign {'-' if sign else '+'}, scales {name}"
            yield Built("full", told, DotRow((a,) * k, (other,) * k, scales, scales, 0))
            for j in (0, 4, 8, 12, 14, 16, 18, 20, 22, 24, 26, 28):
                placer = ProductPlacer(plan, k).put_c(reach_of(plan, scales) - j, sign)
                if placer.fits:
                    yield Built(
                        "full", f"{told}, C 2^{reach_of(plan, scales) - j}", DotRow((a,) * k, (other,) * k, scales, scales, placer.c)
                    )
    yield Built("full", "half of the elements at their largest", DotRow((a,) * (k // 2) + (0,) * (k // 2), (b,) * k, *_ones(plan, k), 0))


def reach_of(plan: DatapathPlan, scales: tuple[int, ...]) -> int:
    """Return the exponent of the largest product under full scales."""
    if plan.scale is None or not scales:
        return reach(plan.a).max_exp + reach(plan.b).max_exp
    top = max((scales[0] - bias) if bits == 0 else (scales[0] >> bits) - bias for bits, bias in (_shape(plan),))
    return 2 * top


def _shape(plan: DatapathPlan) -> tuple[int, int]:
    facts = plan.scale.facts if plan.scale else None
    if isinstance(facts, FloatFacts):
        return facts.frac_bits, facts.bias
    return 0, getattr(facts, "bias", 0)


def _ones(plan: DatapathPlan, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    placer = ProductPlacer(plan, k)
    return tuple(placer.scale_a), tuple(placer.scale_b)


def _full_scales(plan: DatapathPlan, k: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Scales with all fraction bits set, at the largest exponent and near 1; (1,) tuples of nothing without scales."""
    if plan.scale is None:
        yield "none", ()
        return
    bits, bias = _shape(plan)
    ones = (1 << bits) - 1
    largest = derive.codes(plan.scale).max_code
    for exp in (min((largest >> bits) - bias - 1, 40), 0):
        code = ((exp + bias) << bits) + ones
        yield f"{code:#04x}", (code,) * (k // plan.block)
