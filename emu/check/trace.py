"""The steps of one tile of a recipe by the oracle: every intermediate value of its program. Not here: text (explain.py)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.check.form import Form
from emu.check.model import Arrays
from emu.engines.exact.arithmetic import largest_magnitude_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.program import Cells, run
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite
from emu.spec import get
from emu.spec.models import Recipe
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program


def trace_quantize(form: Form, operands: Arrays) -> tuple[Program, dict[str, Cells]]:
    """Return the program of a recipe and the cells of every name for a small tensor."""
    recipe: Recipe = get("recipe", form.contract.parts[0])
    program, source = quantize_program(recipe), form.operands["x"]
    assert source is not None
    x = operands["x"]
    height, width = x.shape
    size = padded_size(recipe, height, width)
    values = {(r, c): decode_code(int(x[r, c]), source) for r in range(height) for c in range(width)}
    elements: Cells = {(r, c): values.get((r, c), finite(Fraction(0))) for r in range(size[0]) for c in range(size[1])}
    given: dict[str, Cells] = {"x": elements}
    if program.reads("tensor_amax"):
        amax = operands.get("tensor_amax")
        held = largest_magnitude_of(list(values.values()), "propagate") if amax is None else decode_code(int(amax), get("format", "fp32"))
        given["tensor_amax"] = {(0, 0): held}
    if form.draws is not None:
        drawn: Cells = dict.fromkeys(elements, 0)
        given["random"] = drawn | dict(_random(form, operands))
    return program, run(program, given, *size, int(operands["signs"]) if "signs" in operands else None)


def _random(form: Form, operands: Arrays) -> dict[tuple[int, int], int]:
    assert form.draws is not None
    flat, width = operands["random"].reshape(-1).tolist(), operands["x"].shape[1]
    shared = form.draws.facts.random
    out = {}
    for extent in range(operands["x"].size):
        integer = (
            element_bits(flat[extent // shared.lanes], form.draws, extent % shared.lanes) if isinstance(shared, Word) else flat[extent]
        )
        out[divmod(extent, width)] = integer
    return out


def trace_dequantize(form: Form, profile: str | None, codes: Any, levels: Arrays) -> tuple[Program, dict[str, Cells]]:
    """Return the program of a profile and the cells of every name, for codes and levels of a small tensor."""
    recipe: Recipe = get("recipe", form.contract.parts[0])
    program = dequantize_program(recipe, profile)
    height, width = codes.shape
    given: dict[str, Cells] = {"codes": {(r, c): int(codes[r, c]) for r in range(height) for c in range(width)}}
    for level in program.block.facts.levels:
        typed = program.given[level.name]
        array = levels[level.name].reshape(-1, 1) if not levels[level.name].shape else levels[level.name]
        cells: Cells = {}
        for r in range(array.shape[0]):
            for c in range(array.shape[1]):
                code = int(array[r, c])
                cells[r, c] = code if typed.is_code else decode_code(code, program.arithmetic)
        given[level.name] = cells
    return program, run(program, given, height, width)


def value_at(program: Program, cells: dict[str, Cells], name: str, row: int, column: int) -> Value | int:
    """Return the value of a name that holds for an element."""
    from emu.engines.exact.program import cell_of

    return cells[name][cell_of(program.types[name].extent, row, column)]
