"""The exact engine's trace of one quantized block: every step of the recipe, in full for what is shared, of one lane for the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emu.base.errors import EmuError
from emu.contracts.quantize import steps
from emu.contracts.text import code_text, value_text
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import Cells
from emu.engines.exact.value import Value
from emu.spec.programs.program import Program

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract

Data = dict[str, Any]


def trace_quantize(op: QuantizeContract, values: tuple[int, ...], lane: int, signs: int | None = None) -> list[Data]:
    """Return one entry per step: name, operation, and its value in the block (of elements: of one lane).

    signs: of a rotation that takes them.
    """
    matrix, amax, drawn = op.taken(values)
    operands = {"x": np.array(matrix, object)} | ({} if amax is None else {"tensor_amax": np.array(amax)})
    operands |= {} if drawn is None else {"random": np.array(drawn, object)}
    operands |= {} if signs is None else {"signs": np.array(signs)}
    return program_steps(*steps.trace_quantize(op.form(op.source), operands), (op.rows, op.columns), lane)


def program_steps(program: Program, cells: dict[str, Cells], shape: tuple[int, int], lane: int) -> list[Data]:
    """Return one entry per step of a program that ran on one tile. shape: of the tile.   lane: the element that is told."""
    at = divmod(lane, shape[1])
    out = []
    for item in program.instructions:
        extent = item.type.extent
        size = (extent.rows or shape[0], extent.columns or shape[1])
        cell = (at[0] // size[0], at[1] // size[1])
        where = f"lane {lane}" if size == (1, 1) else "block" if size == shape else f"part {cell}"
        out.append({"out": item.out, "op": item.op, "where": where, "value": _text(program, item.out, cells[item.out].get(cell))})
    return out


def _text(program: Program, name: str, value: Value | int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        formats = program.types[name].formats
        return "open" if value < 0 else code_text(value, formats[0]) if formats else str(value)
    arithmetic = program.arithmetic
    try:
        return f"{code_text(encode_value(value, arithmetic), arithmetic)} = {value_text(value)}"
    except EmuError:
        return value_text(value)
