"""Placer: products of chosen value (1 or 3 times a power of two) at chosen elements of a row, by choosing element and scale codes."""

from __future__ import annotations

from emu.base.caches import Cache
from emu.contracts.dot.rows import DotRow
from emu.contracts.text import value_of
from emu.engines.exact.encode import code_of_one
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts

Codes = dict[int, dict[int, int]]  # odd factor -> exponent -> code
_tables: Cache[str, Codes] = Cache("emu.explain.dot.powers._tables", 64)
_products: Cache[tuple[str, str, int], tuple[dict[int, tuple[int, int]], tuple[int, ...]]] = Cache("emu.explain.dot.powers._products", 64)


def powers(fmt: Format) -> Codes:
    """Return the positive codes whose value is 1 or 3 times a power of two."""
    known = _tables.get(fmt.facts_digest)
    if known is None:
        out: Codes = {1: {}, 3: {}}
        for code in _candidates(fmt):
            value = value_of(code, fmt)
            if value.kind != "finite" or value.sign or value.is_zero:
                continue
            top = value.magnitude.numerator
            low = (top & -top).bit_length() - 1
            if top >> low in (1, 3):
                out[top >> low].setdefault(low - value.magnitude.denominator.bit_length() + 1, code)
        known = _tables.keep(fmt.facts_digest, out)
    return known


def _candidates(fmt: Format) -> list[int]:
    """Codes that may be 1 or 3 times a power of two; all of them in narrow formats."""
    codes, facts = derive.codes(fmt), fmt.facts
    if codes.bits <= 8 or isinstance(facts, ExponentFacts | IntegerFacts):
        return list(range(codes.max_code + 1))
    assert isinstance(facts, FloatFacts)
    normal = [
        (field << facts.frac_bits) + half
        for field in range(1, (codes.max_code >> facts.frac_bits) + 1)
        for half in (0, 1 << (facts.frac_bits - 1))
    ]
    return [odd << place for odd in (1, 3) for place in range(facts.frac_bits) if odd << place < 1 << facts.frac_bits] + normal


def products_of_powers(a: Format, b: Format, odd: int) -> tuple[dict[int, tuple[int, int]], tuple[int, ...]]:
    """Return exponent of a product -> exponents of A and B, the most equal pair; and the exponents, those near 0 first."""
    key = (a.facts_digest, b.facts_digest, odd)
    known = _products.get(key)
    if known is None:
        table: dict[int, tuple[int, int]] = {}
        for x in powers(a)[odd]:
            for y in powers(b)[1]:
                best = table.get(x + y)
                if best is None or (abs(x - y), x) < (abs(best[0] - best[1]), best[0]):
                    table[x + y] = (x, y)
        known = _products.keep(key, (table, tuple(sorted(table, key=lambda exp: (abs(exp), exp)))))
    return known


class ProductPlacer:
    """A row that fills up. put returns whether the value can be had there; a row with a value that could not is worthless."""

    def __init__(self, plan: DatapathPlan, k: int) -> None:
        self.plan, self.fits = plan, True
        self.a, self.b = [0] * k, [0] * k
        self.size = plan.block or k
        self.scales: dict[int, int] = {}
        one = [code_of_one(plan.scale)] * (k // self.size) if plan.scale else []
        self.scale_a, self.scale_b, self.c = list(one), list(one), 0

    def put(self, k: int, exp: int, sign: int = 0, odd: int = 1) -> ProductPlacer:
        """Put a product of value (-1)^sign * odd * 2^exp at element k; its block gets the scales for it unless it has some."""
        block = k // self.size
        table, near = products_of_powers(self.plan.a, self.plan.b, odd)
        for product in (exp,) if self.plan.scale is None else near:
            pair, rest = table.get(product), exp - product
            if pair is None or (block in self.scales and self.scales[block] != rest):
                continue
            if self.plan.scale is not None and block not in self.scales and not self._scale(block, rest):
                continue
            self.a[k] = powers(self.plan.a)[odd][pair[0]]
            self.b[k] = self._signed(powers(self.plan.b)[1][pair[1]], sign)
            return self
        self.fits = False
        return self

    def _scale(self, block: int, exp: int) -> bool:
        assert self.plan.scale is not None
        table = powers(self.plan.scale)[1]
        half = exp // 2
        for first in sorted(table, key=lambda item: (abs(item - half), item)):
            if exp - first in table:
                self.scale_a[block], self.scale_b[block] = table[first], table[exp - first]
                self.scales[block] = exp
                return True
        return False

    def _signed(self, code: int, sign: int) -> int:
        if not sign:
            return code
        codes = derive.codes(self.plan.b)
        return -code & ((1 << codes.bits) - 1) if derive.is_twos_complement(self.plan.b) else code | codes.sign_bit

    def put_c(self, exp: int, sign: int = 0) -> ProductPlacer:
        """Give C the value (-1)^sign * 2^exp."""
        code = powers(self.plan.c)[1].get(exp)
        if code is None:
            self.fits = False
        else:
            self.c = code | (derive.codes(self.plan.c).sign_bit if sign else 0)
        return self

    def row(self) -> DotRow | None:
        """Return the row, or None when a value could not be had."""
        return DotRow(tuple(self.a), tuple(self.b), tuple(self.scale_a), tuple(self.scale_b), self.c) if self.fits else None
