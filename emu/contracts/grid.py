"""Where the decisions of a conversion lie: values and midpoints of a destination, and source codes around a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from emu.engines.exact.decode import codebook_values, decode_code, magnitude_of
from emu.engines.exact.round import locate
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, FloatFacts

HALF = Fraction(1, 2)
INTERVALS: Final = 4  # of a grid, from its first to its last


class Point(NamedTuple):
    """A magnitude that decides. is_tie: a midpoint; else a value."""

    magnitude: Fraction
    is_tie: bool


def grid_values(fmt: Format) -> list[Fraction]:
    """Return the magnitudes of a format that get directed rows, ascending, with the next one beyond the largest.

    All of them for formats of at most 8 bits; else the ends, the subnormal border, and 64 in between.
    """
    derived = derive.codes(fmt)
    if isinstance(fmt.facts, CodebookFacts):
        found = sorted({value.magnitude for value in codebook_values(fmt)})
        return [*found, 2 * found[-1] - found[-2]]
    top = derived.max_code + derive.is_twos_complement(fmt)
    if derived.bits <= 8:
        chosen = list(range(top + 2))
    else:
        hidden = 1 << fmt.facts.frac_bits if isinstance(fmt.facts, FloatFacts) else 1
        ends = {0, 1, 2, 3, hidden - 1, hidden, hidden + 1, top - 1, top, top + 1}
        chosen = sorted(ends | {top * part // 64 for part in range(64)})
    return [magnitude_of(code, fmt.facts) for code in chosen]


def points(fmt: Format) -> Iterator[Point]:
    """Yield values and the midpoints between a value and the next code's, ascending."""
    values = grid_values(fmt)
    narrow = derive.codes(fmt).bits <= 8
    for place, value in enumerate(values[:-1]):
        yield Point(value, False)
        following = values[place + 1] if narrow else value + locate(value, fmt).ulp
        yield Point((value + following) * HALF, True)
    yield Point(values[-1], False)


def largest(fmt: Format) -> Fraction:
    """Return the largest finite magnitude."""
    return grid_values(fmt)[-2]


def source_max(source: Format) -> int:
    """Return the largest finite magnitude code of a source."""
    return derive.codes(source).max_code


def code_at(magnitude: Fraction, source: Format) -> int:
    """Return the source's magnitude code at or below a number, no more than its largest."""
    return min(locate(magnitude, source).code, source_max(source))


def around(magnitude: Fraction, source: Format, offsets: list[int]) -> list[tuple[int, int]]:
    """Return (offset, magnitude code) of the source codes at an offset in ulps from a number, inside the finite range.

    A number between two codes counts as half an ulp above the lower one: offset 0 is left out, offset 1 is the code above.
    """
    exact = locate(magnitude, source).lost == 0
    base = code_at(magnitude, source)
    found = []
    for offset in offsets:
        if offset == 0 and not exact:
            continue
        code = base + offset + (1 if offset < 0 and not exact else 0)
        if 0 <= code <= source_max(source):
            found.append((offset, code))
    return found


def low_bits(source: Format) -> list[int]:
    """Return the exponents k of the single low bits +-2^k: 2 .. fraction bits - 1 of the source."""
    facts = source.facts
    return list(range(2, facts.frac_bits)) if isinstance(facts, FloatFacts) else []


def between(fmt: Format, source: Format, parts: Sequence[Fraction]) -> list[int]:
    """Return source codes at parts of some intervals of a grid, exact ones only, both signs."""
    intervals = list(pairwise(grid_values(fmt)[:-1]))
    sign, out = derive.codes(source).sign_bit, []
    for place in sorted({(len(intervals) - 1) * number // (INTERVALS - 1) for number in range(INTERVALS)}):
        low, high = intervals[place]
        for number in (low + (high - low) * part for part in parts):
            code = code_at(number, source)
            if decode_code(code, source).magnitude == number:
                out += [code, code | sign] if sign and derive.codes(fmt).sign_bit else [code]
    return out
