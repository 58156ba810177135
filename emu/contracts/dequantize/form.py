"""dequantize on whole arrays: codes [rows, n] and each level by its name -> values [rows, n]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emu.base.errors import OpenError
from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, integer_dtype
from emu.contracts.quantize.steps import program_lines, trace_dequantize
from emu.contracts.rows import Input
from emu.engines.exact.block import dequantize
from emu.engines.run import run_dequantize
from emu.spec.models import Format

if TYPE_CHECKING:
    from emu.contracts.dequantize.contract import DequantizeContract


class DequantizeForm(Form):
    """codes, levels -> values."""

    operation: DequantizeContract
    by_row = False

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One value a code."""
        return {"values": operands["codes"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """Tiles of one tensor level together, one under the other: a case for each row of codes."""
        op = self.operation
        tensor = [level.name for level in op.levels if level.granularity == "tensor"]
        groups: dict[tuple[int, ...], list[tuple[Input, list[list[int]], dict[str, list[list[int]]]]]] = {}
        for case in cases:
            codes, levels = op.taken(case.values)
            groups.setdefault(tuple(levels[name][0][0] for name in tensor), []).append((case, codes, levels))
        for key, members in groups.items():
            operands = {"codes": np.array([row for _, codes, _ in members for row in codes], integer_dtype(self.operands["codes"]))}
            for level in op.levels:
                rows = [row for _, _, levels in members for row in levels[level.name]]
                operands[level.name] = np.array(rows, integer_dtype(self.operands[level.name]))
            for name, code in zip(tensor, key, strict=True):
                operands[name] = np.array(code, integer_dtype(self.operands[name]))
            yield operands, [case for case, codes, _ in members for _ in codes]

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the values; where a level code is open, tile by tile by the exact engine."""
        op, block = self.operation, self.operation.block
        levels = {level.name: operands[level.name] for level in block.facts.levels}
        levels = {name: array.reshape(1, 1) if not array.shape else array for name, array in levels.items()}
        codes = operands["codes"]
        try:
            return Expected({"values": run_dequantize(op.recipe, codes, levels, profile=op.profile, result=result, engine=engine)}, {})
        except OpenError:
            pass
        tall, wide = block.facts.shape
        out, known = np.zeros(codes.shape, integer_dtype(result)), np.ones(codes.shape, bool)
        for top in range(0, codes.shape[0], tall):
            for left in range(0, codes.shape[1], wide):
                extent = (slice(top, top + tall), slice(left, left + wide))
                part = {name: _part(array, codes.shape, extent) for name, array in levels.items()}
                try:
                    out[extent] = dequantize(op.recipe, codes[extent].tolist(), part, profile=op.profile, result=result)
                except OpenError:
                    known[extent] = False
        return Expected({"values": out}, {"values": known})

    def engine(self, operands: Arrays) -> str:
        """The engine that does this profile."""
        return chosen_engine(self.op, (self.operation.recipe, self.operation.profile))

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The steps of the profile for one element of a small tensor."""
        levels = {level: array for level, array in operands.items() if level != "codes"}
        program, cells = trace_dequantize(self, self.operation.profile, operands["codes"], levels)
        return list(program_lines(program, cells, index[0], index[1]))


def _part(level: Bits, shape: tuple[int, ...], extent: tuple[slice, slice]) -> list[list[int]]:
    """Return the codes of a level that a rectangle of elements needs."""
    rows, columns = -(-shape[0] // level.shape[0]), -(-shape[1] // level.shape[1])
    rows_of = slice(extent[0].start // rows, -(-extent[0].stop // rows))
    part: list[list[int]] = level[rows_of, extent[1].start // columns : -(-extent[1].stop // columns)].tolist()
    return part
