"""dot on whole arrays: a, b [rows, K], scale_a, scale_b [rows, K / block], c [rows] -> d [rows]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emu.base.errors import OpenError
from emu.contracts.dot.rows import DotRow
from emu.contracts.dot.trace import explain_dot
from emu.contracts.dot.trace_text import lines_of
from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, integer_dtype, masked, whole
from emu.contracts.rows import Input
from emu.engines.datapath import run_dot
from emu.engines.exact.datapath import dot
from emu.spec import derive
from emu.spec.models import Format

if TYPE_CHECKING:
    from emu.contracts.dot.contract import DotContract

NAMES = ("a", "b", "scale_a", "scale_b", "c")


class DotForm(Form):
    """a, b, scale_a, scale_b, c -> d."""

    operation: DotContract

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One result a row."""
        return {"d": operands["a"].shape[:1]}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """An instruction a row."""
        taken = [self.operation.taken(case.values) for case in cases]
        yield {
            name: np.array([case[place] for case in taken], integer_dtype(self.operands[name]))
            for place, name in enumerate(NAMES) if name in self.operands
        }, cases  # fmt: skip

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The stages of every fused step of a row, of any length."""
        (row,) = index
        a, b, scale_a, scale_b = (tuple(operands[name][row].tolist()) if name in operands else () for name in NAMES[:4])
        return lines_of(explain_dot(DotRow(a, b, scale_a, scale_b, int(operands["c"][row])), self.operation.plan))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return d."""
        plan = self.operation.plan
        arrays = [operands.get(name) for name in NAMES]
        known: Bits = np.ones(len(operands["a"]), bool)
        if plan.scale is not None:  # a bit above a scale's code is open, also where a model ignores it
            known = np.logical_not(((operands["scale_a"] | operands["scale_b"]) >> derive.codes(plan.scale).bits).any(axis=1))
        if engine != "exact":
            try:
                return whole("d", run_dot(*arrays, plan, engine), known)  # type: ignore[call-arg, arg-type]
            except OpenError:
                pass

        def one(row: int) -> int:
            a, b, scale_a, scale_b = ([] if array is None else array[row].tolist() for array in arrays[:4])
            try:
                return dot(a, b, scale_a, scale_b, int(operands["c"][row]), plan).code if known[row] else -1
            except OpenError:
                return -1

        return whole("d", *masked([one(row) for row in range(len(operands["a"]))], plan.d))

    def engine(self, operands: Arrays) -> str:
        """The engine that does this datapath."""
        return chosen_engine(self.op, (self.operation.plan,))

    def any_nan(self, name: str) -> bool:
        """As the datapath says."""
        return self.operation.any_nan
