"""Maker: builds one row of a dot product by random choices: exponents that are wanted, codes near them. Which choices: dot_samples."""

from __future__ import annotations

from emu.spec import derive
from emu.spec.datapath import Plan, reach
from emu.spec.models import Format
from emu.spec.models.format import ExponentFacts, FloatFacts
from emu.study.dot_draws import Draws
from emu.study.dot_rows import DotRow, one_code, value_of


class Maker:
    """Builds one row by choices. Elements and scales start as zero products under scales of 1."""

    def __init__(self, plan: Plan, draws: Draws, instructions: int = 1) -> None:
        self.plan, self.draws = plan, draws
        self.k = plan.facts.k * instructions
        self.a, self.b = [0] * self.k, [0] * self.k
        self.size = plan.block or self.k
        self.blocks = self.k // self.size
        one = [one_code(plan.scale)] * self.blocks if plan.scale else []
        self.scale_a, self.scale_b, self.c = list(one), list(one), 0

    def row(self) -> DotRow:
        """Return the row as it stands."""
        return DotRow(tuple(self.a), tuple(self.b), tuple(self.scale_a), tuple(self.scale_b), self.c)

    def any_code(self, fmt: Format) -> int:
        """Return a random finite code."""
        while True:
            code = self.draws.bits(derive.codes(fmt).bits)
            if value_of(code, fmt).kind == "finite":
                return code

    def near(self, fmt: Format, exp: int, spread: bool = True) -> int:
        """Return a code whose exponent is exp (the nearest one that the format names), random fraction and sign, never zero."""
        facts, codes, ends = fmt.facts, derive.codes(fmt), reach(fmt)
        exp = min(max(exp, ends.min_exp), ends.max_exp)
        if isinstance(facts, ExponentFacts):
            return exp + facts.bias
        if not isinstance(facts, FloatFacts):
            return self.draws.between(1, codes.max_code)
        fraction = self.draws.bits(facts.frac_bits) if spread and facts.frac_bits else 0
        code = min(((exp + facts.bias) << facts.frac_bits) + fraction, codes.max_code) or 1
        return code | (codes.sign_bit if codes.sign_bit and self.draws.chance(50) else 0)

    def scale(self, block: int, exp: int) -> None:
        """Give a block scales whose exponents add up to exp, as nearly as the format allows."""
        fmt = self.plan.scale
        if fmt is None:
            return
        ends = reach(fmt)
        low, high = max(ends.min_exp, exp - ends.max_exp), min(ends.max_exp, exp - ends.min_exp)
        first = self.draws.between(low, high) if low <= high else (ends.max_exp if exp > 0 else ends.min_exp)
        positive = ~derive.codes(fmt).sign_bit
        self.scale_a[block], self.scale_b[block] = self.near(fmt, first) & positive, self.near(fmt, exp - first) & positive

    def product(self, k: int, exp: int = 0) -> None:
        """Put a product that is not zero at element k, its exponent near exp where the elements have a choice."""
        low = reach(self.plan.a)
        first = self.draws.between(max(low.min_exp, exp // 2 - 2), min(low.max_exp, max(exp // 2 + 2, low.min_exp))) if exp else 0
        self.a[k] = self.near(self.plan.a, first)
        self.b[k] = self.near(self.plan.b, exp - first)

    def negate_b(self, k: int) -> None:
        """Change the sign of B at k (two's complement included)."""
        codes = derive.codes(self.plan.b)
        ones = (1 << codes.bits) - 1
        self.b[k] = -self.b[k] & ones if derive.is_twos_complement(self.plan.b) else self.b[k] ^ codes.sign_bit

    def fill(self) -> None:
        """Give every element a random finite code."""
        self.a = [self.any_code(self.plan.a) for _ in range(self.k)]
        self.b = [self.any_code(self.plan.b) for _ in range(self.k)]

    def c_near(self, exp: int, spread: bool = True) -> None:
        """Give C an exponent near exp; far below the normal range it becomes subnormal or zero."""
        facts = self.plan.c.facts
        assert isinstance(facts, FloatFacts)
        lowest = 1 - facts.bias
        if exp >= lowest:
            self.c = self.near(self.plan.c, exp, spread)
        else:
            self.c = (self.draws.bits(facts.frac_bits) >> min(lowest - exp - 1, facts.frac_bits)) | self.sign()

    def sign(self) -> int:
        """Return a random sign bit of C."""
        return derive.codes(self.plan.c).sign_bit if self.draws.chance(50) else 0

    def span(self) -> tuple[int, int]:
        """Return the least and largest nominal exponent of a term."""
        first, second = reach(self.plan.a), reach(self.plan.b)
        low, high = first.min_exp + second.min_exp, first.max_exp + second.max_exp
        if self.plan.scale is None:
            return low, high
        scale = reach(self.plan.scale)
        if self.plan.facts.scale.apply == "group":
            low = high = 0
        return low + 2 * scale.min_exp, high + 2 * scale.max_exp
