"""quantize on whole arrays: x [rows, n], tensor_amax (), random [rows, n], signs () -> levels and codes [rows, n], or values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.base.errors import OpenError
from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, integer_dtype, masked, parts_of, spread
from emu.contracts.quantize.steps import code_text, program_lines, trace_dequantize, trace_quantize
from emu.engines.exact.block import quantize
from emu.engines.run import run_dequantize, run_quantize
from emu.spec import derive, get
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import padded_size, quantize_program
from emu.spec.programs.types import extent_of

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract


class QuantizeForm(Form):
    """x and what goes with it -> levels, codes, values."""

    operation: QuantizeContract
    by_row = False

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return self.operation.recipe

    @property
    def source(self) -> Format:
        """The format of x."""
        return self.operation.source

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """Codes are padded to whole tiles where the recipe keeps the padding; values are not."""
        main = operands["x"].shape
        padded = padded_size(self.recipe, *main)
        keep = self.recipe.facts.tail != "zero_pad_drop"
        levels = self.operation.block.facts.levels
        return {"codes": padded if keep else main, "values": main} | {
            level.name: parts_of(padded, extent_of(level.granularity, self.operation.block)) for level in levels
        }

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

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The steps of the program that lead to an answer, of a small tensor."""
        return list(self._steps(operands, self.element(operands, index, name), name, profile))

    def element(self, operands: Arrays, index: tuple[int, ...], name: str) -> tuple[int, int]:
        """Return the first element of a place of an answer."""
        if not index:
            return 0, 0
        shapes = self.shapes(operands)
        base, shape = shapes.get("codes", operands[self.main].shape), shapes[name]
        return index[0] * base[0] // shape[0], index[1] * base[1] // shape[1]

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
    tall, wide = form.block.facts.shape
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
