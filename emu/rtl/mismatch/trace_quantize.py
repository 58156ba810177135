"""The oracle's trace of one quantized block: every step of the recipe, in full for what is shared, of one lane for the elements."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from emu.base.errors import EmuError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import Cells, run
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite
from emu.explain.dot.numbers import code_text, value_text
from emu.rtl.mismatch.deviations import Hypothesis, packed_answer
from emu.rtl.simulate.golden_rows import Golden
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program
from emu.vectors.files.rows import inputs_of
from emu.vectors.quantize_rows import QuantizeRows

Data = dict[str, Any]
MODES = ("rne", "rz", "rna", "ru", "rd")


def trace_quantize(op: QuantizeRows, values: tuple[int, ...], lane: int) -> list[Data]:
    """Return one entry per step: name, operation, and its value in the block (of elements: of one lane)."""
    matrix, amax, drawn = op.taken(values)
    cells: Cells = {(r, c): finite(Fraction(0)) for r in range(op.rows) for c in range(op.columns)}
    cells |= {(r, c): decode_code(code, op.source) for r, row in enumerate(matrix) for c, code in enumerate(row)}
    given: dict[str, Cells] = {"x": cells}
    if amax is not None:
        given["tensor_amax"] = {(0, 0): decode_code(amax, op.program.arithmetic)}
    if drawn is not None:
        given["random"] = {cell: _integer(op, drawn, cell) for cell in cells}
    found = run(op.program, given, op.rows, op.columns)
    at = (lane // op.columns, lane % op.columns)
    out = []
    for item in op.program.instructions:
        extent = item.type.extent
        rows, columns = extent.rows or op.rows, extent.columns or op.columns
        cell = (at[0] // rows, at[1] // columns)
        value = found[item.out].get(cell)
        where = f"lane {lane}" if (rows, columns) == (1, 1) else "block" if (rows, columns) == (op.rows, op.columns) else f"part {cell}"
        out.append({"out": item.out, "op": item.op, "where": where, "value": _text(op, item.out, value)})
    return out


def _integer(op: QuantizeRows, drawn: list[list[int]], cell: tuple[int, int]) -> int:
    assert op.rounding is not None
    shared = op.rounding.facts.random
    row = drawn[cell[0]]
    if isinstance(shared, Word):
        number = cell[1] // shared.lanes
        return element_bits(row[number], op.rounding, cell[1] % shared.lanes) if number < len(row) else 0
    return row[cell[1]] if cell[1] < len(row) else 0


def _text(op: QuantizeRows, name: str, value: Value | int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        formats = op.program.types[name].formats
        return "open" if value < 0 else code_text(value, formats[0]) if formats else str(value)
    arithmetic = op.program.arithmetic
    try:
        return f"{code_text(encode_value(value, arithmetic), arithmetic)} = {value_text(value)}"
    except EmuError:
        return value_text(value)


def recipes(golden: Golden) -> Iterator[Hypothesis]:
    """Yield the recipe with one step rounded another way."""
    op = golden.plan.operation
    assert isinstance(op, QuantizeRows)
    facts = op.recipe.facts
    for number, step in enumerate(facts.steps):
        if not hasattr(step, "round"):
            continue
        mine = step.round or facts.arithmetic.round
        for mode in MODES:
            if mode != mine:
                steps = (*facts.steps[:number], step.model_copy(update={"round": mode}), *facts.steps[number + 1 :])
                changed = op.recipe.model_copy(update={"facts": facts.model_copy(update={"steps": steps})})
                name = getattr(step, "out", "")
                try:
                    program = quantize_program(changed)
                except EmuError:
                    continue
                other = copy.copy(op)
                other.recipe, other.program, other.amax_program = changed, program, None
                yield Hypothesis(f"step {name} ({step.op}) rounds {mode}, not {mine}", f"step {name}", _by(golden, other))


def _by(golden: Golden, op: QuantizeRows) -> Any:
    return lambda tc: packed_answer(golden.layout, op.exact(inputs_of(golden.layout, golden.row(tc))))
