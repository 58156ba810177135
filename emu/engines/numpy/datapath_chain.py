"""Chains of fused steps over K on one tile of outputs: what is carried from step to step, and from chunk to chunk of K.

A chain is fed the operands of whole instructions, in order, and asked for its codes at the end.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError
from emu.engines.numpy.arithmetic import binary, fused
from emu.engines.numpy.datapath_operands import Side
from emu.engines.numpy.datapath_round import F64, Codes, decode_addend, encode_values, round_values, sum_to_odd
from emu.engines.numpy.datapath_shape import Shape
from emu.engines.numpy.datapath_special import Special, find_special, outer
from emu.engines.numpy.datapath_steps import STEPS
from emu.engines.numpy.datapath_terms import step_sum
from emu.spec.models.datapath import PromoteFacts
from emu.spec.registry import get


class Chain(Protocol):
    """A sum that runs over K."""

    def add(self, a: Side, b: Side) -> None:
        """Add the products of some instructions."""

    def codes(self) -> Codes:
        """Return the results."""


class Steps:
    """D of one step is C of the next."""

    def __init__(self, c: Codes, shape: Shape) -> None:
        self.shape = shape
        self.sum = decode_addend(c, shape.plan.c, shape.plan.facts.subnormal.c == "flush")

    def add(self, a: Side, b: Side) -> None:
        """Run the steps of these operands."""
        run = STEPS[self.shape.kind]
        flush = self.shape.plan.facts.subnormal.c == "flush"
        for step in range(a.value.shape[-1] // self.shape.plan.step):
            c = self.sum
            special = find_special(a, b, step, self.shape.plan.step, c)
            if special is not None:
                c = np.where(np.isfinite(c), c, 0.0)
            if flush:
                c = np.where(np.abs(c) < 2.0**self.shape.grid.lowest, 0.0, c)
            largest = max(float(c.max()), -float(c.min()))
            result = run(a, b, step, c, largest, self.shape)
            self.sum = result if special is None else special.patch(result)

    def codes(self) -> Codes:
        """Return the codes of the last step's result."""
        return encode_values(self.sum, self.shape.plan.d, self.shape.grid.nan)


class Register:
    """A fixed-point register that starts at 0 and runs over all of K; C is added at the end."""

    def __init__(self, c: Codes, shape: Shape) -> None:
        self.shape = shape
        self.c = decode_addend(c, shape.plan.c, shape.plan.facts.subnormal.c == "flush")
        self.acc = np.zeros(c.shape, np.int64)
        self.special: Special | None = None
        self.overflow_at = np.zeros(c.shape, np.int64)
        self.k = 0

    def add(self, a: Side, b: Side) -> None:
        """Add the steps of these operands; note where the register first overflows."""
        plan = self.shape.plan
        unit = 2.0**-plan.widths.step_sum_lsb_exp
        for step in range(a.value.shape[-1] // plan.step):
            zero = np.zeros_like(self.c)
            found = find_special(a, b, step, plan.step, zero)
            if found is not None:
                old = self.special
                self.special = found if old is None else Special(*(x | y for x, y in zip(old, found, strict=True)))
            part = (step_sum(a, b, step, self.shape) * unit).astype(np.int64)
            total = self.acc + part
            self.k += plan.step
            if plan.largest_k is None or self.k > plan.largest_k:
                self._note(part, total)
            self.acc = total

    def _note(self, part: NDArray[np.int64], total: NDArray[np.int64]) -> None:
        """Note K where a sum leaves the register for the first time."""
        plan = self.shape.plan
        assert plan.accumulator is not None
        beyond = ((self.acc ^ total) & (part ^ total)) < 0
        if plan.accumulator.bits < 64:
            half = 1 << (plan.accumulator.bits - 1)
            beyond |= (total < -half) | (total >= half)
        self.overflow_at[beyond & (self.overflow_at == 0)] = self.k

    def codes(self) -> Codes:
        """Return the codes of register + C, rounded once. Raises: OpenError (a sum that the register did not hold)."""
        plan = self.shape.plan
        special = self._all_special()
        bad = self.overflow_at != 0
        if special is not None:
            bad &= ~(special.nan | special.plus | special.minus)
        if bad.any():
            self._refuse(bad)
        unit = 2.0**plan.widths.step_sum_lsb_exp
        low = self.acc & np.int64(0xFFFFFFFF)
        c = np.where(np.isfinite(self.c), self.c, 0.0)
        exact = sum_to_odd([low.astype(np.float64) * unit, (self.acc - low).astype(np.float64) * unit, c])
        values = round_values(exact, self.shape.grid)
        return encode_values(values if special is None else special.patch(values), plan.d, self.shape.grid.nan)

    def _all_special(self) -> Special | None:
        c = self.c
        if self.special is None and bool(np.isfinite(c).all()):
            return None
        own = Special(np.isnan(c), c == np.inf, c == -np.inf)
        return own if self.special is None else Special(*(x | y for x, y in zip(own, self.special, strict=True)))

    def _refuse(self, bad: NDArray[np.bool_]) -> None:
        plan = self.shape.plan
        assert plan.accumulator is not None
        place = tuple(int(x) for x in np.argwhere(bad)[0])
        raise Overflow(place, int(self.overflow_at[place]), plan.datapath.id, plan.accumulator.bits, plan.largest_k or 0)


class Overflow(OpenError):
    """A register that did not hold a sum; place: of the output in its tile."""

    def __init__(self, place: tuple[int, ...], k: int, datapath: str, bits: int, largest_k: int) -> None:
        self.place = place
        super().__init__(
            f"datapath {datapath}: the {bits}-bit accumulator overflows after {k} products: any values fit up to K = {largest_k}"
        )


class Promote:
    """acc = C; for each block: acc = acc + P * (scale a * scale b), each operation rounded to binary32."""

    def __init__(self, c: Codes, shape: Shape) -> None:
        facts = shape.plan.facts.promote
        assert isinstance(facts, PromoteFacts)
        self.shape, self.facts = shape, facts
        self.acc = np.ascontiguousarray(c, np.uint32).view(np.float32)

    def add_scaled(self, a: F64, b: F64, scale_a: Codes, scale_b: Codes) -> None:
        """Add blocks. a, b: elements [..., rows, K] without their scales.   scale_a, scale_b: binary32 codes [..., rows, K / block]."""
        plan, facts = self.shape.plan, self.facts
        product, term, last = (get("rounding", name) for name in (facts.scale_product, facts.term, facts.acc))
        left, right = (np.ascontiguousarray(codes, np.uint32).view(np.float32) for codes in (scale_a, scale_b))
        with np.errstate(all="ignore"):
            for block in range(a.shape[-1] // plan.block):
                part = slice(block * plan.block, (block + 1) * plan.block)
                total = np.matmul(a[..., part], np.swapaxes(b[..., part], -1, -2)).astype(np.float32) + np.float32(0)
                x, y = outer(left[..., block], right[..., block])
                scale = binary("mul", x, y, plan.d, product)
                if facts.fused == "yes":
                    self.acc = fused(total, scale, self.acc, plan.d, last)
                else:
                    self.acc = binary("add", self.acc, binary("mul", total, scale, plan.d, term), plan.d, last)

    def codes(self) -> Codes:
        """Return the codes of acc; NaN is the datapath's."""
        codes: Codes = np.array(self.acc.view(np.uint32))
        codes[np.isnan(self.acc)] = np.uint32(self.shape.grid.nan)
        return codes
