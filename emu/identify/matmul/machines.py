"""The candidates, each in many orders: the datapaths of the spec that take the operands, with one fact changed too; floating-point sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.errors import EmuError, OperandError
from emu.check.matmul.pair import Pair, Side
from emu.contracts.dot.variants import hypotheses
from emu.identify.matmul.questions import Question
from emu.identify.matmul.sums import DOUBLE, SPLITS, Accumulator, SumOrder, orders
from emu.ops.matmul import chains, filled, plan_of
from emu.ops.operands import Operand
from emu.ops.order import Order
from emu.spec import get, names
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import is_nearest_even


class Candidate(Protocol):
    """A way to add. name: in words.   facts: what it says of each axis.   documented: is it a datapath of the spec, as it stands."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def facts(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def documented(self) -> bool: ...  # noqa: D102

    def run(self, question: Question, start: Any = None) -> Any:
        """Return the sums [R] as binary64; start: [R] C at the start. None where it takes no such operands."""


@dataclass(frozen=True, eq=False)
class Exact:
    """The exact sum, rounded once."""

    name = "the exact sum, rounded once to binary32"
    documented = False

    @property
    def facts(self) -> Mapping[str, str]:
        """What is said of each axis."""
        return {"order": "cannot matter", "accumulator": "every sum asked is exact", "step": "cannot matter"}

    def run(self, question: Question, start: Any = None) -> Any:
        """Return the sums [R]; the place of C cannot matter, it is added before the one rounding."""
        terms = question.terms()
        return type(terms)(terms.values, start).exact() if start is not None else terms.exact()


@dataclass(frozen=True, eq=False)
class Floating:
    """A sum in floating point."""

    order: SumOrder
    register: Accumulator
    documented = False

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.order.step}, {self.order.along}; {self.register.text}"

    @property
    def facts(self) -> Mapping[str, str]:
        """What is said of each axis."""
        return {"order": self.order.along, "step": self.order.step, "accumulator": self.register.text}

    def run(self, question: Question, start: Any = None) -> Any:
        """Return the sums [R]."""
        terms = question.terms()
        return (terms if start is None else type(terms)(terms.values, start)).sum(self.order, self.register)


@dataclass(frozen=True, eq=False)
class Machine:
    """A datapath in an order. said: its name, and what was changed."""

    said: str
    plan: DatapathPlan
    order: Order
    documented: bool

    @property
    def along(self) -> str:
        """The order along K in words."""
        order = self.order
        words: list[str] = [order.direction]
        if order.split_k > 1:
            words.append(f"split K by {order.split_k}{', interleaved' if order.parts == 'interleaved' else ''}")
            words += ["joined in pairs"] if order.combine == "pairwise" and order.split_k > 2 else []
        return ", ".join(words)

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.said}, {self.along}"

    @property
    def facts(self) -> Mapping[str, str]:
        """What is said of each axis."""
        facts, plan = self.plan.facts, self.plan
        if plan.accumulator is not None:
            return {
                "order": "cannot matter",
                "step": "cannot matter",
                "accumulator": f"fixed point of {plan.accumulator.bits} bits through K",
            }
        mode = get("rounding", facts.round.mode)
        words = (
            "rounded to nearest even" if is_nearest_even(mode) else "cut (toward zero)" if facts.round.mode == "rz" else facts.round.mode
        )
        aligned = (
            "nothing is lost in a step" if plan.frac_bits is None else f"terms are cut {plan.frac_bits} bits below the largest exponent"
        )
        kept = f"{facts.round.keep + 1} significand bits, {words}"
        return {"order": self.along, "step": f"fused steps of {plan.step} terms", "accumulator": kept, "alignment": aligned}

    def run(self, question: Question, start: Any = None) -> Any:
        """Return the sums [R], None where the order or C does not fit."""
        (a, sa), (b, sb) = question.sides()
        left, right = operand(question.pair.a, a, sa), operand(question.pair.b, b, sb)
        addend = None
        if start is not None:
            kind = float_dtype(self.plan.c)
            addend = np.asarray(start).astype(kind)
            if not (addend.astype(np.float64) == start).all():
                return None
            addend = addend.view(f"u{np.dtype(kind).itemsize}").reshape(len(a), len(b))
        try:
            found = chains(
                filled(left, self.plan, self.order), filled(right, self.plan, self.order), addend, self.order, self.plan, "auto", 1
            )
        except EmuError:
            return None
        return found.view(float_dtype(self.plan.d)).astype(np.float64).reshape(-1)


