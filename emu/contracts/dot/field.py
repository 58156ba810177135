"""One row of a dot product under construction: parts that can be moved by themselves, terms put where a category wants them.

A part is what shares an exponent: a block or group with scales of its own, or one product where every product is aligned alone. The
exponent of a part is that of its scales, or the sum of the exponents of two elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from emu.base.caches import lazy
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.dot.rows import DotRow
from emu.engines.exact.value import power_of_two
from emu.spec.datapath import DatapathPlan
from emu.spec.reach import reach

USUAL_FRAC_BITS = 35  # distances are taken from this where a datapath loses nothing: somebody else's adder does


@dataclass
class Draft:
    """A row that can still be changed; it starts with zeros, scales of 1 and C = 0."""

    a: list[int]
    b: list[int]
    scale_a: list[int]
    scale_b: list[int]
    c: int = 0
    used: list[int] = field(default_factory=list)

    def case(self) -> DotRow:
        """Return the finished row."""
        return DotRow(tuple(self.a), tuple(self.b), tuple(self.scale_a), tuple(self.scale_b), self.c)


class Field:
    """Operands of a plan, and the moves that build rows of one instruction from them."""

    def __init__(self, plan: DatapathPlan) -> None:
        self.plan, self.k = plan, plan.facts.k
        self.a, self.b, self.c, self.d = Codes(plan.a), Codes(plan.b), Codes(plan.c), Codes(plan.d)
        self.scale = Codes(plan.scale) if plan.scale is not None else None
        self.grouped = plan.facts.scale.apply in ("group", "promote")
        self.width = max(plan.block, plan.group) if self.grouped else 1
        self.blocks = self.k // plan.block if plan.block else 0
        self.parts = self.k // self.width
        self.frac_bits = USUAL_FRAC_BITS if plan.frac_bits is None else plan.frac_bits

    def draft(self) -> Draft:
        """Return an empty row."""
        scales = [self.scale.one if self.scale else 0] * self.blocks
        return Draft([0] * self.k, [0] * self.k, list(scales), list(scales))

    def lanes(self, part: int) -> range:
        """Return the elements of a part."""
        return range(part * self.width, (part + 1) * self.width)

    def part_blocks(self, part: int) -> range:
        """Return the blocks of a part: none where parts are single products."""
        return range(part * self.width // self.plan.block, (part + 1) * self.width // self.plan.block) if self.grouped else range(0)

    @lazy
    def exps(self) -> tuple[int, int]:
        """Least and largest exponent of a part, other scales being 1."""
        if self.grouped:
            assert self.scale is not None
            return 2 * self.scale.min_exp, 2 * self.scale.max_exp
        return self.a.min_exp + self.b.min_exp, self.a.max_exp + self.b.max_exp

    @lazy
    def finest(self) -> int:
        """Exponent of the smallest product that is not zero, other scales being 1."""
        grid = self.a.lsb_exp + self.b.lsb_exp
        return grid + 2 * self.scale.lsb_exp if self.grouped and self.scale else grid

    @property
    def movable(self) -> bool:
        """Do scales move the whole row: product scales that all products share."""
        return self.scale is not None and not self.grouped

    def split(self, total: int, low: int, high: int, draw: Draw, even: bool = False) -> tuple[int, int]:
        """Return two exponents of low .. high whose sum is total (clamped): drawn, or half each."""
        total = min(max(total, 2 * low), 2 * high)
        first = total // 2 if even else draw.between(max(low, total - high), min(high, total - low))
        return first, total - first

    def set_exp(self, draft: Draft, part: int, exp: int, draw: Draw) -> None:
        """Give the scales of a part exponents that sum to exp, with significands that are drawn."""
        if not self.grouped or self.scale is None:
            return
        for block in self.part_blocks(part):
            first, second = self.split(exp, self.scale.min_exp, self.scale.max_exp, draw)
            for codes, one in ((draft.scale_a, first), (draft.scale_b, second)):
                codes[block] = self.scale_at(one, draw)

    def scale_at(self, exp: int, draw: Draw, full: bool = False) -> int:
        """Return a scale code of an exponent."""
        assert self.scale is not None
        code = self.scale.at(exp, self.scale.full if full else draw.bits(self.scale.frac_bits))
        return code if self.scale.is_finite(code) else self.scale.at(exp)

    def move(self, draft: Draft, exp: int, draw: Draw) -> None:
        """Give scales that all products share the exponent sum exp."""
        if self.scale is not None and self.movable:
            for block in range(self.blocks):
                first, second = self.split(exp, self.scale.min_exp, self.scale.max_exp, draw)
                draft.scale_a[block], draft.scale_b[block] = self.scale_at(first, draw), self.scale_at(second, draw)

    def shared_exp(self, draft: Draft) -> int:
        """Return the exponent that scales which all products share give them; 0 elsewhere."""
        if self.scale is None or not self.movable:
            return 0
        return self.scale.exponent(draft.scale_a[0]) + self.scale.exponent(draft.scale_b[0])

    def free(self, draft: Draft, part: int, draw: Draw) -> int:
        """Return a lane of a part that nothing has been put into; any lane where all are taken."""
        lanes = [lane for lane in self.lanes(part) if lane not in draft.used] or list(self.lanes(part))
        lane = draw.of(lanes)
        draft.used.append(lane)
        return lane

    def product(self, draft: Draft, part: int, draw: Draw, exp: int | None = None, sign: int | None = None, plain: bool = False) -> int:
        """Put one product into a free lane of a part; return the lane.

        exp: the exponent it shall have, for parts of one product (scales decide it elsewhere).   sign: None: drawn.
        plain: significands 1; else drawn.
        """
        lane = self.free(draft, part, draw)
        sign = draw.bits(1) if sign is None else sign
        if self.grouped:
            draft.a[lane], draft.b[lane] = (self.a.one, self.b.one) if plain else (self.positive(self.a, draw), self.positive(self.b, draw))
        else:
            want = 0 if exp is None else exp - self.shared_exp(draft)
            first, second = self.pair_exps(want, draw)
            drawn = (0, 0) if plain else (draw.bits(self.a.frac_bits), draw.bits(self.b.frac_bits))
            draft.a[lane], draft.b[lane] = self.a.at(first, drawn[0]), self.b.at(second, drawn[1])
        if sign:
            draft.a[lane] = self.a.negated(draft.a[lane])
        return lane

    def positive(self, codes: Codes, draw: Draw) -> int:
        """Return a positive code."""
        code = codes.nonzero(draw)
        return codes.negated(code) if codes.value(code) < 0 and codes.value(codes.negated(code)) > 0 else code

    def pair_exps(self, total: int, draw: Draw) -> tuple[int, int]:
        """Return exponents of one element each whose sum is total, clamped."""
        total = min(max(total, self.a.min_exp + self.b.min_exp), self.a.max_exp + self.b.max_exp)
        first = draw.between(max(self.a.min_exp, total - self.b.max_exp), min(self.a.max_exp, total - self.b.min_exp))
        return first, total - first

    def power(self, draft: Draft, part: int, exp: int, sign: int, draw: Draw, keep_scales: bool = False) -> int:
        """Put a term of value 2^exp (the nearest that exists) and a sign into a part; return the exponent that it got.

        keep_scales: leave the scales of the part as they are and choose the elements alone.
        """
        lane = self.free(draft, part, draw)
        if self.grouped and self.scale is not None and not keep_scales:
            low = min(self.a.powers) + min(self.b.powers)
            choices = [one for one in range(low, 1) if 2 * self.scale.lsb_exp <= exp - one <= 2 * self.scale.max_exp]
            unit = draw.of(choices or [low if exp < 0 else 0])
            got = self.scale_power(draft, part, exp - unit, draw)
            first, second = self.power_pair(unit, draw)
        else:
            got = self.part_exp(draft, part) if self.grouped else self.shared_exp(draft)
            first, second = self.power_pair(exp - got, draw)
        codes = self.a.power(first), self.b.power(second)
        assert codes[0] is not None and codes[1] is not None
        draft.a[lane], draft.b[lane] = self.a.signed(codes[0], sign), codes[1]
        return got + first + second

    def power_pair(self, total: int, draw: Draw) -> tuple[int, int]:
        """Return exponents of two elements that are powers of two, their sum as near to total as it gets."""
        pairs = [(first, second) for first in self.a.powers for second in self.b.powers]
        least = min(abs(first + second - total) for first, second in pairs)
        return draw.of([pair for pair in pairs if abs(sum(pair) - total) == least])

    def scale_power(self, draft: Draft, part: int, exp: int, draw: Draw) -> int:
        """Give the scales of a part values 2^i, 2^j with i + j = exp, as near as it gets; return what it got."""
        assert self.scale is not None
        low, high = self.scale.powers[0], self.scale.powers[-1]
        first, second = self.split(exp, low, high, draw)
        for block in self.part_blocks(part):
            mine, theirs = self.scale.power(first), self.scale.power(second)
            assert mine is not None and theirs is not None
            draft.scale_a[block], draft.scale_b[block] = mine, theirs
        return first + second

    def part_exp(self, draft: Draft, part: int) -> int:
        """Return the exponent of the scales of a part."""
        assert self.scale is not None
        block = self.part_blocks(part)[0]
        return self.scale.exponent(draft.scale_a[block]) + self.scale.exponent(draft.scale_b[block])

    def cancel(
        self, draft: Draft, part: int, other: int, draw: Draw, exp: int | None = None, full: bool = False, apart: bool = False
    ) -> None:
        """Put a product into one part and its negative into another, or the same (into one group, or two: apart): their sum is 0."""
        lane = self.product(draft, part, draw, exp)
        if full:
            draft.a[lane], draft.b[lane] = self.a.max_code, self.b.max_code
        while self.b.negated(draft.b[lane]) == draft.b[lane]:
            draft.b[lane] = self.b.nonzero(draw)
        group = range(lane // self.plan.group * self.plan.group, (lane // self.plan.group + 1) * self.plan.group)
        near = part == other and self.grouped
        same = [place for place in self.lanes(part) if (place in group) != apart and place not in draft.used] if near else []
        twin = draw.of(same) if same else self.free(draft, other, draw)
        draft.used.append(twin)
        draft.a[twin], draft.b[twin] = draft.a[lane], self.b.negated(draft.b[lane])

    def total(self, draft: Draft) -> Fraction:
        """Return the exact sum of products of a row without specials."""
        out = Fraction(0)
        for lane in range(self.k):
            product = self.a.value(draft.a[lane]) * self.b.value(draft.b[lane])
            if product and self.scale is not None:
                block = lane // self.plan.block
                product *= self.scale.value(draft.scale_a[block]) * self.scale.value(draft.scale_b[block])
            out += product
        return out

    def addend(self, exp: int, draw: Draw, sign: int | None = None) -> int:
        """Return a code of C with an exponent and a drawn fraction; below the smallest normal a subnormal."""
        sign = draw.bits(1) if sign is None else sign
        if exp < self.c.min_exp:
            value = power_of_two(exp) * (1 + Fraction(draw.bits(self.c.frac_bits), 1 << self.c.frac_bits))
            return self.c.signed(max(1, self.c.below(value)), sign)
        return self.c.at(exp, draw.bits(self.c.frac_bits), sign)

    def fill(self, draft: Draft, draw: Draw, percent: int = 100) -> None:
        """Draw elements uniformly over the finite codes, each lane with a chance."""
        for lane in range(self.k):
            if draw.chance(percent):
                draft.a[lane], draft.b[lane] = self.a.any(draw), self.b.any(draw)

    def ulp_exp(self, value: Fraction) -> int:
        """Return the exponent of a number's leading bit, no less than the smallest normal of C."""
        low = reach(self.plan.c).min_exp
        if not value:
            return low
        magnitude = abs(value)
        exp = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        return max(exp if power_of_two(exp) <= magnitude else exp - 1, low)
