"""quantize and dequantize: a tensor of source codes to element codes and levels by a recipe's program, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.exact.arithmetic import divide, largest_magnitude_of, multiply
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.program import Cells, cell_of, run
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite, less
from emu.spec import derive
from emu.spec.derive import OPEN
from emu.spec.models import Block, Format, Recipe, Rounding
from emu.spec.models.block import OneElement
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import get

Rows = Sequence[Sequence[int]]


class QuantizedCodes(NamedTuple):
    """codes: [R][C] element codes.   levels: name -> codes by row and column of its place, outermost level first."""

    codes: list[list[int]]
    levels: dict[str, list[list[int]]]


def quantize(
    recipe: Recipe,
    rows: Rows,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: Rows | None = None,
    signs: int | None = None,
    masked: bool = False,
) -> QuantizedCodes:
    """Quantize a matrix of source codes; blocks lie along the columns.

    rows: [R][C] codes of `source`, whose values must be numbers of the program's arithmetic.
    tensor_amax: fp32 code; None: taken from rows.
    random: rows of integers, for a program that draws: one per element, or one word per `lanes` consecutive elements, row-major.
    signs: for a transform that takes them.
    masked: True gives OPEN (-1) for codes nobody knows; False raises.
    Raises: ShapeError (a length against the tail rule), OperandError (random, tensor_amax, a value outside the arithmetic), OpenError.
    Source: the recipe's sources.   Tests: tests/engines/exact/test_exact_block.py.
    """
    program = quantize_program(recipe)
    height, width = _size(rows)
    padded_height, padded_width = padded_size(recipe, height, width)
    elements: Cells = dict.fromkeys(((r, c) for r in range(padded_height) for c in range(padded_width)), finite(Fraction(0)))
    of_code = {code: _on_grid(decode_code(code, source), program.arithmetic) for code in {code for row in rows for code in row}}
    values = {(r, c): of_code[code] for r, row in enumerate(rows) for c, code in enumerate(row)}
    elements.update(values)
    given: dict[str, Cells] = {"x": elements}
    amax = _tensor_amax(program, list(values.values()), tensor_amax)
    if amax is not None:
        given["tensor_amax"] = {(0, 0): amax}
    drawn = _random(program, random, height, width)
    if drawn is not None:
        given["random"] = {cell: drawn.get(cell, 0) for cell in elements}
    is_open = _outside_domain(recipe, list(values.values()), amax)
    # The program decides the scale first, then the elements under it: docs/how_it_works.md#the-scale-decision-of-a-block
    cells = run(program, given, padded_height, padded_width, signs)
    keep = recipe.facts.tail != "zero_pad_drop"
    size = (padded_height, padded_width) if keep else (height, width)
    out = _collect(program, cells, (padded_height, padded_width), size, is_open)
    if not masked and (is_open or any(OPEN in row for level in (out.codes, *out.levels.values()) for row in level)):
        raise OpenError(
            f"quantize/{recipe.id}: this input has results that the sources leave open (NaN, Inf or a tensor maximum outside its domain)"
        )
    return out


def _size(rows: Rows) -> tuple[int, int]:
    widths = {len(row) for row in rows}
    if len(widths) != 1 or 0 in widths:
        raise ShapeError("quantize takes a matrix with at least one element and rows of one length")
    return len(rows), widths.pop()


def _on_grid(value: Value, arithmetic: Format) -> Value:
    """Return the value, checked to be a number of the arithmetic format."""
    encode_value(value, arithmetic)
    return value


def _tensor_amax(program: Program, values: list[Value], bits: int | None) -> Value | None:
    if not program.reads("tensor_amax"):
        if bits is not None:
            raise OperandError("this recipe reads no tensor_amax: leave it out")
        return None
    if bits is None:
        return largest_magnitude_of(values, "propagate")
    amax = _on_grid(decode_code(bits, get("format", "fp32")), program.arithmetic)
    if amax.sign and amax.kind != "nan":
        raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
    return amax


def _random(program: Program, random: Rows | None, height: int, width: int) -> dict[tuple[int, int], int] | None:
    """Return one random integer per logical element, out of shared words where the rounding has them."""
    rounding = program.drawing
    if rounding is None:
        if random is not None:
            raise OperandError("this recipe draws no random bits: leave random out")
        return None
    lanes = rounding.facts.random.lanes if isinstance(rounding.facts.random, Word) else 1
    count = -(-height * width // lanes)
    words = None if random is None else [word for row in random for word in row]
    if words is None or len(words) != count:
        raise OperandError(
            f"random must have {count} integers for rounding {rounding.id}" + ("" if words is None else f", not {len(words)}")
        )
    cells = [(i // width, i % width) for i in range(height * width)]
    if lanes == 1:
        return dict(zip(cells, words, strict=True))
    return {cell: element_bits(words[i // lanes], rounding, i % lanes) for i, cell in enumerate(cells)}


def _outside_domain(recipe: Recipe, values: list[Value], amax: Value | None) -> bool:
    """Tell whether the recipe's sources leave this input open."""
    domain = recipe.facts.domain
    if domain.non_finite == "no" and any(value.kind != "finite" for value in values):
        return True
    if domain.tensor_amax_min is None or amax is None or amax.is_zero:
        return False
    return less(amax, decode_code(int(domain.tensor_amax_min, 16), get("format", "fp32")))


