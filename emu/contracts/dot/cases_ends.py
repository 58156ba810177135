"""Rows that datapaths of any kind need at the end of their lists: the ends of narrow results, and scales with an ignored bit.

A narrow register is a float of at most NARROW bits. For each number that it cannot hold, and for its least and largest ones, rows are tried
whose exact sum is that number: out of products under one pair of scales, out of a block each, out of products and C. A row is kept where
something happens in a narrow register that happens in no row before it. Nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from emu.contracts.cover import Point
from emu.contracts.dot.codes import Codes
from emu.contracts.dot.field import Draft, Field
from emu.engines.exact.round import floor_log2
from emu.engines.exact.value import power_of_two
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import added

NARROW: Final = 16  # bits
MOST_WAYS: Final = 4  # rows that are tried of a sum
LANES: Final = 4  # products of a block, where each block takes a part of the sum
Event = tuple[str, ...]
Told = Callable[[Any], set[Event] | None]  # of a draft: what happens in narrow registers; None: the datapath refuses it


def is_narrow(fmt: Format) -> bool:
    """Tell whether a format is a float of at most NARROW bits."""
    return isinstance(fmt.facts, FloatFacts) and Codes(fmt).bits <= NARROW


def size_of(code: int, codes: Codes) -> str:
    """Return what a code of a narrow register is: zero, subnormal, normal, largest, beyond (infinite), nan."""
    magnitude = code & ~codes.sign_bit
    if not codes.is_finite(code):
        return "beyond" if code in codes.inf else "nan"
    if magnitude == codes.max_code:
        return "largest"
    value = abs(codes.value(code))
    return "zero" if not value else "subnormal" if value < power_of_two(codes.min_exp) else "normal"


def sums(codes: Codes) -> Iterator[tuple[str, Fraction]]:
    """Yield (flag, magnitude): subnormal numbers, and sums between two numbers at the least, in the middle and at the largest."""
    least, full = power_of_two(codes.lsb_exp), codes.full
    if codes.lsb_exp < codes.min_exp:
        yield from (("narrow_subnormal", units * least) for units in dict.fromkeys((1, full, (full + 1) // 2, 3)) if units)
    quarters = (2, 6, 1, 5, 3, 7, 10)
    yield from (("narrow_tie" if part % 4 == 2 else "narrow_subnormal", Fraction(part, 4) * least) for part in quarters)
    yield "narrow_tie", (full + Fraction(1, 2)) * least
    exp = min(max(0, codes.min_exp), codes.max_exp)
    ulp, base = power_of_two(exp - codes.frac_bits), power_of_two(exp)
    yield from (("narrow_tie", base + Fraction(part, 4) * ulp) for part in (2, 6, 1, 3, 5, 7))
    yield "narrow_tie", 2 * base - ulp / 2
    largest = codes.value(codes.max_code)
    ulp = power_of_two(codes.max_exp - codes.frac_bits)
    yield from (("narrow_end", largest + Fraction(part, 4) * ulp) for part in (0, 2, 1, 3, 4, 16))
    yield "narrow_end", 4 * largest


def result_ends(field: Any, narrow: Sequence[Codes], seen: set[Event], told: Told) -> Iterator[tuple[str, Any]]:
    """Yield (flag, draft) of rows that show something new in a narrow register.

    field: of a datapath of any kind.   narrow: formats of its narrow registers.   seen: what earlier rows show; grows.
    """
    for codes in narrow:
        for flag, magnitude in sums(codes):
            for sign in (1, -1):
                for draft in islice(_ways(field, sign * magnitude), MOST_WAYS):
                    found = told(draft)
                    if found is not None and not found <= seen:
                        seen |= found
                        yield flag, draft
                        break


def _ways(field: Any, total: Fraction) -> Iterator[Any]:
    """Yield rows whose exact sum is a total."""
    whole = list(range(field.k))
    draft = field.draft()
    if _under_one_scale(field, draft, whole, total):
        yield draft
    draft = field.draft()
    if field.scale is not None and field.blocks > 1 and _block_by_block(field, draft, total):
        yield draft
    if field.c is None:
        return
    leading = power_of_two(floor_log2(abs(total))) * (1 if total > 0 else -1)
    for first, second in ((total - leading, leading), (leading, total - leading)):
        draft = field.draft()
        draft.c = field.c.below(second)
        if second and first and field.c.value(draft.c) == second and _under_one_scale(field, draft, whole, first):
            yield draft
    draft = field.draft()
    draft.c = field.c.below(total)
    if field.c.value(draft.c) == total:
        yield draft


def _under_one_scale(field: Any, draft: Any, lanes: Sequence[int], total: Fraction) -> bool:
    """Make the total out of products under one pair of scales, the largest that does; tell whether that can be."""
    if total.denominator & (total.denominator - 1):
        return False  # no sum of such products
    unit = _trailing(total) - field.a.lsb_exp - field.b.lsb_exp
    if field.scale is None:
        return unit >= 0 and not _fill(field, draft, lanes, total, Fraction(1))
    for exp in range(min(unit, 2 * field.scale.powers[-1]), unit - 3, -1):
        if _set_scales(field, draft, range(field.blocks), exp):
            return not _fill(field, draft, lanes, total, power_of_two(exp))
    return False


def _block_by_block(field: Any, draft: Any, total: Fraction) -> bool:
    """Give each block the leading bits of what is left; tell whether nothing is left."""
    most = floor_log2(abs(field.a.value(field.a.max_code) * field.b.value(field.b.max_code)))
    for block in range(field.blocks):
        if not total:
            break
        low, high = 2 * field.scale.powers[0], 2 * field.scale.powers[-1]
        exp = min(max(floor_log2(abs(total)) - most, low), high)
        if not _set_scales(field, draft, (block,), exp):
            return False
        first = block * field.plan.block
        total = _fill(field, draft, range(first, first + min(LANES, field.plan.block)), total, power_of_two(exp))
    return not total


def _set_scales(field: Any, draft: Any, blocks: Sequence[int], exp: int) -> bool:
    """Give blocks a pair of scales whose product is 2^exp; tell whether there is one."""
    powers = field.scale.powers
    first = next((one for one in sorted(powers, key=lambda one: abs(2 * one - exp)) if exp - one in powers), None)
    if first is None:
        return False
    for block in blocks:
        draft.scale_a[block], draft.scale_b[block] = field.scale.power(first), field.scale.power(exp - first)
    return True


def _fill(field: Any, draft: Any, lanes: Sequence[int], total: Fraction, factor: Fraction) -> Fraction:
    """Put products of codes times powers of two into lanes, the largest that fits first. Returns what is missing."""
    for lane in lanes:
        if not total:
            break
        want = abs(total) / factor
        pairs = ((field.a.below(want / power_of_two(exp)), exp) for exp in field.b.powers)
        x, exp = max(pairs, key=lambda pair: (field.a.value(pair[0]) * power_of_two(pair[1]), -pair[1]))
        got = field.a.value(x) * power_of_two(exp)
        y = field.b.power(exp)
        if total < 0 and field.a.negated(x) == x:
            y = field.b.negated(y)
            got = -got if field.b.value(y) < 0 else Fraction(0)
        elif total < 0:
            x = field.a.negated(x)
        if not got:
            break
        draft.a[lane], draft.b[lane] = x, y
        total -= field.a.value(x) * field.b.value(y) * factor
    return total


def _trailing(value: Fraction) -> int:
    """Return the exponent of the last bit of a dyadic number."""
    numerator = abs(value.numerator)
    return (numerator & -numerator).bit_length() - 1 - (value.denominator.bit_length() - 1)


# Bits above the code of a scale.


def ignores_bits(plan: Any) -> bool:
    """Tell whether a datapath says what a set bit above the code of its scales means: nothing. Not where a point of it is open.

    Not of a shipped one either: its rows with such a bit are published with masks 0.
    """
    there = plan.scale is not None and Codes(plan.scale).unused > 0 and added("datapath", plan.datapath.id)
    return there and plan.unused_bits == "ignore" and all("unused_bits" not in point.facts for point in plan.datapath.open)


def has_open_bit(scales: Sequence[int], plan: Any) -> bool:
    """Tell whether a scale has a bit above its code whose meaning is open."""
    return plan.scale is not None and not ignores_bits(plan) and any(code >> Codes(plan.scale).bits for code in scales)


def signbit_word(plan: Any) -> str | None:
    """Return what the JSON record says of bits above the code of a scale: open (rows are masked), ignore, or None where there are none."""
    if plan.scale is None or not Codes(plan.scale).unused:
        return None
    return "ignore" if ignores_bits(plan) else "open"


def over_bits(scales: Sequence[int], plan: Any) -> list[Point]:
    """Return the coverage points of scale codes with a set bit above them, where the datapath ignores it."""
    if not ignores_bits(plan):
        return []
    codes = Codes(plan.scale)
    under = {code & (1 << codes.bits) - 1 for code in scales if code >> codes.bits}
    words = ["over_nan" if not codes.is_finite(code) else "over_number" if codes.value(code) else "over_zero" for code in sorted(under)]
    return [{"unused": word} for word in dict.fromkeys(words)]


def ignored_bits(field: Any) -> Iterator[Any]:
    """Yield rows of products of 1 whose scales have each bit above their code set: in one block of A or B, in all; over zero, one, NaN."""
    if not ignores_bits(field.plan):
        return
    scale = field.scale
    one = scale.nearest(Fraction(1))
    codes = dict.fromkeys((one, scale.max_code, 0 if scale.has_zero else one, *scale.nan[:1]))
    bits = [1 << place for place in range(scale.bits, scale.bits + scale.unused)]
    for bit in (*bits, *([sum(bits)] if len(bits) > 1 else [])):
        for number, code in enumerate(codes):
            for side in ("scale_a", "scale_b"):
                draft = _ones(field)
                getattr(draft, side)[(number + field.blocks - 1) % field.blocks] = code | bit
                yield draft
        draft = _ones(field)
        draft.scale_a, draft.scale_b = [code | bit for code in draft.scale_a], [code | bit for code in draft.scale_b]
        yield draft


def _ones(field: Field) -> Draft:
    """Return a row of products of 1, or the number next to it, in two lanes of each block, the second half as large where that can be."""
    draft = field.draft()
    a, b = field.a.nearest(Fraction(1)), field.b.nearest(Fraction(1))
    for lane in range(0, field.k, max(1, field.plan.block // 2)):
        draft.a[lane], draft.b[lane] = a, b
    return draft
