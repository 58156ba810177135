"""The step interpreter on tensors. Four axes: panels of tile rows, rows of a tile, blocks, lanes; a place is a shape.

Values are float32 tensors, used for their bits and for single correctly rounded operations; codes are integer tensors, open ones negative.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from emu.base.caches import Cache
from emu.engines.torch import arithmetic as ar
from emu.engines.torch.convert import marked
from emu.engines.torch.numbers import as_int64
from emu.engines.torch.odd import take
from emu.engines.torch.transform import rotate
from emu.spec.models import Transform
from emu.spec.programs.lowering import LoweredProgram, LoweredStep
from emu.spec.programs.program import Constant, Extent, Instruction, cast_entry
from emu.spec.registry import get

Cells = dict[str, torch.Tensor]
_chains: Cache[tuple[str, torch.device], torch.Tensor] = Cache("emu.engines.torch.program._chains", 128)


class Machine:
    """The named tensors of one chunk. cells: given names -> tensors of their places.   signs: for transforms that take them."""

    def __init__(self, plan: LoweredProgram, cells: Mapping[str, torch.Tensor], device: torch.device, signs: int | None = None) -> None:
        self.plan, self.program, self.device, self.signs = plan, plan.program, device, signs
        self.cells: Cells = dict(cells)

    def run(self, steps: tuple[LoweredStep, ...]) -> Cells:
        """Run steps in order; return every name."""
        for step in steps:
            self.cells[step.item.out] = self.step(step.item) if step.head is None else take(self.chain(step), self.bits(step.head))
        return self.cells

    def bits(self, name: str) -> torch.Tensor:
        """Return the binary32 codes of values, int32."""
        return self.cells[name].contiguous().view(torch.int32)

    def value(self, arg: str | Constant, extent: Extent) -> torch.Tensor:
        """Return an argument in a shape that broadcasts over a place."""
        if isinstance(arg, Constant):
            return torch.full((1, 1, 1, 1), as_int64(arg.bits), dtype=torch.int64, device=self.device).to(torch.int32).view(torch.float32)
        have, lanes = self.program.types[arg].extent, self.program.block.facts.shape[1]
        cell = self.cells[arg]
        if 1 < have.columns < lanes and extent.columns < have.columns:
            return cell.repeat_interleave(have.columns // extent.columns, dim=-1)
        return cell

    def chain(self, step: LoweredStep) -> torch.Tensor:
        """Return the table of a chain, made once by running it on every bf16 number."""
        found = _chains.get((step.key, self.device))
        if found is None:
            every = (torch.arange(1 << 16, device=self.device) << 16).to(torch.int32).view(torch.float32)
            inner = Machine(self.plan, {step.head or "": every.view(1, 1, 1, -1)}, self.device)
            for item in step.chain:
                inner.cells[item.out] = inner.step(item)
            table = inner.cells[step.item.out].reshape(-1).to(torch.int16)
            found = _chains.keep((step.key, self.device), table if bool((table < 0).any()) else table.to(torch.uint8))
        return found

    def step(self, item: Instruction) -> torch.Tensor:
        """Run one instruction."""
        if item.op in ("amax", "sum"):
            return self.reduced(item)
        args = [self.value(arg, item.type.extent) for arg in item.args]
        if item.op == "transform":
            chosen: Transform = get("transform", item.step.transform)
            return rotate(args[0].reshape(-1, chosen.facts.size), chosen, self.signs).view(args[0].shape)
        if item.op == "cast":
            return self.cast(item, args[0])
        if item.op == "decode":
            assert item.to is not None
            return ar.decoded(args[0], item.to)
        return ar.apply(item, args)

    def cast(self, item: Instruction, values: torch.Tensor) -> torch.Tensor:
        """Round, overflow, encode."""
        assert item.to is not None and item.rounding is not None
        random = None
        if item.step.random:
            drawn = self.cells[item.step.random]
            values, random = values.expand(drawn.shape), drawn.reshape(-1)
        bits = values.contiguous().view(torch.int32).view(-1)
        return marked(bits, ar.fp32(), item.to, item.rounding, cast_entry(item), random).view(values.shape)

    def reduced(self, item: Instruction) -> torch.Tensor:
        """amax or sum up to the place of the step."""
        arg, extent, lanes = item.args[0], item.type.extent, self.program.block.facts.shape[1]
        assert isinstance(arg, str)
        values, inner = self.cells[arg], self.program.types[arg].extent
        width = min(extent.columns or lanes, lanes)
        count = max(width // min(inner.columns or lanes, lanes), 1)
        grouped = values.reshape(*values.shape[:-1], values.shape[-1] // count, count)
        if item.op == "sum":
            assert item.to is not None and item.rounding is not None
            return ar.total(grouped, item.step.order, item.to, item.rounding)[..., 0]
        axes = [axis for axis, wanted in ((1, extent.rows != 1), (2, extent.columns == 0)) if wanted]
        if extent.rows == 0:
            axes.append(0)
        return ar.amax(grouped, [*axes, 4], item.step.nan)[..., 0]
