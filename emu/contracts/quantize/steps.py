"""The steps of a recipe or profile on a small tensor by the exact engine: every intermediate value of its program, and as text."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from emu.base.errors import EmuError
from emu.contracts.form import Arrays, Form
from emu.contracts.text import value_text as exact_text
from emu.engines.exact.arithmetic import largest_magnitude_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.program import Cells, run
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite
from emu.spec import derive, get
from emu.spec.models import Format, Recipe
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import Constant


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


def code_text(code: int, fmt: Format) -> str:
    """Return a code in hex with its value."""
    wide = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    try:
        value = value_text(decode_code(code, fmt))
    except EmuError:
        value = "open"
    return f"0x{code:0{-(-wide // 4)}X} ({value})"


def value_text(value: Value | int) -> str:
    """Return an exact value as text, never rounded."""
    if isinstance(value, int):
        return f"code 0x{value:X}" if value >= 0 else "open"
    return exact_text(value)


def program_lines(program: Program, cells: dict[str, Cells], row: int, column: int, answer: str | None = None) -> Iterator[str]:
    """One line a step that leads to an answer: name, operation, arguments, the value for one element."""
    needed = {program.outputs[answer]} if answer is not None else set(program.types)
    for item in reversed(program.instructions):
        needed |= {arg for arg in item.args if isinstance(arg, str)} if item.out in needed else set()
    for item in program.instructions:
        if item.out not in needed:
            continue
        args = ", ".join(_argument(arg, program) for arg in item.args)
        value = value_at(program, cells, item.out, row, column)
        fmt = item.type.formats[0] if item.type.formats else None
        if isinstance(value, int):
            text = "open" if value < 0 else code_text(value, fmt) if fmt is not None else f"{value:#x}"
        else:
            text = value_text(value)
        yield f"{item.out} = {item.op}({args}) = {text}"


def _argument(arg: str | Constant, program: Program) -> str:
    return arg if isinstance(arg, str) else value_text(decode_code(arg.bits, program.arithmetic))
