"""Making a row small on which two datapaths differ: fewer instructions, fewer products, C = 0, scales of 1, simple codes.

Every step keeps the difference by `exact` and lowers the row's weight, so it ends; the result is a local minimum, not the least of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emu.contracts.dot.rows import DotRow, differs
from emu.contracts.text import value_of
from emu.engines.exact.encode import code_of_one
from emu.explain.compare.pair import common_k
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

Weight = tuple[int, ...]
_MOST_TESTS = 3000


def minimise(row: DotRow, first: DatapathPlan, second: DatapathPlan, keeps: Callable[[DotRow], bool] | None = None) -> DotRow:
    """Return a small row on which the two datapaths still differ. keeps: what must hold instead of a difference."""
    search = _Search(row, first, second, keeps or (lambda item: differs(item, first, second)))
    while search.improve():
        pass
    return search.row


class _Search:
    """A row, and the tries that make it smaller."""

    def __init__(self, row: DotRow, first: DatapathPlan, second: DatapathPlan, keeps: Callable[[DotRow], bool]) -> None:
        self.row, self.plan, self.keeps = row, first, keeps
        self.k = common_k(first, second)
        self.group = max(first.group, second.group)
        self.tests = 0
        self.seen: set[tuple[tuple[int, ...], ...]] = {row.key()}
        self.ranks: dict[str, dict[int, int]] = {}

    def improve(self) -> bool:
        """Try every kind of simplification once; tell whether one worked."""
        before = self.row
        for kind in (self._shorter, self._no_c, self._fewer, self._one_scales, self._moved, self._scales, self._codes, self._simple_c):
            self._take(kind)
        return self.row != before and self.tests < _MOST_TESTS

    def _take(self, kind: Callable[[], Iterator[DotRow]]) -> None:
        """Take candidates of one kind until none is taken any more."""
        again = True
        while again and self.tests < _MOST_TESTS:
            again = False
            for item in kind():
                if item.key() in self.seen or self._weight(item) >= self._weight(self.row):
                    continue
                self.seen.add(item.key())
                self.tests += 1
                if self.keeps(item):
                    self.row, again = item, True
                    break

    def _weight(self, row: DotRow) -> Weight:
        """Length, products, C, scales that are not 1, then how far codes are from simple, then where the products stand."""
        plan = self.plan
        products = [k for k, pair in enumerate(zip(row.a, row.b, strict=True)) if pair != (0, 0)]
        one = code_of_one(plan.scale) if plan.scale else 0
        scales = (*row.scale_a, *row.scale_b)
        codes = [self._rank(row.a[k], plan.a) + self._rank(row.b[k], plan.b) for k in products]
        far = sum(self._rank(code, plan.scale) for code in scales) if plan.scale else 0
        return (
            len(row.a),
            len(products),
            int(row.c != 0),
            sum(code != one for code in scales),
            sum(codes) + far,
            self._c_rank(row.c),
            sum(products),
        )

    def _rank(self, code: int, fmt: Format) -> int:
        """How simple a code is: 0 for the code 0, then 1, then other powers of two by their distance from 1, then the rest."""
        table = self.ranks.setdefault(fmt.id, {})
        if code not in table:
            table[code] = _simplicity(code, fmt)
        return table[code]

    def _c_rank(self, code: int) -> int:
        facts = self.plan.c.facts
        assert isinstance(facts, FloatFacts)
        return 2 * (code & ((1 << facts.frac_bits) - 1)).bit_count() + int(bool(code & derive.codes(self.plan.c).sign_bit)) if code else 0

    def _shorter(self) -> Iterator[DotRow]:
        for start in range(0, len(self.row.a), self.k):
            if len(self.row.a) > self.k:
                yield self._without(start, self.k)

    def _without(self, start: int, count: int) -> DotRow:
        """The row without some instructions."""
        row, size = self.row, self.plan.block
        cut = [codes[:start] + codes[start + count :] for codes in (row.a, row.b)]
        scales = [codes[: start // size] + codes[(start + count) // size :] if size else codes for codes in (row.scale_a, row.scale_b)]
        return DotRow(cut[0], cut[1], scales[0], scales[1], row.c)

    def _no_c(self) -> Iterator[DotRow]:
        yield self.row._replace(c=0)

    def _fewer(self) -> Iterator[DotRow]:
        """Zero ever smaller runs of products; pairs of products too, since two often cancel."""
        alive = [k for k, pair in enumerate(zip(self.row.a, self.row.b, strict=True)) if pair != (0, 0)]
        size = len(alive)
        while size:
            for start in range(0, len(alive), size):
                yield self._zeroed(alive[start : start + size])
            size //= 2
        if len(alive) <= 16:
            yield from (self._zeroed([x, y]) for place, x in enumerate(alive) for y in alive[place + 1 :])

    def _zeroed(self, places: list[int]) -> DotRow:
        a, b = list(self.row.a), list(self.row.b)
        for k in places:
            a[k] = b[k] = 0
        return self.row._replace(a=tuple(a), b=tuple(b))

    def _one_scales(self) -> Iterator[DotRow]:
        """All scales 1; both of a block; each alone; and all exponents of a side moved together to where block 0 is 1."""
        if self.plan.scale is None:
            return
        one = code_of_one(self.plan.scale)
        count = len(self.row.scale_a)
        yield self.row._replace(scale_a=(one,) * count, scale_b=(one,) * count)
        for block in range(count):
            yield self._scaled(block, one, one)
        for block in range(count):
            yield self._scaled(block, one, self.row.scale_b[block])
            yield self._scaled(block, self.row.scale_a[block], one)

    def _scaled(self, block: int, first: int, second: int) -> DotRow:
        row = self.row
        a, b = list(row.scale_a), list(row.scale_b)
        a[block], b[block] = first, second
        return row._replace(scale_a=tuple(a), scale_b=tuple(b))

    def _scales(self) -> Iterator[DotRow]:
        """Every scale by a simpler code, simplest first."""
        if self.plan.scale is None or derive.codes(self.plan.scale).bits > 8:
            return
        for block in range(len(self.row.scale_a)):
            for side in (0, 1):
                old = (self.row.scale_a[block], self.row.scale_b[block])
                for code in self._simpler(old[side], self.plan.scale):
                    yield self._scaled(block, code, old[1]) if side == 0 else self._scaled(block, old[0], code)

    def _simpler(self, code: int, fmt: Format) -> list[int]:
        """Return codes of a format of at most 8 bits that are simpler, simplest first."""
        limit = self._rank(code, fmt)
        found = [(self._rank(other, fmt), other) for other in range(1 << derive.codes(fmt).bits)]
        return [other for rank, other in sorted(found) if rank < limit]

    def _codes(self) -> Iterator[DotRow]:
        """Every element by a simpler code that is not zero."""
        for k in range(len(self.row.a)):
            for name, fmt in (("a", self.plan.a), ("b", self.plan.b)):
                codes = getattr(self.row, name)
                if codes[k] == 0:
                    continue
                for code in self._element_choices(codes[k], fmt):
                    changed = (*codes[:k], code, *codes[k + 1 :])
                    yield self.row._replace(a=changed) if name == "a" else self.row._replace(b=changed)

    def _element_choices(self, code: int, fmt: Format) -> list[int]:
        if derive.codes(fmt).bits <= 8:
            return [other for other in self._simpler(code, fmt) if other]
        sign = derive.codes(fmt).sign_bit
        return [code_of_one(fmt), code_of_one(fmt) | sign, code & ~sign, *_shorter_fraction(code, fmt)]

    def _simple_c(self) -> Iterator[DotRow]:
        """C = 1, positive, with ever fewer fraction bits."""
        sign = derive.codes(self.plan.c).sign_bit
        for code in (code_of_one(self.plan.c), self.row.c & ~sign, *_shorter_fraction(self.row.c, self.plan.c)):
            yield self.row._replace(c=code)

    def _moved(self) -> Iterator[DotRow]:
        """Products to the first free place of their group, groups to the first blocks."""
        row = self.row
        alive = [k for k, pair in enumerate(zip(row.a, row.b, strict=True)) if pair != (0, 0)]
        for k in alive:
            start = k - k % self.group
            free = next((place for place in range(start, k) if place not in alive), None)
            if free is not None:
                yield self._swapped([(free, k)], [])
        size = self.plan.block or self.group
        for left in range(0, len(row.a), size):
            for right in range(left + size, len(row.a), size):
                places = [(left + i, right + i) for i in range(size)]
                yield self._swapped(places, [(left // size, right // size)] if self.plan.block else [])

    def _swapped(self, places: list[tuple[int, int]], blocks: list[tuple[int, int]]) -> DotRow:
        lists = [list(codes) for codes in (self.row.a, self.row.b, self.row.scale_a, self.row.scale_b)]
        for codes, swaps in zip(lists, (places, places, blocks, blocks), strict=True):
            for x, y in swaps:
                codes[x], codes[y] = codes[y], codes[x]
        return DotRow(tuple(lists[0]), tuple(lists[1]), tuple(lists[2]), tuple(lists[3]), self.row.c)


def _shorter_fraction(code: int, fmt: Format) -> Iterator[int]:
    """Yield a float code with ever fewer fraction bits cleared, the shortest first."""
    facts = fmt.facts
    if not isinstance(facts, FloatFacts):
        return
    for bits in range(facts.frac_bits, 0, -1):
        yield code & ~((1 << bits) - 1)


def _simplicity(code: int, fmt: Format) -> int:
    value = value_of(code, fmt)
    if value.is_zero:
        return 2 * int(value.sign)
    if value.kind != "finite":
        return 4096
    top, bottom = value.magnitude.numerator, value.magnitude.denominator
    odd = top >> ((top & -top).bit_length() - 1)
    exp = abs((top // odd).bit_length() - bottom.bit_length())
    return 4 + 8 * exp + 1024 * (odd.bit_length() - 1) + odd.bit_count() + 2 * int(value.sign)
