"""A worked example of a recipe, run through the exact engine, with every intermediate result kept. How it is shown: pages/recipe.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.contracts import form_of
from emu.contracts.examples import digits, split
from emu.contracts.quantize import steps
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import Cells, run
from emu.engines.exact.value import Value
from emu.spec import Block, Recipe, get
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, padded_size


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
    form, source = form_of(f"quantize/{recipe.id}", example.source), get("format", example.source)
    values = split(example.x, source)
    block: Block = get("block", recipe.facts.block)
    width = block.facts.shape[1] if block.facts.shape[0] > 1 else len(values)
    operands = {"x": np.array(values, object).reshape(-1, width)}
    if example.tensor_amax is not None:
        operands["tensor_amax"] = np.array(int(example.tensor_amax, 16))
    if form.draws is not None:
        shared, packed = form.draws.facts.random, example.random.replace(" ", "")
        wide = -(-(shared.word if isinstance(shared, Word) else form.draws.random_bits) // 4)
        operands["random"] = np.array([int(packed[start : start + wide], 16) for start in range(0, len(packed), wide)], object)
    return Trace(*steps.trace_quantize(form, operands), *padded_size(recipe, *operands["x"].shape))


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