def operand(side: Side, codes: Any, scales: Any) -> Operand:
    """Return codes and scales as a datapath takes them."""
    return Operand(
        np.ascontiguousarray(codes), None if scales is None else np.ascontiguousarray(scales), side.element, side.size, side.scale
    )


def plans(pair: Pair) -> list[DatapathPlan]:
    """Return the datapaths that take the operands of a pair."""
    row = np.zeros((1, pair.step), np.uint8)
    sides = [operand(side, row, None if side.scale is None else np.zeros((1, 1), np.uint8)) for side in (pair.a, pair.b)]
    found = []
    for name in names("datapath"):
        try:
            found.append(plan_of(get("datapath", name), *sides))
        except EmuError:
            continue
    return found


def _orders(plan: DatapathPlan, few: bool) -> Iterator[Order]:
    yield Order(tail="zero_pad")
    if plan.accumulator is not None or plan.block > plan.facts.k:
        return
    yield Order(direction="descending", tail="zero_pad")
    for split in (2, 4) if few else SPLITS:
        for parts in ("consecutive", "interleaved"):
            for direction in ("ascending", "descending"):
                for combine in ("ascending", "pairwise") if split > 2 and not few else ("ascending",):
                    yield Order(split, parts, direction, combine, "zero_pad")


def machines(pair: Pair) -> Iterator[Machine]:
    """Yield datapaths as they stand in every order, then those with one fact changed in fewer orders."""
    known = plans(pair)
    for plan in known:
        yield from (Machine(plan.name, plan, order, True) for order in _orders(plan, False))
    every = hypotheses(known, 1) if known else []
    changed = (item for item in every if item.changes and not (item.plan.frac_bits is None and item.changes[0][0] == "group"))
    for item in changed:
        yield from (Machine(item.text, item.plan, order, False) for order in _orders(item.plan, True))


def floating(k: int, registers: list[Accumulator]) -> Iterator[Exact | Floating]:
    """Yield sums in floating point for K terms, of accumulators that agree with sums of two terms."""
    yield Exact()
    for register in registers:
        if register.bits == DOUBLE:  # what tells its orders apart is beyond most results
            yield from (Floating(SumOrder(descending=descending), register) for descending in (False, True))
        else:
            yield from (Floating(order, register) for order in orders(k, few=register.bits != 24))


def registers(question: Question, encode: Any) -> list[Accumulator]:
    """Return the accumulators that give a kernel's sums of two terms, which have no order. encode: binary64 to codes of the result."""
    found = []
    terms = question.terms()
    live = np.argsort(terms.values == 0, axis=1, kind="stable")[:, :2]
    two = type(terms)(np.take_along_axis(terms.values, live, axis=1))
    for bits in (*range(24, 3, -1), DOUBLE):
        for cut in (False, True) if bits != DOUBLE else (False,):
            item = Accumulator(bits, cut)
            if question.same(encode(two.sum(SumOrder(), item))):
                found.append(item)
    return found


def check_kinds(pair: Pair) -> None:
    """Refuse a pair whose values have no exact products in binary64. Raises: OperandError."""
    from emu.check.matmul.numbers import bit_length, exact_of
    from emu.spec import derive

    for side in (pair.a, pair.b):
        codes = np.array(derive.finite_codes(side.element))
        if int(bit_length(exact_of(codes, side.element).n).max()) > 16:
            raise OperandError(
                f"identify: values of {side.element.id} are too long for exact products: identify the product of another block"
            )
