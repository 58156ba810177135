"""quantize on whole arrays: x [rows, n], tensor_amax (), random [rows, n], signs () -> levels and codes [rows, n], or values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.base.errors import OpenError
from emu.contracts.drawn import every_binade, ordinary
from emu.contracts.examples import split
from emu.contracts.form import (
    Arrays,
    Asked,
    Bits,
    Expected,
    Form,
    Question,
    Shape,
    chosen_engine,
    integer_dtype,
    masked,
    parts_of,
    spread,
    transforms,
)  # fmt: skip
from emu.contracts.grid import between
from emu.contracts.quantize.blocks import Blocks
from emu.contracts.quantize.search import decisions
from emu.contracts.quantize.shapes import in_shapes
from emu.contracts.quantize.steps import code_text, program_lines, trace_dequantize, trace_quantize, value_at
from emu.contracts.quantize.tiles import is_element
from emu.contracts.rows import Input
from emu.engines.exact.block import quantize
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite
from emu.engines.run import run_dequantize, run_quantize
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe, Rounding, Transform
from emu.spec.models.format import FloatFacts
from emu.spec.programs.lowering import lower
from emu.spec.programs.program import cast_entry, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import extent_of

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract


class QuantizeForm(Form):
    """x and what goes with it -> levels, codes, values."""

    operation: QuantizeContract
    by_row = False
    decides = True
    sorted = 24  # each is told by the reference model's steps

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return self.operation.recipe

    @property
    def source(self) -> Format:
        """The format of x."""
        return self.operation.source

    @property
    def transform(self) -> Transform | None:
        """The rotation of the recipe."""
        return next(iter(transforms(self.recipe)), None)

    def together(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Return rows and columns of what shares a scale in a matrix of a shape: a tile, or the whole row."""
        return (self.tile[0], shape[1]) if lower(self.operation.program).whole_rows else self.tile

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """Codes are padded to whole tiles where the recipe keeps the padding; values are not."""
        main = operands["x"].shape
        padded = padded_size(self.recipe, *main)
        keep = self.recipe.facts.tail != "zero_pad_drop"
        levels = self.operation.block.facts.levels
        return {"codes": padded if keep else main, "values": main} | {
            level.name: parts_of(padded, extent_of(level.granularity, self.operation.block)) for level in levels
        }

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """Tiles of one tensor maximum and width, one under the other: a case for each row of x."""
        groups: dict[tuple[int | None, int], list[tuple[Input, list[list[int]], list[list[int]] | None]]] = {}
        for case in cases:
            matrix, amax, drawn = self.operation.taken(case.values)
            groups.setdefault((amax, len(matrix[0])), []).append((case, matrix, drawn))
        for (amax, _), members in groups.items():
            operands = {"x": np.array([row for _, matrix, _ in members for row in matrix], integer_dtype(self.source))}
            if amax is not None:
                operands["tensor_amax"] = np.array(amax, "u4")
            if self.draws is not None and self.draws.random_operand[0] == 1:
                own = [row for _, _, drawn in members for row in drawn or ()]
                operands["random"] = np.array(own, integer_dtype(None, self.draws.random_bits))
            operands |= self.own_signs
            yield operands, [case for case, matrix, _ in members for _ in matrix]

    def directed(self, asked: Asked) -> Iterator[Question]:
        """The directed rows, then the recipe's worked examples; of large tiles those alone."""
        yield from () if self.operation.is_large else super().directed(asked)
        told: dict[tuple[int | None, int], list[list[int]]] = {}
        for matrix, amax in examples(self.recipe, self.source) if self.draws is None else ():
            told.setdefault((amax, len(matrix[0])), []).extend(matrix)
        for (amax, _), rows in told.items():
            operands: dict[str, Bits] = {"x": np.array(rows, integer_dtype(self.source))}
            operands |= {} if amax is None else {"tensor_amax": np.array(amax, "u4")}
            yield Question(self.completed(operands, asked.key, "example"), ("example",) * len(rows))

    def exhaustive(self, asked: Asked) -> Iterator[Question]:
        """Every pattern of 16 bits, in tensors of a few binades."""
        return every_binade(self, asked)

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Ordinary tensors of every kind."""
        return ordinary(self, asked)

    def decisions(self, asked: Asked) -> Iterator[Question]:
        """Tensors on both sides of what the recipe decides, found by running it."""
        return decisions(self, asked)

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Ordinary tensors around every size at which kernels change their way."""
        return in_shapes(self, asked)

    def intervals(self, parts: Sequence[Fraction]) -> Bits:
        """In blocks whose scale is one, under the tensor maximum `unit_amax`."""
        blocks, lanes = Blocks(self.operation), self.operation.columns - 1
        inner = between(blocks.elements[0][0], self.source, parts)
        inner += inner[: -len(inner) % lanes]
        first = blocks.code(blocks.unit)
        row = [code for at in range(0, len(inner), lanes) for code in (first, *inner[at : at + lanes])]
        return np.array(row, integer_dtype(self.source))

    def unit_amax(self) -> Bits:
        """Return the tensor maximum under which those blocks have the scale one."""
        return np.array(encode_value(finite(Blocks(self.operation).tensor_unit), get("format", "fp32")), "u4")

    def rounded(self, operands: Arrays, index: tuple[int, ...]) -> tuple[Value, Format, Rounding, derive.EntryCodes] | None:
        """The argument of the last cast of a small tensor; None where the codes come from another step."""
        program, cells = trace_quantize(self, operands)
        item = next((item for item in program.instructions if item.out == program.outputs["codes"]), None)
        if item is None or item.op != "cast" or not isinstance(item.args[0], str) or item.to is None or item.rounding is None:
            return None
        value = value_at(program, cells, item.args[0], *index)
        return (value, item.to, item.rounding, cast_entry(item)) if isinstance(value, Value) else None

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return levels and codes, and values where they are wanted."""
        tiles = open_tiles(self, operands)
        if tiles is None:
            found = self._codes(operands, engine)
        else:
            found = self._codes(without(operands, tiles), engine)
            found = Expected(found.arrays, shut(found.arrays, found.known, tiles))
        return self._with_values(operands, found, result, profile, engine) if values else found

    def _codes(self, operands: Arrays, engine: str) -> Expected:
        """Quantize by an engine, by the exact engine where that leaves something open."""
        if engine == "exact":
            return self._tiles(operands)
        try:
            codes, levels = run_quantize(self.recipe, operands["x"], self.source, engine=engine, **self._extra(operands))
        except OpenError:
            return self._tiles(operands)
        shapes = self.shapes(operands)
        return Expected({"codes": codes, **{name: array.reshape(shapes[name]) for name, array in levels.items()}}, {})

    def _extra(self, operands: Arrays) -> dict[str, Any]:
        """Return the operands of a recipe as its engines take them; a tensor maximum that is not given is taken from x."""
        out: dict[str, Any] = {name: int(operands[name]) for name in ("tensor_amax", "signs") if name in operands}
        return out | ({"random": operands["random"]} if "random" in operands else {})

    def _tiles(self, operands: Arrays) -> Expected:
        """Quantize by the exact engine, codes that nobody knows masked."""
        extra = self._extra(operands)
        if "random" in extra:
            extra["random"] = np.asarray(extra["random"]).tolist()
        found = quantize(self.recipe, operands["x"].tolist(), self.source, masked=True, **extra)
        arrays, known = {}, {}
        shapes = self.shapes(operands)
        for name, rows in (("codes", found.codes), *found.levels.items()):
            bits, here = masked(rows, self.answers[name])
            arrays[name] = bits.reshape(shapes[name])
            if not bool(here.all()):
                known[name] = here.reshape(shapes[name])
        return Expected(arrays, known)

    def _with_values(self, operands: Arrays, found: Expected, result: Format, profile: str | None, engine: str) -> Expected:
        """Add the dequantized values of codes and levels, cut to the shape of x; unknown where a code of their block is."""
        levels = {name: bits.reshape(1, 1) if not bits.shape else bits for name, bits in found.arrays.items() if name != "codes"}
        height, width = operands["x"].shape
        try:
            values = run_dequantize(self.recipe, found.arrays["codes"], levels, profile=profile, result=result, engine=engine)
        except OpenError:
            nothing: Bits = np.zeros((height, width), bool)
            values = nothing.astype(integer_dtype(result))
            return Expected(found.arrays | {"values": values}, found.known | {"values": nothing})
        known = dict(found.known)
        if known:
            known["values"] = np.ones((height, width), bool)
            for mask in found.known.values():
                known["values"] &= spread(mask, values.shape)[:height, :width]
        return Expected(found.arrays | {"values": values[:height, :width]}, known)

    def engine(self, operands: Arrays) -> str:
        """The engine that does this recipe."""
        return chosen_engine(self.op, (self.recipe, self.source))

    def any_nan(self, name: str) -> bool:
        """Values, and levels of the program's arithmetic."""
        return name == "values" or (name != "codes" and derive.codes(self.answers[name]).bits > 8)

    def check_profile(self, profile: str) -> None:
        """Refuse a profile that the recipe has not. Raises: SpecError."""
        dequantize_program(self.recipe, profile)

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The steps of the program that lead to an answer, of a small tensor."""
        return list(self._steps(operands, self.first_element(operands, name, index), name, profile))

    def _steps(self, operands: Arrays, at: tuple[int, int], name: str, profile: str | None) -> Iterator[str]:
        program, cells = trace_quantize(self, operands)
        x = operands["x"]
        if at[0] < x.shape[0] and at[1] < x.shape[1]:
            yield f"x[{at[0]}, {at[1]}] = {code_text(int(x[at]), self.source)}"
        yield from program_lines(program, cells, *at, None if name == "values" else name)
        if name == "values":
            found = self._codes(operands, "exact")
            levels = {level: bits for level, bits in found.arrays.items() if level != "codes"}
            yield from program_lines(*trace_dequantize(self, profile, found.arrays["codes"], levels), *at)


# Which blocks of a question a recipe leaves open because of what is in them, so that only they are masked and not the whole tensor.


def open_tiles(form: Form, operands: Arrays) -> Bits | None:
    """Return which elements lie in blocks with NaN or Inf, where the recipe's domain has neither; None where blocks cannot be told apart.

    Blocks cannot be told apart when none or all are open, or when the tensor maximum comes from the tensor itself.
    Returns: bool, the padded shape of x.   Tests: tests/check/test_check_open.py.
    """
    recipe: Recipe = get("recipe", form.contract.parts[0])
    source, x = form.operands[form.main], operands[form.main]
    assert source is not None and form.block is not None
    if recipe.facts.domain.non_finite != "no":
        return None
    if quantize_program(recipe).reads("tensor_amax") and "tensor_amax" not in operands:
        return None
    bad = not_finite(x, source)
    if not bad.any():
        return None
    height, width = padded_size(recipe, *x.shape)
    tall, wide = form.together((height, width))
    grid = np.zeros((height, width), bool)
    grid[: x.shape[0], : x.shape[1]] = bad
    tiles = grid.reshape(height // tall, tall, width // wide, wide).any((1, 3))
    return None if tiles.all() else tiles.repeat(tall, axis=0).repeat(wide, axis=1)


def not_finite(codes: Bits, source: Format) -> Bits:
    """Return where codes are NaN or Inf."""
    derived = derive.codes(source)
    return np.asarray(codes & ~codes.dtype.type(derived.sign_bit) > derived.max_code)


def without(operands: Arrays, tiles: Bits) -> dict[str, Bits]:
    """Return the operands with the open blocks as zeros."""
    x = operands["x"]
    return {**operands, "x": np.where(tiles[: x.shape[0], : x.shape[1]], 0, x).astype(x.dtype)}


def shut(arrays: Arrays, known: Arrays, tiles: Bits) -> dict[str, Bits]:
    """Return masks that hold the open blocks too.

    arrays: codes and levels, whose parts tile the padded tensor.   known: their masks as far as there are any.   A level of the whole
    tensor follows from the tensor maximum alone and stays known.
    """
    out = dict(known)
    for name, array in arrays.items():
        if not array.shape:
            continue
        if name == "codes":
            here = tiles[: array.shape[0], : array.shape[1]]
        else:
            rows, columns = array.shape
            here = np.asarray(tiles.reshape(rows, tiles.shape[0] // rows, columns, tiles.shape[1] // columns).any((1, 3)))
        out[name] = np.asarray(known.get(name, True) & ~here)
    return out


# Worked examples of a recipe as tiles: blocks that its library was measured on, many of them because other rules part there.


def examples(recipe: Recipe, source: Format) -> Iterator[tuple[list[list[int]], int | None]]:
    """Yield (source codes of a whole tile, row by row; tensor maximum as fp32 bits or None) of each worked example that a source can state.

    Left out: worked examples with random integers, with part of a tile, or with elements that are no numbers of the source.
    """
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    for row in recipe.expect:
        mine: Format = get("format", row.source)
        codes = _stated(split(row.x, mine), mine, source)
        if row.random is None and codes is not None and (is_element(block) or len(codes) == rows * columns):
            amax = None if row.tensor_amax is None else int(row.tensor_amax, 16)
            width = len(codes) if is_element(block) else columns  # of an element that is a block the example is its row
            yield [codes[start : start + width] for start in range(0, len(codes), width)], amax


def _stated(codes: list[int], mine: Format, source: Format) -> list[int] | None:
    """Return codes of one format as codes of another with the same exponents, whose fraction is longer or shorter; None if it lacks one."""
    one, other = mine.facts, source.facts
    if mine.facts_digest == source.facts_digest:
        return codes
    if not isinstance(one, FloatFacts) or not isinstance(other, FloatFacts):
        return None
    if (one.exp_bits, one.bias, one.nan, one.inf) != (other.exp_bits, other.bias, other.nan, other.inf):
        return None
    more = other.frac_bits - one.frac_bits
    if more >= 0:
        return [code << more for code in codes]
    return None if any(code & (1 << -more) - 1 for code in codes) else [code >> -more for code in codes]
