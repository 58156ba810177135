"""What the axes of spec/coverage/convert.yaml mean, and which bins no source code can reach.

The values and midpoints of the destination cut the source codes of one sign into ranges. Inside a range every axis is constant: where a
magnitude lies is a comparison with those thresholds, and codes are in the order of magnitudes. So the first code of each range, with its
last one and the ends of the random integer where a rounding draws, reaches all that can be reached. Destinations are walked code by code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from emu.base.caches import Cache, lazy
from emu.contracts.contract import Values
from emu.contracts.cover import Bin, Point, Settled, settled_by
from emu.contracts.text import class_of
from emu.engines.exact.codebook import round_to_codebook
from emu.engines.exact.decode import codebook_values, decode_code, magnitude_of
from emu.engines.exact.overflow import largest_magnitude
from emu.engines.exact.round import HALF, locate, round_magnitude
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.registry import digest

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

NARROW = 8  # bits: a bin for each code; above that one for each exponent
SIGNS = ("plus", "minus")
STOCHASTIC = ("random",)
_REACHED: Cache[tuple[object, ...], list[tuple[Values, Point]]] = Cache("emu.contracts.convert.cover._reached", 256)


class Position(NamedTuple):
    """Where a magnitude lies: the code at or below it (the next one up is code + 1), its lost part, and is it beyond the largest."""

    code: int
    lost: Fraction
    beyond: bool


class Range(NamedTuple):
    """Source magnitude codes first .. last of one sign, between two thresholds."""

    sign: int
    first: int
    last: int


class ConvertCover:
    """A conversion, as the coverage model sees it."""

    def __init__(self, op: ConvertContract) -> None:
        self.op, self.fmt, self.source = op, op.fmt, op.source
        self.derived, self.known = derive.codes(op.fmt), derive.codes(op.source)
        self.bits = op.rounding.random_bits
        facts = op.source.facts
        assert isinstance(facts, FloatFacts)
        self.frac_bits = facts.frac_bits
        self.drops_sign = (
            not self.derived.sign_bit and not derive.is_twos_complement(op.fmt) and not isinstance(op.fmt.facts, CodebookFacts)
        )

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis; `random` is there for roundings that draw."""
        if name in STOCHASTIC and not self.bits:
            return None
        if axis.each is None:
            return axis.bins
        if axis.each != "destination_code":
            raise KeyError(axis.each)
        return (*dict.fromkeys(self.label(code) for code in range(self.codes)), *axis.bins)

    @lazy
    def codes(self) -> int:
        """How many magnitude codes the destination has: of a codebook, how many values of the sign that has more."""
        if isinstance(self.fmt.facts, CodebookFacts):
            return max(len(self.shelf(sign)) for sign in (0, 1))
        return max(largest_magnitude(self.fmt, sign) for sign in (0, 1)) + 1

    def label(self, code: int) -> str:
        """Return the bin of an interval: its lower code in hex, or the exponent field of a wide format."""
        facts = self.fmt.facts
        if self.derived.bits > NARROW and isinstance(facts, FloatFacts):
            return f"exp_{code >> facts.frac_bits:x}"
        return f"{code:0{-(-self.derived.bits // 4)}x}"

    def shelf(self, sign: int) -> list[Fraction]:
        """Return the magnitudes of a codebook's values of one sign, ascending from zero."""
        return sorted({value.magnitude for value in codebook_values(self.fmt) if value.is_zero or value.sign == sign})

    def place(self, magnitude: Fraction, sign: int) -> Position:
        """Return where a magnitude lies. A codebook counts its values of one sign from zero."""
        if isinstance(self.fmt.facts, CodebookFacts):
            shelf = self.shelf(sign)
            code = max(number for number, value in enumerate(shelf) if value <= magnitude)
            if code + 1 == len(shelf):
                return Position(code, Fraction(0), magnitude > shelf[-1])
            return Position(code, (magnitude - shelf[code]) / (shelf[code + 1] - shelf[code]), False)
        found = locate(magnitude, self.fmt)
        return Position(found.code, found.lost, found.code > largest_magnitude(self.fmt, sign))

    def points(self, values: Values) -> list[Point]:
        """Return one point: what kind of source it is, and for a number where it lies and where it goes."""
        value = decode_code(values[0], self.source)
        point = {"source": self.source_class(values[0]), "sign": SIGNS[value.sign]}
        if self.bits:
            point["random"] = self.draw(values[1])
        sign = 0 if self.drops_sign else value.sign
        if value.kind != "finite" or (self.drops_sign and value.sign and self.op.entry.negative is not None and not value.is_zero):
            return [point]
        found = self.place(value.magnitude, sign)
        point["range"] = self.range_of(value.magnitude, found)
        if not found.beyond:
            lost = (
                "zero" if not found.lost else "less_than_half" if found.lost < HALF else "half" if found.lost == HALF else "more_than_half"
            )
            point |= {"interval": self.label(found.code), "lost": lost, "parity": ("even", "odd")[found.code % 2]}
            point["move"] = self.move(value, sign, found, values[1] if self.bits else None)
        return [point]

    def source_class(self, code: int) -> str:
        """Return the class of a source code."""
        found = class_of(code, self.source)
        return found if found != "nan" else "nan_quiet" if code >> (self.frac_bits - 1) & 1 else "nan_signalling"

    def range_of(self, magnitude: Fraction, found: Position) -> str:
        """Return the part of the destination's range that a magnitude lies in."""
        facts, shelf = self.fmt.facts, isinstance(self.fmt.facts, CodebookFacts)
        if not magnitude or found.beyond:
            return "beyond" if found.beyond else "zero"
        if not shelf and not self.derived.has_zero and not isinstance(facts, CodebookFacts) and magnitude < magnitude_of(0, facts):
            return "below_smallest"
        if found.code == 0 and (shelf or self.derived.has_zero):
            return "below_smallest"
        if not shelf and found.code == self.derived.max_code:
            return "top"
        if isinstance(facts, FloatFacts) and facts.subnormals == "yes" and not found.code >> facts.frac_bits:
            return "subnormal"
        return "normal"

    def move(self, value: Value, sign: int, found: Position, random: int | None) -> str:
        """Return where the reference model's rounding takes a finite source."""
        if not found.lost:
            return "stay"
        if isinstance(self.fmt.facts, CodebookFacts):
            code = round_to_codebook(value, self.fmt, self.op.rounding, random)
            up = codebook_values(self.fmt)[code].magnitude > value.magnitude
        else:
            up = round_magnitude(value.magnitude, sign, self.fmt, self.op.rounding, random) > found.code
        facts = self.fmt.facts
        if not up:
            return "down"
        return "carry" if isinstance(facts, FloatFacts) and (found.code + 1) >> facts.frac_bits > found.code >> facts.frac_bits else "up"

    def draw(self, random: int) -> str:
        """Return the bin of a random integer."""
        return {0: "zero", 1: "one", (1 << self.bits) - 1: "all_ones"}.get(random, "between")

    def thresholds(self, sign: int) -> Iterator[Fraction]:
        """Yield the values of the destination and the midpoints, with the end of the last interval."""
        if isinstance(self.fmt.facts, CodebookFacts):
            shelf = self.shelf(sign)
            pairs = list(pairwise(shelf)) or [(shelf[0], shelf[0])]
        else:
            facts = self.fmt.facts
            pairs = [(magnitude_of(code, facts), magnitude_of(code + 1, facts)) for code in self.walked(largest_magnitude(self.fmt, sign))]
        for low, high in pairs:
            yield from (low, (low + high) * HALF, high)

    def walked(self, top: int) -> list[int]:
        """Return the lower codes of the intervals that are looked at: all; of a wide format the subnormal ones and four of each exponent.

        Inside one exponent of a wide format the spacings of destination and source are constant: intervals of one parity are alike.
        """
        facts = self.fmt.facts
        if self.derived.bits <= NARROW or not isinstance(facts, FloatFacts):
            return list(range(top + 1))
        hidden = 1 << facts.frac_bits
        ends = {field * hidden + place for field in range(top // hidden + 1) for place in (0, 1, hidden - 2, hidden - 1)}
        return sorted({code for code in ends if 0 <= code <= top} | set(range(min(hidden, top + 1))) | {top})

    def ranges(self) -> Iterator[Range]:
        """Yield the ranges that thresholds and the classes of the source make of the finite codes; together they are every one of them."""
        end = self.known.max_code + 1
        for sign in (0, 1):
            cuts = {0, 1, 1 << self.frac_bits, end}
            for threshold in self.thresholds(0 if self.drops_sign else sign):
                found = locate(threshold, self.source)
                cuts |= {min(found.code + (found.lost > 0), end), min(found.code + 1, end)}
            ordered = sorted(cuts)
            yield from (Range(sign, first, last - 1) for first, last in pairwise(ordered))

    def corners(self) -> Iterator[Values]:
        """Yield inputs that reach all that can be reached."""
        last = (1 << self.bits) - 1
        draws = [(r,) for r in sorted({0, 1, 2, max(last - 1, 0), last} & set(range(last + 1)))] if self.bits else [()]
        for part in self.ranges():
            ends = dict.fromkeys((part.first, part.last)) if self.bits else (part.first,)
            yield from ((code | (self.known.sign_bit if part.sign else 0), *r) for code, r in product(ends, draws))
        if self.known.inf is not None:
            payloads = (0, 1 << (self.frac_bits - 1), 1)
            signs = (0, self.known.sign_bit)
            yield from ((self.known.inf | payload | sign, *r) for payload in payloads for sign in signs for r in draws)

    @lazy
    def reached(self) -> list[tuple[Values, Point]]:
        """Every point that can be reached, with the first inputs that do; contracts that differ in their overflow alone share it."""
        key = (digest(self.fmt), digest(self.source), self.op.rounding.facts_digest, self.op.entry.negative is None)
        known = _REACHED.get(key)
        if known is None:
            found: dict[tuple[tuple[str, str], ...], tuple[Values, Point]] = {}
            for values in self.corners():
                for point in self.points(values):
                    found.setdefault(tuple(sorted(point.items())), (values, point))
            known = _REACHED.keep(key, list(found.values()))
        return known

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return for every bin an example, or that no code of the source reaches it."""
        return settled_by(self.reached, axes, bins, Settled("thresholds", self.argument))

    @lazy
    def argument(self) -> str:
        """The proof in words, with its numbers."""
        parts = list(self.ranges())
        codes = sum(part.last - part.first + 1 for part in parts)
        drawn = ", with the ends of each bin of the random integer, in which the way up is monotone" if self.bits else ""
        alike = (
            "" if self.derived.bits <= NARROW else "; intervals of one parity inside an exponent are alike, and four of each were looked at"
        )
        return (
            f"values and midpoints of {self.fmt.id} cut the {codes} finite {self.source.id} codes into {len(parts)} ranges in which every "
            f"axis is constant: one code of each was tried{drawn}, and Inf and NaN{alike}"
        )
