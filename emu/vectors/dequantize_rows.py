"""dequantize: element codes and levels of one block or tile -> values, rounded as a recipe's profile says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emu.base.errors import OpenError
from emu.engines.exact.block import dequantize
from emu.engines.numpy.block import dequantize as numpy_dequantize
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import dequantize_program, extent_of
from emu.spec.registry import get
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer, unpack
from emu.vectors.operation import Batch, Values, array_of, native, present, stored_bits
from emu.vectors.quantize_rows import element_format, level_parts

Levels = dict[str, list[list[int]]]


class DequantizeRows:
    """dequantize/<recipe>/<profile> to one result format, a tile a row."""

    def __init__(self, contract: Contract, result: str) -> None:
        self.contract = contract
        self.recipe: Recipe = get("recipe", contract.parts[0])
        self.profile = contract.parts[1]
        self.block = dequantize_program(self.recipe, self.profile).block
        self.result: Format = get("format", result)
        self.src, self.dst, self.part = self.block.id, result, f"{self.recipe.id}_{self.profile}"
        self.rows, self.columns = self.block.facts.shape
        self.levels = sorted(self.block.facts.levels, key=lambda item: item.granularity == "tensor")
        self._layout = self._columns()

    @property
    def layout(self) -> Layout:
        """codes, levels (the tensor level last, named ts) -> y."""
        return self._layout

    def _columns(self) -> Layout:
        n = self.rows * self.columns
        element: Format = get("format", self.block.element_formats[0])
        ins = [Column("codes", "in", n * stored_bits(element), element_format(self.block), n)]
        for level in self.levels:
            fmt: Format = get("format", level.format)
            parts = level_parts(level, self.block)
            count = parts[0] * parts[1]
            name = "ts" if level.granularity == "tensor" else level.name
            means = f"level {level.name}: {level.meaning}" if name == "ts" else None
            ins.append(Column(name, "in", count * stored_bits(fmt), fmt.id, count, means))
        return layout_of([*ins, Column("y", "out", n * derive.codes(self.result).bits, self.dst, n, any_nan=True)])

    def taken(self, values: Values) -> tuple[list[list[int]], Levels]:
        """Return the code rows and the levels of a case."""
        columns = self.layout.inputs
        lanes = unpack(values[0], columns[0])
        codes = [list(lanes[row * self.columns : (row + 1) * self.columns]) for row in range(self.rows)]
        levels: Levels = {}
        for level, column, value in zip(self.levels, columns[1:], values[1:], strict=True):
            flat, wide = unpack(value, column), level_parts(level, self.block)[1]
            levels[level.name] = [list(flat[at : at + wide]) for at in range(0, len(flat), wide)]
        return codes, levels

    def exact(self, values: Values) -> Answer:
        """Return the values as codes of the result format; OPEN for a level code that nobody knows."""
        codes, levels = self.taken(values)
        try:
            found = dequantize(self.recipe, codes, levels, profile=self.profile, result=self.result)
        except OpenError:
            return ((OPEN,) * (self.rows * self.columns),)
        return (tuple(code for row in found for code in row),)

    def engines(self) -> dict[str, Batch]:
        """numpy and the C reference give y."""
        table: dict[str, Batch] = {"numpy": lambda rows: self.batch(rows, numpy_dequantize)}
        if native() is not None:
            from emu.engines.c_ref.block import dequantize as c_dequantize

            table["c_ref"] = lambda rows: self.batch(rows, c_dequantize)
        return present(table)

    def batch(self, rows: Sequence[Values], engine: Callable[..., Any]) -> list[Answer | None]:
        """Dequantize through an array column, rows of one tensor level together; a row with an open level alone."""
        out: list[Answer | None] = [None] * len(rows)
        batches: dict[tuple[Any, ...], list[int]] = {}
        tensor = [level.name for level in self.levels if extent_of(level.granularity, self.block).rows == 0]
        for place, values in enumerate(rows):
            _, levels = self.taken(values)
            known = self.known(levels)
            batches.setdefault((*(levels[name][0][0] for name in tensor), -1 if known else place), []).append(place)
        for places in batches.values():
            cases = [self.taken(rows[place]) for place in places]
            codes = array_of([row for rows_of, _ in cases for row in rows_of], get("format", self.block.element_formats[0]))
            stacked = {
                level.name: array_of(
                    cases[0][1][level.name] if level.name in tensor else [row for _, levels in cases for row in levels[level.name]],
                    get("format", level.format),
                )
                for level in self.levels
            }
            try:
                found = engine(self.recipe, codes, stacked, profile=self.profile, result=self.result).tolist()
            except OpenError:
                out[places[0]] = ((OPEN,) * (self.rows * self.columns),)
                continue
            for number, place in enumerate(places):
                out[place] = (tuple(code for row in found[number * self.rows : (number + 1) * self.rows] for code in row),)
        return out

    def known(self, levels: Levels) -> bool:
        """Tell whether no level code has an unused bit set."""
        return not any(
            code >> derive.codes(get("format", level.format)).bits for level in self.levels for row in levels[level.name] for code in row
        )

    def described(self) -> dict[str, Any]:
        """Roundings of the profile's steps, then one to the result."""
        unused = any(derive.unused_high_bits(get("format", level.format)) for level in self.levels)
        return {"rounding": "rne", "overflow": "ieee_inf", "zero_sign": "keep", "subnormals_in": "keep", "subnormals_out": "keep",
                "scale_signbit": "open" if unused else None}  # fmt: skip
