"""When one table over bf16 stands for a whole conversion of binary32 numbers, told from facts alone.

Rounding to odd into bf16 keeps a number that bf16 has and moves every other one to its neighbour with an odd last bit. A conversion is
constant between its decision points. So where every decision point is a bf16 number with an even last bit, a number and its rounding to odd
lie between the same two points, or on the same one, and 65,536 codes answer for all numbers (docs/how_it_works.md has the drawing).
A point that no number of the source passes decides nothing; one that bf16 does not reach and the source does is not kept.

Not here: rounding to odd itself and the making of a table, which are arithmetic and belong to each engine.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final

from emu.base.caches import Cache
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import reach
from emu.spec.registry import get

MOST_BITS: Final = 8  # of a format whose decision points are listed
_EVEN_BITS: Final = 0x1FFFF  # a binary32 code is a bf16 number with an even last bit when these are clear
_FRAC_BITS: Final = 7  # of bf16
_LEAST_EXP: Final = -126  # of a normal bf16 number
_END: Final = Fraction(2) ** 128  # no bf16 number is as large

_answers: Cache[tuple[str, str, str, EntryCodes], bool] = Cache("emu.spec.one_table._answers", 4096)


def is_even_bf16(bits: int) -> bool:
    """Tell whether a binary32 code is a bf16 number with an even last bit."""
    return bits & _EVEN_BITS == 0


def table_is_exact(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> bool:
    """Tell whether rounding to odd into bf16 and one table of its codes give the exact conversion of every number of a source.

    source: a float format, binary32 or binary64 by its facts.
    False for a rounding that draws, for formats of more than 8 bits, and for whole numbers that wrap, whose decision points never end.
    """
    endless = entry.overflow == "wrap" and isinstance(fmt.facts, IntegerFacts)
    if rounding.random_bits or derive.codes(fmt).bits > MOST_BITS or endless:
        return False
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry)
    found = _answers.get(key)
    if found is None:
        end = reach(source).largest
        points = (abs(point) for point in _decision_points(fmt, rounding, entry))
        found = _answers.keep(key, all(point > end or _is_even(point) for point in points))
    return found


def _decision_points(fmt: Format, rounding: Rounding, entry: EntryCodes) -> set[Fraction]:
    """Return every number where the code can change: of the magnitude, for a codebook of the value."""
    facts = rounding.facts
    rules = [rule for rule in (facts.magnitude, facts.positive, facts.negative) if rule is not None]
    on_grid = any((rule.less_than_half, rule.more_than_half) != ("keep", "next") for rule in rules)
    half_way = any(len({rule.less_than_half, rule.half, rule.more_than_half}) > 1 for rule in rules)
    values, middles = values_and_middles(fmt, entry.overflow)
    if isinstance(fmt.facts, CodebookFacts):
        on_grid, half_way = on_grid or len(values) < 1 << fmt.facts.bits, True  # zeros of both signs are two codes
    points = values if on_grid or not derive.codes(fmt).has_zero else {Fraction(0)}
    return points | (middles if half_way else set())


def values_and_middles(fmt: Format, overflow: str) -> tuple[set[Fraction], set[Fraction]]:
    """Return the numbers of a format as far as codes change, and those half way between neighbours: magnitudes, for a codebook values.

    overflow: a word of a policy; any but `saturate` asks one number beyond the largest one, `wrap` all that bf16 reaches.
    """
    order = sorted(set(_codebook(fmt) if isinstance(fmt.facts, CodebookFacts) else _magnitudes(fmt, overflow)))
    return set(order), {(a + b) / 2 for a, b in pairwise(order)}


def _magnitudes(fmt: Format, overflow: str) -> list[Fraction]:
    """Return the grid as far as the code changes: one step beyond the maximum unless it saturates, all of bf16's range where it wraps."""
    last = derive.codes(fmt).max_code + (overflow != "saturate") + derive.is_twos_complement(fmt)
    grid = [_magnitude(code, fmt) for code in range(last + 1)]
    while overflow == "wrap" and grid[-1] < _END:
        grid.append(_magnitude(len(grid), fmt))
    return grid


def _magnitude(code: int, fmt: Format) -> Fraction:
    """Return the number of a magnitude code; above the maximum the grid goes on with the same rule."""
    facts = fmt.facts
    if isinstance(facts, IntegerFacts):
        return code * Fraction(2) ** facts.unit_exp
    if isinstance(facts, ExponentFacts):
        return Fraction(2) ** (code - facts.bias)
    assert isinstance(facts, FloatFacts)
    field, fraction = code >> facts.frac_bits, code & ((1 << facts.frac_bits) - 1)
    if field == 0 and facts.subnormals == "yes":
        return fraction * Fraction(2) ** (1 - facts.bias - facts.frac_bits)
    return ((1 << facts.frac_bits) + fraction) * Fraction(2) ** (field - facts.bias - facts.frac_bits)


def _codebook(fmt: Format) -> list[Fraction]:
    """Return the value of each code of a codebook."""
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts)
    if facts.values is not None:
        return [Fraction(0) if text == "-0" else derive.parse_exact(text) for text in facts.values]
    source: Format = get("format", str(facts.values_format))
    sign_bit = derive.codes(source).sign_bit
    return [_magnitude(code & ~sign_bit, source) * (-1 if code & sign_bit else 1) for code in derive.codebook_codes(facts, source)]


def _is_even(size: Fraction) -> bool:
    """Tell whether a magnitude is a bf16 number with an even last bit."""
    if not size or size >= _END:
        return not size
    exp = size.numerator.bit_length() - size.denominator.bit_length()
    exp -= size < Fraction(2) ** exp
    return (size / Fraction(2) ** (max(exp, _LEAST_EXP) - _FRAC_BITS + 1)).denominator == 1
