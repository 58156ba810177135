"""quantize on whole arrays: x [rows, n], tensor_amax (), random [rows, n], signs () -> levels and codes [rows, n], or values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.base.errors import OpenError
from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, integer_dtype, masked, parts_of, spread
from emu.contracts.quantize.open_tiles import open_tiles, shut, without
from emu.contracts.quantize.steps import code_text, program_lines, trace_dequantize, trace_quantize
from emu.engines.exact.block import quantize
from emu.engines.run import run_dequantize, run_quantize
from emu.spec import derive
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import padded_size
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
