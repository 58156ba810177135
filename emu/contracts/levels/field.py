"""Operands of rows for a datapath of levels while they are made: products of chosen value, scales, C, random words."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

from emu.base.caches import bounded, lazy
from emu.contracts.dot.codes import NARROW, Codes, Draw
from emu.contracts.levels.rows import LevelsRow
from emu.engines.exact.value import power_of_two
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format
from emu.spec.models.levels import FloatHold
from emu.spec.registry import get

Table = tuple[list[Fraction], list[tuple[int, int]]]  # magnitudes of products, ascending, and a pair of codes of each


class Field:
    """The operands of a plan. k: products of a row.   scale: codes of the scales, or None.   c: of C, or None."""

    def __init__(self, plan: LevelsPlan, k: int) -> None:
        self.plan, self.k = plan, k
        self.a, self.b = Codes(plan.a), Codes(plan.b)
        self.scale = None if plan.scale is None else Codes(plan.scale)
        self.c = None if plan.c is None else Codes(plan.c)
        self.shape = plan.shape(k)
        self.draws = plan.draws(k)
        self.blocks = k // plan.block if plan.block else 0
        self.one = 0 if self.scale is None else self.scale.nearest(Fraction(1))
        self.table = _table(plan.a, plan.b) if max(self.a.bits, self.b.bits) <= NARROW else None

    def draft(self) -> Draft:
        """Return a row of zeros under scales of 1."""
        return Draft(self)

    def products(self, level: int, node: int) -> list[int]:
        """Return the products below a node."""
        if level == 0:
            return [node]
        return [product for child in self.shape[level - 1][node] for product in self.products(level - 1, child)]

    def lots(self) -> list[list[int]]:
        """Return the products of each node below the first level that takes all of K; single products where there is none."""
        level = next((number for number, item in enumerate(self.plan.facts.levels) if item.of == "all"), 0)
        count = len(self.shape[level - 1]) if level else self.k
        return [self.products(level, node) for node in range(count)]

    @lazy
    def registers(self) -> list[Codes]:
        """The float formats of the registers of levels, each once."""
        holds = [level.facts.hold for level in self.plan.levels]
        return [Codes(get("format", name)) for name in dict.fromkeys(hold.format for hold in holds if isinstance(hold, FloatHold))]

    @property
    def exps(self) -> tuple[int, int]:
        """The exponents of products that are neither zero nor as large as can be."""
        return self.a.lsb_exp + self.b.lsb_exp, self.a.max_exp + self.b.max_exp


class Draft:
    """One row. Lists of codes that makers change."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.a, self.b = [0] * field.k, [0] * field.k
        self.scale_a, self.scale_b = [field.one] * field.blocks, [field.one] * field.blocks
        self.c = None if field.c is None else 0
        self.random = [0] * len(field.draws)

    def row(self) -> LevelsRow:
        """Return the row."""
        return LevelsRow(tuple(self.a), tuple(self.b), tuple(self.scale_a), tuple(self.scale_b), self.c, tuple(self.random))

    def factor(self, lane: int) -> Fraction:
        """Return the product of the scales over a lane; 1 where one of them is no number or zero."""
        field = self.field
        if field.scale is None:
            return Fraction(1)
        codes = self.scale_a[lane // field.plan.block], self.scale_b[lane // field.plan.block]
        values = [field.scale.value(code) if field.scale.is_finite(code) else Fraction(0) for code in codes]
        return values[0] * values[1] or Fraction(1)

    def value(self, lane: int) -> Fraction:
        """Return a product under its scales."""
        return self.field.a.value(self.a[lane]) * self.field.b.value(self.b[lane]) * self.factor(lane)

    def put(self, lane: int, value: Fraction, exactly: bool = False) -> Fraction:
        """Make a product under its scales: the largest that is no larger in magnitude, of that sign. Returns what it is.

        exactly: leave it zero where there is none of that value.
        """
        field, factor = self.field, self.factor(lane)
        x, y = field_pair(field, abs(value) / factor)
        if value < 0:
            x, y = (field.a.negated(x), y) if field.a.negated(x) != x else (x, field.b.negated(y))
        got = field.a.value(x) * field.b.value(y) * factor
        if exactly and got != value:
            x = y = 0
            got = Fraction(0)
        self.a[lane], self.b[lane] = x, y
        return got

    def fill(self, lanes: list[int], total: Fraction) -> Fraction:
        """Make products of one sign, one lane after the other, that add up to a total. Returns what is missing."""
        for lane in lanes:
            if not total:
                break
            total -= self.put(lane, total)
        return total

    def any(self, lane: int, draw: Draw) -> None:
        """Take any finite codes."""
        self.a[lane], self.b[lane] = self.field.a.any(draw), self.field.b.any(draw)

    def near(self, lane: int, exp: int, draw: Draw) -> Fraction:
        """Make a product of about 2^exp: any fraction, any sign."""
        value = power_of_two(exp) * (1 + Fraction(draw.bits(12), 1 << 12)) * (-1 if draw.bits(1) else 1)
        return self.put(lane, value)

    def add_c(self, value: Fraction) -> None:
        """Take C next to a value, toward zero."""
        if self.field.c is not None:
            self.c = self.field.c.below(value)

    def words(self, draw: Draw) -> None:
        """Draw the random words: any, all ones, none, half; or one that differs from all others."""
        tops = [(1 << item.rounding.random_bits) - 1 for item in self.field.draws]
        style = draw.below(6)
        if style == 0:
            self.random = [draw.of((0, 1, top, top - 1, (top + 1) // 2, top // 2)) for top in tops]
        elif style <= 2:
            self.random = [0 if style == 1 else top for top in tops]
            if tops:
                place = draw.below(len(tops))
                self.random[place] = tops[place] - self.random[place]
        else:
            self.random = [draw.bits(item.rounding.random_bits) for item in self.field.draws]


def field_pair(field: Field, magnitude: Fraction) -> tuple[int, int]:
    """Return codes whose product is the largest one up to a magnitude; of wide formats one with a power of two that loses least."""
    if field.table is not None:
        values, pairs = field.table
        place = bisect_right(values, magnitude) - 1
        return pairs[place] if place >= 0 else (0, 0)
    if not magnitude:
        return 0, 0
    exp = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    best = (0, 0, Fraction(-1))
    for wide, other, swapped in ((field.a, field.b, False), (field.b, field.a, True)):
        for power in _powers(wide, other, exp):
            code = other.power(power)
            if code is None:
                continue
            found = wide.below(magnitude / power_of_two(power))
            got = wide.value(found) * power_of_two(power)
            if got > best[2]:
                best = (code, found, got) if swapped else (found, code, got)
        if best[2] == magnitude:
            break
    return best[0], best[1]


def _powers(wide: Codes, other: Codes, exp: int) -> list[int]:
    """Return exponents of the second factor: 1, one that brings the first into the middle of its range, both ends."""
    middle = exp - (wide.max_exp + wide.min_exp) // 2
    low, high = other.lsb_exp, other.max_exp
    found = [0, middle, exp - wide.max_exp, exp - wide.min_exp, exp // 2]
    return list(dict.fromkeys(min(max(power, low), high) for power in found))


@bounded(64)
def _table(a: Format, b: Format) -> Table:
    """Return the magnitudes of products of two narrow formats."""
    found: dict[Fraction, tuple[int, int]] = {}
    first, second = (_magnitudes(Codes(fmt)) for fmt in (a, b))
    for y, other in second:
        for x, value in first:
            found.setdefault(value * other, (x, y))
    values = sorted(found)
    return values, [found[value] for value in values]


def _magnitudes(codes: Codes) -> list[tuple[int, Fraction]]:
    """Return the codes that are not negative, with their values."""
    found = [(code, codes.value(code)) for code in range(1 << codes.bits) if codes.is_finite(code)]
    return [(code, value) for code, value in found if value >= 0 and not (value == 0 and code)]
