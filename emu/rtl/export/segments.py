"""A conversion as segments of the source's codes: each with one code, or two codes and the exact condition for the second.

Source codes of one sign ascend with their values, and a step of the destination is taken by one run of them. So a conversion that draws
nothing is a list of thresholds. With a random integer r, two neighbouring codes are possible inside a run, and between two powers of two
of the source everything that matters is linear: offset + (x - first) * slope + r * weight >= bound, in integers.

A step is a place on the grid of one sign: the magnitude code, up to one beyond the largest, which stands for all that overflows; of a
codebook the place in its list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import lcm
from typing import Final, NamedTuple

from emu.base.errors import SpecError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, magnitude_of
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.overflow import Code, largest_magnitude, overflow
from emu.engines.exact.round import locate, round_magnitude
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.registry import get

HALF: Final = Fraction(1, 2)


class Condition(NamedTuple):
    """offset + (x - first) * slope + r * weight >= bound; all but a cmp rounding's weight are natural numbers."""

    offset: int
    first: int
    slope: int
    weight: int
    bound: int


class Segment(NamedTuple):
    """The source codes from the one after the segment before up to `last`. code: where the condition fails, or there is none."""

    last: int
    code: int
    above: int = 0
    condition: Condition | None = None


def segments(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> list[Segment]:
    """Return the segments of all source codes, ascending; the last one ends at the source's largest code.

    code, above: codes of fmt, OPEN or REFUSE.   Raises: SpecError (overflow wrap).
    Tests: tests/rtl/test_rtl_export_convert.py.
    """
    top = derive.codes(source)
    signs = (0, 1) if top.sign_bit else (0,)
    return _merged(item for sign in signs for item in _one_sign(source, MagnitudeSteps(fmt, rounding, entry, sign)))


def _one_sign(source: Format, grid: MagnitudeSteps) -> Iterator[Segment]:
    derived = derive.codes(source)
    base = derived.sign_bit if grid.sign else 0
    yield Segment(base, _fixed(grid, Value("finite", grid.sign)))
    yield from (item._replace(last=base | item.last, condition=_moved(item.condition, base)) for item in _finite(source, grid))
    if derived.inf is not None:
        yield Segment(base | derived.inf, _fixed(grid, Value("inf", grid.sign)))
    yield Segment(base | ((1 << derived.magnitude_bits) - 1), _fixed(grid, Value("nan", grid.sign)))


def _fixed(grid: MagnitudeSteps, value: Value) -> int:
    """Return the reference model's code of a value that no rounding moves: zero, infinity, NaN."""
    return convert_value(value, grid.fmt, grid.rounding, grid.entry, 0 if grid.rounding.random_bits else None)


def _moved(condition: Condition | None, base: int) -> Condition | None:
    return None if condition is None else condition._replace(first=condition.first + base)


def _finite(source: Format, grid: MagnitudeSteps) -> Iterator[Segment]:
    """Yield the segments of the magnitude codes 1 .. largest finite one."""
    end = derive.codes(source).max_code
    if grid.always is not None:
        yield Segment(end, grid.always)
        return
    step_of = grid.floor if grid.rounding.random_bits else grid.rounded
    start = 1
    while start <= end:
        step = step_of(_magnitude(start, source))
        stop = _first(start, end + 1, lambda code, step=step: step_of(_magnitude(code, source)) > step)  # type: ignore[misc]
        if not grid.rounding.random_bits or step == grid.top:
            yield Segment(stop - 1, grid.code(step))
        else:
            yield from _drawn(source, grid, step, start, stop)
        start = stop


def _magnitude(code: int, source: Format) -> Fraction:
    assert not isinstance(source.facts, CodebookFacts)
    return magnitude_of(code, source.facts)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first code in low .. high - 1 for which a condition holds that stays true once it is; high where none."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _drawn(source: Format, grid: MagnitudeSteps, step: int, start: int, stop: int) -> Iterator[Segment]:
    """Yield the segments of one step: where nothing is lost below the least value, then one for each binade of the source."""
    low = grid.at(step)
    begin = _first(start, stop, lambda code: _magnitude(code, source) > low)
    if begin > start and _magnitude(begin - 1, source) == low:
        begin -= 1  # nothing is lost there, and the condition says so too
    if begin > start:
        yield Segment(begin - 1, grid.code(step))
    assert isinstance(source.facts, FloatFacts)
    field = source.facts.frac_bits
    while begin < stop:
        end = min(stop, max((begin >> field) + 1, 1) << field)
        yield _linear(source, grid, step, begin, end)
        begin = end


def _linear(source: Format, grid: MagnitudeSteps, step: int, begin: int, end: int) -> Segment:
    """Return the segment begin .. end - 1, which lies in one binade, at or above a step and below the next."""
    low, gap = grid.at(step), grid.at(step + 1) - grid.at(step)
    start = _magnitude(begin, source)
    steps = 1 << grid.rounding.random_bits
    offset = (start - low) / gap * steps
    slope = (_magnitude(begin + 1, source) - start) / gap * steps
    bound, weight = _rule(grid, step, gap, steps)
    condition = _whole(offset, begin, slope, weight, bound)
    segment = Segment(end - 1, grid.code(step), grid.code(step + 1), condition)
    return _settled(segment, begin, steps)


def _rule(grid: MagnitudeSteps, step: int, gap: Fraction, steps: int) -> tuple[Fraction, int]:
    """Return (bound, weight of r): with f the lost part in units of 1 / steps, up where f + weight * r >= bound.

    cmp is r < f: weight -1, and f - r > 0.
    """
    rule = grid.rounding.facts.add
    if rule == "cmp":
        return Fraction(0), -1
    if rule == "half":
        return steps - HALF, 1
    if rule == "te_fma":
        fp32: Format = get("format", "fp32")
        place = locate(grid.at(step + 1), fp32)
        assert not place.lost and place.code % 2 == 0, "a tie of the binary32 sum goes to the step"
        below = grid.at(step + 1) - _magnitude(place.code - 1, fp32)
        assert below / 2 / gap * steps < 1, "an exact value stays"
        return steps - below / 2 / gap * steps, 1
    return Fraction(steps), 1


def _whole(offset: Fraction, first: int, slope: Fraction, weight: int, bound: Fraction) -> Condition:
    """Scale to integers. A strict condition (cmp) becomes one with a bound of 1."""
    scale = lcm(offset.denominator, slope.denominator, bound.denominator)
    least = int(bound * scale) if weight > 0 else 1
    return Condition(int(offset * scale), first, int(slope * scale), weight * scale, least)


def _settled(segment: Segment, begin: int, steps: int) -> Segment:
    """Drop a condition that no x and r meet, and x from one that r alone decides."""
    condition = segment.condition
    assert condition is not None
    most = condition.offset + (segment.last - begin) * condition.slope
    if condition.weight > 0 and most + (steps - 1) * condition.weight < condition.bound:
        return Segment(segment.last, segment.code)
    if condition.weight < 0 and condition.offset and most <= -condition.weight:  # f <= 1: only r = 0 is below
        return segment._replace(condition=Condition(1, 0, 0, -1, 1))
    return segment


def _merged(found: Iterator[Segment]) -> list[Segment]:
    """Join neighbours that say the same."""
    out: list[Segment] = []
    for item in found:
        if out and out[-1][1:] == item[1:] and (item.condition is None or not item.condition.slope):
            out[-1] = item
        else:
            out.append(item)
    return out


class MagnitudeSteps:
    """The finite, non-zero magnitudes of one sign. sign: 1 for negative, as the source has it."""

    def __init__(self, fmt: Format, rounding: Rounding, entry: EntryCodes, sign: int) -> None:
        if entry.overflow == "wrap":
            raise SpecError(f"{fmt.id}: overflow wrap has no golden function: its codes do not ascend with the source")
        if rounding.facts.add == "nearest":
            raise SpecError(f"{rounding.id} has no golden function: its ties depend on the parity of the random integer")
        if entry.negative_rounded and sign and not derive.codes(fmt).sign_bit:
            raise SpecError(f"{fmt.id}: negative_of rounded has no golden function: what is negative there is known after rounding alone")
        self.fmt, self.rounding, self.entry, self.sign = fmt, rounding, entry, sign
        self.book = _side(fmt, sign) if isinstance(fmt.facts, CodebookFacts) else None
        self.seen_sign = sign if derive.codes(fmt).sign_bit or derive.is_twos_complement(fmt) else 0  # an unsigned format drops it
        self.top = len(self.book) - 1 if self.book is not None else largest_magnitude(fmt, self.seen_sign) + 1
        self.always = entry.negative if sign and not self.seen_sign and self.book is None else None

    def floor(self, magnitude: Fraction) -> int:
        """Return the step at or below a magnitude."""
        if self.book is not None:
            return max(bisect_right(self.book, magnitude) - 1, 0)
        return min(locate(magnitude, self.fmt).code, self.top)

    def rounded(self, magnitude: Fraction) -> int:
        """Return the step that a magnitude goes to, of a rounding that draws nothing."""
        if self.book is None:
            return min(round_magnitude(magnitude, self.seen_sign, self.fmt, self.rounding), self.top)
        value = codebook_values(self.fmt)[convert_value(Value("finite", self.sign, magnitude), self.fmt, self.rounding, self.entry)]
        return self.floor(value.magnitude) if value.sign == self.sign or not value.magnitude else 0

    def at(self, step: int) -> Fraction:
        """Return the magnitude of a step."""
        if self.book is not None:
            return self.book[step]
        assert not isinstance(self.fmt.facts, CodebookFacts)
        return magnitude_of(step, self.fmt.facts)

    def code(self, step: int) -> int:
        """Return the code of a step, OPEN or REFUSE."""
        if self.book is not None:
            random = 0 if self.rounding.random_bits else None
            return convert_value(Value("finite", self.sign, self.book[step]), self.fmt, self.rounding, self.entry, random)
        found = overflow(step, self.seen_sign, self.fmt, self.rounding, self.entry)
        return found.code if isinstance(found, Code) else attach_sign(found.code, self.seen_sign, self.fmt)


def _side(fmt: Format, sign: int) -> list[Fraction]:
    """Return the magnitudes of a codebook on one side of zero, ascending. A side without any has the other side's least."""
    values = codebook_values(fmt)
    found = sorted({value.magnitude for value in values if value.sign == sign or not value.magnitude})
    return found or [min(value.magnitude for value in values)]