def _collect(program: Program, cells: dict[str, Cells], padded: tuple[int, int], size: tuple[int, int], is_open: bool) -> QuantizedCodes:
    """Read the outputs: codes cut to `size`, levels for every part of the padded tensor."""

    def code(name: str, cell: tuple[int, int]) -> int:
        item = cells[name][cell]
        if is_open:
            return OPEN
        return item if isinstance(item, int) else encode_value(item, program.arithmetic)

    name, extent = program.outputs["codes"], program.types[program.outputs["codes"]].extent
    codes = [[code(name, cell_of(extent, r, c)) for c in range(size[1])] for r in range(size[0])]
    levels = {}
    for level in program.block.facts.levels:
        name = program.outputs[level.name]
        own, held = program.types[name].extent, extent_of(level.granularity, program.block)
        levels[level.name] = [
            [code(name, cell_of(own, r, c)) for c in range(0, padded[1], held.columns or padded[1])]
            for r in range(0, padded[0], held.rows or padded[0])
        ]
    return QuantizedCodes(codes, levels)


def dequantize(
    recipe: Recipe, codes: Rows, levels: Mapping[str, Rows], *, profile: str | None = None, result: Format | None = None
) -> list[list[int]]:
    """Return the values of codes and levels as codes of `result` (None: the program's arithmetic, fp32).

    codes: [R][C].   levels: as quantize returns them.   profile: which documented order of operations; None: the recipe's first.
    Each step is rounded as the program says, then once to `result`, nearest even.
    Raises: SpecError (profile), ShapeError (levels against codes), OpenError (a code nobody knows).
    """
    program = dequantize_program(recipe, profile)
    height, width = _size(codes)
    padded = padded_size(recipe, height, width) if recipe.facts.tail == "zero_pad_drop" else (height, width)
    given: dict[str, Cells] = {
        "codes": {(r, c): codes[r][c] if r < height and c < width else 0 for r in range(padded[0]) for c in range(padded[1])}
    }
    for level in program.block.facts.levels:
        typed = program.given[level.name]
        cells: Cells = {}
        for r in range(0, padded[0], typed.extent.rows or padded[0]):
            for c in range(0, padded[1], typed.extent.columns or padded[1]):
                cell = cell_of(typed.extent, r, c)
                cells[cell] = _level_cell(levels, level.name, cell, typed.is_code, program.arithmetic)
        given[level.name] = cells
    values = run(program, given, *padded)[program.outputs["values"]]
    to, nearest = result or program.arithmetic, get("rounding", "rne")
    entry = derive.arithmetic_entry(to)
    return [[_encoded(values[r, c], to, nearest, entry) for c in range(width)] for r in range(height)]


def _level_cell(levels: Mapping[str, Rows], name: str, cell: tuple[int, int], is_code: bool, arithmetic: Format) -> Value | int:
    try:
        code = levels[name][cell[0]][cell[1]]
    except (KeyError, IndexError):
        raise ShapeError(f"level {name} has no code for its part {cell}") from None
    return code if is_code else decode_code(code, arithmetic)


def _encoded(value: Value | int, to: Format, nearest: Rounding, entry: derive.EntryCodes) -> int:
    assert isinstance(value, Value)
    return convert_value(value, to, nearest, entry)


def decode_block_value(block: Block, code: int, levels: Mapping[str, int]) -> Value:
    """Return the exact value of one element: element * levels * factor, nothing rounded.

    code: element code.   levels: level name -> the code that holds for the element.
    """
    element, factor = block.facts.element, derive.parse_exact(block.facts.factor)
    if isinstance(element, OneElement):
        fmt: Format = get("format", element.format)
    else:
        chosen = element.choice[int(bool(levels[element.flag]))]
        fmt, factor = get("format", chosen.format), factor * derive.parse_exact(chosen.factor)
    value = decode_code(code, fmt)
    value = multiply(value, finite(factor))
    for level in block.facts.levels:
        if level.meaning != "flag":
            held = decode_code(levels[level.name], get("format", level.format))
            value = multiply(value, held) if level.meaning == "multiply" else divide(value, held)
    return value
