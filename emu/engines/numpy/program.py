"""The step interpreter on arrays. Arrays have four axes: panels of tile rows, rows of a tile, blocks, lanes; a place is a shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.engines.numpy import arithmetic as ar
from emu.engines.numpy import reduce, tables
from emu.engines.numpy.convert import convert_marked, decode_narrow, take_odd, to_fp32
from emu.engines.numpy.transform import rotate
from emu.spec.programs.lowering import LoweredProgram, LoweredStep
from emu.spec.programs.program import ELEMENT, Constant, Extent, Instruction, cast_entry
from emu.spec.registry import get

Array = NDArray[Any]
_chains: Cache[str, Array] = Cache("emu.engines.numpy.program._chains", 128)


class Machine:
    """The named arrays of one chunk. Values are float32, codes unsigned with markers for open ones.

    cells: given names -> arrays of their places; results are added.   signs: for transforms that take them.
    """

    def __init__(self, plan: LoweredProgram, cells: Mapping[str, Array], signs: int | None = None) -> None:
        self.plan, self.program, self.signs = plan, plan.program, signs
        self.cells: dict[str, Array] = dict(cells)
        self.spare: dict[str, Array] = {}

    def reload(self, cells: Mapping[str, Array]) -> None:
        """Take the cells of the next chunk; element arrays of the last one are written over, so copy results out first."""
        self.cells = dict(cells)

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array for the result of a step: the last chunk's where it fits."""
        known = self.spare.get(name)
        if known is None or known.shape != shape or known.dtype != dtype:
            known = self.spare[name] = np.empty(shape, dtype)
        return known

    def run(self, steps: tuple[LoweredStep, ...]) -> dict[str, Array]:
        """Run steps in order; return every name."""
        with np.errstate(all="ignore"):
            for step in steps:
                self.cells[step.item.out] = self.table_step(step) if step.head is not None else self.step(step.item)
        return self.cells

    def value(self, arg: str | Constant, extent: Extent) -> Array:
        """Return an argument in a shape that broadcasts over a place."""
        # A coarse value serves all elements below it: docs/how_it_works.md#a-recipe-is-a-straight-line-program
        if isinstance(arg, Constant):
            return to_fp32(np.array([arg.bits], np.uint32), self.program.arithmetic).reshape(1, 1, 1, 1)
        have = self.program.types[arg].extent
        array = self.cells[arg]
        lanes = self.program.block.facts.shape[1]
        if 1 < have.columns < lanes and extent.columns < have.columns:
            return np.repeat(array, have.columns // extent.columns, axis=-1)
        return array

    def table_step(self, step: LoweredStep) -> Array:
        """A fused chain: one look-up per value."""
        assert step.head is not None
        table = self.chain_codes(step)
        values = np.ascontiguousarray(self.cells[step.head])
        out = self.room(step.item.out, values.shape, table.dtype)
        take_odd(values.reshape(-1).view(np.uint32), table, out.reshape(-1))
        return out

    def chain_codes(self, step: LoweredStep) -> Array:
        """Return the table of a chain, made once by running it on every bf16 number."""
        table = _chains.get(step.key)
        if table is None:
            every = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32).reshape(1, 1, 1, -1)
            inner = Machine(self.plan, {step.head or "": every})
            with np.errstate(all="ignore"):
                for item in step.chain:
                    inner.cells[item.out] = inner.step(item)
            table = np.ascontiguousarray(inner.cells[step.item.out].reshape(-1))
            table.setflags(write=False)
            table = _chains.keep(step.key, table)
        return table

    def step(self, item: Instruction) -> Array:
        """Run one instruction."""
        if item.op in ("amax", "sum"):
            return self.reduced(item)
        if item.op == "transform":
            return self.transformed(item)
        args = [self.value(arg, item.type.extent) for arg in item.args]
        if item.op in ("add", "sub", "mul", "div") and item.type.extent == ELEMENT:
            return self.element_arithmetic(item, args)
        if item.op == "cast":
            return self.cast(item, args[0])
        if item.op == "decode":
            assert item.to is not None
            codes = args[0]
            return to_fp32(codes, item.to) if codes.dtype == np.uint32 else decode_narrow(codes, item.to, tables.fp32()).view(np.float32)
        return ar.apply(item, args)

    def element_arithmetic(self, item: Instruction, args: list[Array]) -> Array:
        """add, sub, mul, div of elements: block values are repeated first, which is faster than broadcasting over short rows."""
        assert item.to is not None and item.rounding is not None
        shape = np.broadcast_shapes(*(arg.shape for arg in args))
        wide = [np.repeat(arg.reshape(-1), shape[-1]).reshape(shape) if arg.size * shape[-1] == np.prod(shape) else arg for arg in args]
        return ar.binary(item.op, wide[0], wide[1], item.to, item.rounding, self.room(item.out, shape, np.float32))

    def cast(self, item: Instruction, values: Array) -> Array:
        """Round, overflow, encode."""
        assert item.to is not None and item.rounding is not None
        random = None
        if item.step.random:
            drawn = self.cells[item.step.random]
            values, random = np.broadcast_to(values, drawn.shape), drawn.reshape(-1).astype(np.uint64)
        bits = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
        return convert_marked(bits, tables.fp32(), item.to, item.rounding, cast_entry(item), random).reshape(values.shape)

    def reduced(self, item: Instruction) -> Array:
        """amax or sum up to the place of the step."""
        arg = item.args[0]
        assert isinstance(arg, str)
        values, inner = self.cells[arg], self.program.types[arg].extent
        lanes = self.program.block.facts.shape[1]
        extent = item.type.extent
        width = (extent.columns or lanes) if extent.columns <= lanes else lanes
        count = max(min(width, lanes) // max(min(inner.columns or lanes, lanes), 1), 1)
        if item.op == "sum":
            assert item.to is not None and item.rounding is not None
            return reduce.sum_lanes(values, count, item.step.order, item.to, item.rounding)
        out = reduce.amax_lanes(values, count, item.step.nan) if count > 1 else np.abs(values)
        axes = tuple(axis for axis, wanted in ((1, extent.rows != 1), (2, extent.columns == 0)) if wanted and out.shape[axis] > 1)
        return reduce.amax_axes(out, axes, item.step.nan) if axes else out

    def transformed(self, item: Instruction) -> Array:
        """Rotate each group of lanes."""
        chosen = get("transform", item.step.transform)
        values = np.ascontiguousarray(self.value(item.args[0], item.type.extent))
        return rotate(values.reshape(-1, chosen.facts.size), chosen, self.signs).reshape(values.shape)
