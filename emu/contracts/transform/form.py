"""transform on whole arrays: x [rows, n], signs () -> values [rows, n]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, integer_dtype
from emu.contracts.rows import Input, pack
from emu.engines.run import run_transform
from emu.spec.models import Format

if TYPE_CHECKING:
    from emu.contracts.transform.contract import TransformContract


class TransformForm(Form):
    """x, signs -> values."""

    operation: TransformContract
    by_row = False

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One value an element."""
        return {"values": operands["x"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """A group a row; a call for each sign mask."""
        op = self.operation
        groups: dict[int, list[Input]] = {}
        for case in cases:
            groups.setdefault(case.values[1], []).append(case)
        for signs, members in groups.items():
            operands: dict[str, Bits] = {"x": np.array([op.lanes(case.values) for case in members], integer_dtype(op.source))}
            if "signs" in self.extras:
                operands["signs"] = np.array(signs, integer_dtype(None, op.facts.size))
            yield operands, members

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The stages of the group that an element is in."""
        op, size = self.operation, self.operation.facts.size
        first = index[1] // size * size
        lanes = [int(code) for code in operands["x"][index[0], first : first + size]]
        signs = int(operands["signs"]) if "signs" in operands else int(op.facts.signs, 16)
        return op.lines(op.trace((pack(lanes, op.layout.inputs[0].lane_bits), signs), index[1] - first))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the values."""
        signs = int(operands["signs"]) if "signs" in operands else None
        return Expected({"values": run_transform(operands["x"], self.operation.source, self.operation.transform, signs, engine)}, {})

    def engine(self, operands: Arrays) -> str:
        """The engine that does this rotation."""
        return chosen_engine(self.op, (self.operation.transform, self.operation.source))
