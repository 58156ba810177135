"""A example of a recipe run through the exact engine, with every intermediate result kept. Not here: how it is shown (pages/recipe.py)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emu.contracts.examples import digits, split
from emu.engines.exact.arithmetic import largest_magnitude_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import Cells, run
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite
from emu.spec import Format, Recipe, Rounding, get
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program


@dataclass(frozen=True)
class Trace:
    """One run: name -> cells by (row, column) of its place; rows and columns of the padded tensor."""

    program: Program
    cells: dict[str, Cells]
    rows: int
    columns: int

    def first(self, name: str) -> str:
        """Return the bits of a name's first cell as hexadecimal text."""
        return self.text(name, self.cells[name][0, 0])

    def row(self, name: str) -> list[str]:
        """Return the bits of the cells of the first row, for a name that lives at elements or parts of a block."""
        cells = self.cells[name]
        return [self.text(name, cells[cell]) for cell in sorted(cells) if cell[0] == 0]

    def text(self, name: str, item: Value | int) -> str:
        """Return a code, or a value as a code of the program's arithmetic, in hexadecimal."""
        if isinstance(item, int):
            formats = self.program.types[name].formats
            wide = digits(formats[0]) if formats else 2
            return "open" if item < 0 else f"{item:0{wide}X}"
        arithmetic = self.program.arithmetic
        return f"{encode_value(item, arithmetic):0{digits(arithmetic)}X}"


def trace_quantize(recipe: Recipe, example: Any) -> Trace:
    """Return the run of a worked example through the quantize program."""
    program = quantize_program(recipe)
    source: Format = get("format", example.source)
    values = [decode_code(code, source) for code in split(example.x, source)]
    width = program.block.facts.shape[1] if program.block.facts.shape[0] > 1 else len(values)
    height = len(values) // width
    rows, columns = padded_size(recipe, height, width)
    elements: Cells = {(r, c): finite(Fraction(0)) for r in range(rows) for c in range(columns)}
    elements.update({(number // width, number % width): value for number, value in enumerate(values)})
    given: dict[str, Cells] = {"x": elements}
    if program.reads("tensor_amax"):
        given["tensor_amax"] = {(0, 0): _amax(example, values)}
    if program.reads("random"):
        drawn = _draws(program, example.random, len(values))
        given["random"] = {(r, c): drawn[r * width + c] if r < height and c < width else 0 for r, c in elements}
    return Trace(program, run(program, given, rows, columns), rows, columns)


def _amax(example: Any, values: list[Value]) -> Value:
    if example.tensor_amax is None:
        return largest_magnitude_of(values, "propagate")
    return decode_code(int(example.tensor_amax, 16), get("format", "fp32"))


def _draws(program: Program, text: str, count: int) -> list[int]:
    """Return the random integer of each element, out of shared words where the rounding has them."""
    rounding: Rounding = next(item.rounding for item in program.instructions if item.rounding and item.rounding.random_bits)
    source, packed = rounding.facts.random, text.replace(" ", "")
    wide = -(-(source.word if isinstance(source, Word) else rounding.random_bits) // 4)
    words = [int(packed[start : start + wide], 16) for start in range(0, len(packed), wide)]
    if not isinstance(source, Word):
        return words
    return [element_bits(words[number // source.lanes], rounding, number % source.lanes) for number in range(count)]


def trace_dequantize(recipe: Recipe, profile: str, quantized: Trace) -> Trace:
    """Return the run of a dequantize program on the codes and levels of a quantize run."""
    program = dequantize_program(recipe, profile)
    outputs, before = quantized.program.outputs, quantized.program.types
    given: dict[str, Cells] = {}
    for name, typed in program.given.items():
        own = outputs[name]
        held, extent = typed.extent, before[own].extent
        cells: Cells = {}
        for r in range(0, quantized.rows, held.rows or quantized.rows):
            for c in range(0, quantized.columns, held.columns or quantized.columns):
                key = (r // held.rows if held.rows else 0, c // held.columns if held.columns else 0)
                source = (r // extent.rows if extent.rows else 0, c // extent.columns if extent.columns else 0)
                cells[key] = quantized.cells[own][source]
        given[name] = cells
    return Trace(program, run(program, given, quantized.rows, quantized.columns), quantized.rows, quantized.columns)
