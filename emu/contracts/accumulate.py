"""accumulate: chains of instructions, one a row; the state goes from row to row, and every row holds the one it starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from emu.base.errors import OpenError
from emu.contracts import suites
from emu.contracts.columns import Column
from emu.contracts.contract import Contract, Deviation, Values
from emu.contracts.dot import suite
from emu.contracts.dot.cases import CHAIN
from emu.contracts.dot.contract import DotContract
from emu.contracts.dot.rows import DotRow, arrays_of, evaluate
from emu.contracts.form import MOST_ROWS, Asked, Form, Question, even_parts, row_form
from emu.contracts.rows import Answer, Input
from emu.contracts.suites import SEED, Inputs
from emu.engines.exact.datapath_round import round_sum, shift
from emu.engines.exact.datapath_terms import decode_triple
from emu.spec.derive import OPEN
from emu.spec.models import Format

SHOWN = 4  # bits of first and last: one digit
CHAINS = 1 << 7  # drawn ones of a check, at least


@dataclass(frozen=True, eq=False)
class AccumulateContract(DotContract):
    """accumulate/<datapath>: one instruction of a chain a row.

    c is the state: D of the row before, in the first row C. Where a register accumulates, acc_in is the state, c is the C of the whole
    chain, and d is there in the last row alone.
    """

    examples: ClassVar[tuple[str, ...]] = ()
    chains = True

    def suites(self) -> Iterator[Inputs]:
        """One chain, and twelve of them."""
        told = "chains of 8 instructions; the flags say why"
        for name, chains in (("smoke", suite.SMOKE_CHAINS), ("directed", suite.CHAINS)):
            made = lru_cache(maxsize=1)(partial(suite.chains, self, chains))
            yield Inputs(name, suites.about(False, told, f"{self.name.op}.{name}", SEED), made)

    def inputs(self) -> list[Column]:
        """first and last before the columns of dot; with a register the state after them."""
        ends = [Column(name, "in", SHOWN, means=f"1: the {name} row of a chain") for name in ("first", "last")]
        held = self.plan.accumulator
        means = "the register before the row, two's complement; 0 in the first"
        return [*ends, *super().inputs(), *([] if held is None else [Column("acc_in", "in", held.bits, means=means)])]

    def outputs(self) -> list[Column]:
        """d and the stages of dot; with a register `acc` in the place of the stages."""
        held = self.plan.accumulator
        if held is None:
            return super().outputs()
        return [super().outputs()[0], Column("acc", "stage", held.bits, means="the register after the row, two's complement")]

    def form(self, result: Format) -> Form:
        """The columns of a row, which stands alone: it holds the state it starts from."""
        return row_form(self, AccumulateForm)

    def directed(self, stream: str = "") -> list[Input]:
        """Return the rows of the chains."""
        return suite.chains(self, suite.CHAINS)

    def exact(self, values: Values) -> Answer:
        """Return d (open before the last row of a register) and the stages."""
        if self.plan.accumulator is None:
            return super().exact(values)
        bits, result = self.plan.accumulator.bits, self.computed(values)
        if result is None:
            return (OPEN,), (OPEN,)
        if result.accumulator is None:  # NaN or infinity
            return (result.code if values[1] else OPEN,), (OPEN,)
        held = values[-1]
        acc = (held - (1 << bits) if held >> (bits - 1) else held) + result.accumulator
        if not -(1 << (bits - 1)) <= acc < 1 << (bits - 1):
            return (OPEN,), (OPEN,)
        return (self.finished(acc, self.taken(values).c) if values[1] else OPEN,), (acc & ((1 << bits) - 1),)

    def trace(self, values: Values, lane: int = 0) -> Any:
        """The place of the row in its chain, the stages of its instruction, and what becomes of the register."""
        first, last = values[:2]
        out: dict[str, Any] = {"first": bool(first), "last": bool(last), "state": f"{values[-1]:x}" if self.plan.accumulator else None}
        if self.computed(values) is None:
            return out | {"dot": []}
        codes = self.exact(values)
        out["after"] = ["open" if lanes[0] < 0 else f"{column.name} {lanes[0]:x}" for column, lanes in
                        zip(self.layout.results, codes, strict=True) if column.name in ("d", "acc")]  # fmt: skip
        return out | {"dot": super().trace(values, lane)}

    def lines(self, trace: Any) -> list[str]:
        """The trace as lines."""
        place = {(1, 1): "the only row", (1, 0): "the first row", (0, 1): "the last row"}.get((trace["first"], trace["last"]), "a row")
        out = [f"{place} of a chain: c is the {'C' if trace['first'] else 'D of the row before'}"]
        if trace["state"] is not None:
            out = [f"{place} of a chain: the register holds {trace['state']} before it; the instruction below is computed alone, with C"]
        return [*out, *super().lines(trace["dot"]), *(["after the row: " + ", ".join(trace["after"])] if "after" in trace else [])]

    def signals(self, values: Values, got: Mapping[str, int | None]) -> list[tuple[str, int, int | None]]:
        """The columns, because a register stands in the place of the stages."""
        return Contract.signals(self, values, got)

    def deviations(self) -> Iterator[Deviation]:
        """Those of one instruction; none are listed of a register, which a row does not see whole."""
        return super().deviations() if self.plan.accumulator is None else iter(())

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """Those of one instruction."""
        return super().deviations_of_one_lane() if self.plan.accumulator is None else iter(())

    def finished(self, acc: int, c: int) -> int:
        """Return the code of register + C, rounded once. c: code of a finite C."""
        plan = self.plan
        addend, least = decode_triple(c, plan.c, plan.facts.subnormal.c), plan.exact_lsb_exp
        total = shift(acc, plan.widths.step_sum_lsb_exp - least) + shift(addend.significand, addend.exp - addend.frac_bits - least)
        return round_sum(total, least, plan)

    def batch(self, rows: Sequence[Values], engine: Callable[..., Any]) -> list[Answer | None]:
        """As dot, where the state is C; with a register whole chains are computed, their last row gets the result."""
        if self.plan.accumulator is None:
            return super().batch(rows, engine)
        out: list[Answer | None] = [((OPEN,),)] * len(rows)
        start: int | None = None
        for place, values in enumerate(rows):
            start = place if values[0] else start
            if values[1]:
                out[place] = None if start is None else self.chained(rows[start : place + 1], engine)
                start = None
        return out

    def chained(self, rows: Sequence[Values], engine: Callable[..., Any]) -> Answer:
        """Compute a whole chain in one call."""
        cases = [self.taken(values) for values in rows]
        a, b, scale_a, scale_b = (tuple(code for part in parts for code in part) for parts in list(zip(*cases, strict=True))[:4])
        whole = arrays_of([DotRow(a, b, scale_a, scale_b, cases[-1].c)], self.plan)
        return ((int(np.asarray(engine(*whole, self.plan))[0]),),)

    def chain(self, group: str, flags: tuple[str, ...], case: DotRow) -> list[Input]:
        """Return the rows of one chain: a case of several instructions, C of it starts the chain.

        A row gets the state that the reference model gave the row before; a chain ends where the reference model refuses.
        """
        k, per = self.plan.facts.k, self.blocks
        count, out, state, acc = len(case.a) // k, [], case.c, 0
        for number in range(count):
            part, scales = slice(number * k, (number + 1) * k), slice(number * per, (number + 1) * per)
            operands = DotRow(case.a[part], case.b[part], case.scale_a[scales], case.scale_b[scales], state)
            named = {"first": [int(number == 0)], "last": [int(number == count - 1)], "acc_in": [acc]}
            out.append(Input(group, flags, self.packed_values(operands, **named)))
            try:
                result = evaluate(operands, self.plan)
            except OpenError:
                break
            if self.plan.accumulator is None:
                state = result.code
            else:
                acc = (acc + (result.accumulator or 0)) & ((1 << self.plan.accumulator.bits) - 1)
        return out


class AccumulateForm(Form):
    """The columns of a row -> d, in whole chains."""

    operation: AccumulateContract

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Drawn chains: as many as hold the rows that are compared, all but the last one of a chain with a register are not."""
        told = CHAIN if self.operation.plan.accumulator is None else 1
        count = max(-(-(asked.count or 0) // told), CHAINS)
        for first, stop in even_parts(count, MOST_ROWS // CHAIN):
            cases = suite.chains(self.operation, stop - first, (asked.key << 20) + first)
            yield from self._asked("stratified", cases)
