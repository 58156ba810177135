"""quantize and dequantize on matrices of codes by a recipe's program, chunk by chunk; blocks lie along the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.torch import arithmetic as ar
from emu.engines.torch.can import require_program
from emu.engines.torch.convert import element_random
from emu.engines.torch.numbers import signed_mask
from emu.engines.torch.program import Cells, Machine
from emu.engines.torch.tensors import check_environment, checked, code_bytes, code_dtype, signed_view, to_int64
from emu.engines.torch.transform import codes_from, values_from
from emu.spec import derive
from emu.spec.models import Format, Recipe
from emu.spec.programs.lowering import LoweredProgram, lower
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import Extent, extent_of
from emu.spec.registry import get

_Take = Callable[[torch.Tensor, Format], torch.Tensor]

CHUNK = 1 << 18
GPU_CHUNK = 1 << 24


def keep_freed_memory() -> None:
    """Have the C library keep what chunks free instead of handing it back and faulting it in again.

    Its limit grows to the largest block that was freed, of at most 32 MB; an untouched block costs nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)


keep_freed_memory()


class QuantizedCodes(NamedTuple):
    """codes: [R, C] element codes.   levels: name -> [r, c] codes of its place, outermost level first. Unsigned."""

    codes: torch.Tensor
    levels: dict[str, torch.Tensor]


class Chunk(NamedTuple):
    """A rectangle of the padded matrix, whole tiles."""

    top: int
    bottom: int
    left: int
    right: int


def chunks(size: tuple[int, int], tile: tuple[int, int], whole_rows: bool, device: torch.device) -> Iterator[Chunk]:
    """Yield rectangles of whole tiles that stay in cache."""
    most = CHUNK if device.type == "cpu" else GPU_CHUNK
    width = size[1] if whole_rows else min(size[1], max(tile[1], most // tile[0] // tile[1] * tile[1]))
    height = max(tile[0], most // width // tile[0] * tile[0])
    for top in range(0, size[0], height):
        for left in range(0, size[1], width):
            yield Chunk(top, min(top + height, size[0]), left, min(left + width, size[1]))


def quantize(
    recipe: Recipe,
    codes: torch.Tensor,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: torch.Tensor | None = None,
    signs: int | None = None,
    masked: bool = False,
) -> QuantizedCodes:
    """Quantize a matrix of source codes.

    codes: [R, C] unsigned, or signed of the same width.
    tensor_amax: fp32 code; None: taken from codes.   random: for a program that draws.
    masked: True gives int64 tensors with OPEN where the sources leave a code open; False raises there.
    Returns: tensors on the device of codes.   NaN, Inf: as the steps say.
    Exactness: equals emu.engines.exact.block.quantize bit for bit. Needs: nearest even, subnormals not flushed (checked).
    Raises: ShapeError, OperandError, OpenError as the reference model; EngineError (can.fault, the float environment).
    Source: the recipe's sources.   Tests: tests/engines/torch/test_torch_block.py.
    """
    if codes.ndim != 2 or codes.numel() == 0:
        raise ShapeError("quantize takes a matrix with at least one element")
    program = quantize_program(recipe)
    require_program(program)
    plan = lower(program)
    check_environment(codes.device)
    run = _Run(recipe, plan, codes, source, signs, masked)
    first = run.first(tensor_amax)
    drawn = _random(program, random, codes.shape)
    tile = program.block.facts.shape
    for extent in chunks(run.padded, (tile[0], tile[1]), plan.whole_rows, codes.device):
        run.chunk(extent, first, drawn)
    return run.result()


class _Run:
    """One quantization: the plan, the source, and the tensors being filled."""

    def __init__(self, recipe: Recipe, plan: LoweredProgram, codes: torch.Tensor, source: Format, signs: int | None, masked: bool) -> None:
        self.recipe, self.plan, self.program, self.codes, self.source, self.signs = recipe, plan, plan.program, codes, source, signs
        self.device, self.masked = codes.device, masked
        self.padded = padded_size(recipe, codes.shape[0], codes.shape[1])
        kept = tuple(codes.shape) if recipe.facts.tail == "zero_pad_drop" else self.padded
        self.domain_open, self.found_open = False, list[torch.Tensor]()
        self.formats = {"codes": self.program.types[self.program.outputs["codes"]].formats[0]}
        self.out = {"codes": self._room(self.formats["codes"], kept)}
        for level in self.program.block.facts.levels:
            extent = extent_of(level.granularity, self.program.block)
            self.formats[level.name] = get("format", level.format)
            shape = (self.padded[0] // extent.rows if extent.rows else 1, self.padded[1] // extent.columns if extent.columns else 1)
            self.out[level.name] = self._room(self.formats[level.name], shape)
        self.may_be_open = any(
            item.op == "cast" and item.step.nan is None and item.to is not None and not derive.codes(item.to).nan
            for item in self.program.instructions
        )

    def _room(self, fmt: Format, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.int64 if self.masked else code_dtype(fmt), device=self.device)

    def values(self, extent: Chunk) -> torch.Tensor:
        """Return the float32 values of a rectangle, zeros outside the matrix."""
        part = values_from(self.codes[extent.top : extent.bottom, extent.left : extent.right], self.source)
        height, width = extent.bottom - extent.top, extent.right - extent.left
        if part.shape != (height, width):
            part = torch.nn.functional.pad(part, (0, width - part.shape[1], 0, height - part.shape[0]))
        return part

    def amax(self) -> torch.Tensor:
        """Return the largest magnitude of the matrix as one float32 value; any NaN gives NaN."""
        extents = chunks((self.codes.shape[0], self.codes.shape[1]), (1, 1), False, self.device)
        found = [ar.amax(values_from(self.codes[p.top : p.bottom, p.left : p.right], self.source), [0, 1], "propagate") for p in extents]
        return ar.amax(torch.cat(found), [0, 1], "propagate")

    def first(self, bits: int | None) -> Cells:
        """Return the cells of the whole tensor. Raises: OperandError (tensor_amax)."""
        reads, domain = self.program.reads("tensor_amax"), self.recipe.facts.domain
        if not reads and bits is not None:
            raise OperandError("this recipe reads no tensor_amax: leave it out")
        single = derive.codes(ar.fp32())
        inf = single.inf
        assert inf is not None
        if bits is not None and bits & single.sign_bit and bits & ~single.sign_bit <= inf:
            raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
        own = self.amax() if (reads and bits is None) or domain.non_finite == "no" else None
        if domain.non_finite == "no":
            assert own is not None
            self.domain_open = int(own.view(torch.int32)) >= inf
        if not reads:
            return Machine(self.plan, {}, self.device, self.signs).run(self.plan.once)
        if bits is not None:
            own = ar.values_of(torch.tensor([[bits]], dtype=torch.int64, device=self.device))
        assert own is not None
        if domain.tensor_amax_min is not None:
            self.domain_open |= 0 < int(own.view(torch.int32)) < int(domain.tensor_amax_min, 16)
        return Machine(self.plan, {"tensor_amax": own.view(1, 1, 1, 1)}, self.device, self.signs).run(self.plan.once)

    def chunk(self, extent: Chunk, first: Cells, drawn: torch.Tensor | None) -> None:
        """Quantize one rectangle."""
        rows, lanes = self.program.block.facts.shape
        shape = ((extent.bottom - extent.top) // rows, rows, (extent.right - extent.left) // lanes, lanes)
        cells = {**first, "x": self.values(extent).reshape(shape)}
        if drawn is not None:
            part = drawn[extent.top : extent.bottom, extent.left : extent.right]
            height, width = extent.bottom - extent.top, extent.right - extent.left
            part = torch.nn.functional.pad(part, (0, width - part.shape[1], 0, height - part.shape[0]))
            cells["random"] = part.reshape(shape)
        cells = Machine(self.plan, cells, self.device, self.signs).run(self.plan.each)
        found = spread(cells[self.program.outputs["codes"]], shape)
        self.store("codes", found.reshape(extent.bottom - extent.top, -1), extent.top, extent.left)
        for level in self.program.block.facts.levels:
            self.level(level.name, extent_of(level.granularity, self.program.block), cells, extent, shape)

    def level(self, name: str, held: Extent, cells: Mapping[str, torch.Tensor], extent: Chunk, shape: tuple[int, ...]) -> None:
        """Store one level of a chunk; a coarser result is repeated for every part it covers."""
        output = self.program.outputs[name]
        found = cells[output]
        if not self.program.types[output].is_code:
            found = codes_from(found, ar.fp32())
        if held.columns == 0:
            if held.rows:  # one value of the tensor stands for every row
                found = found.expand(shape[0], shape[1] if held.rows == 1 else 1, 1, 1)
            self.store(name, found.reshape(-1, 1), 0 if held.rows == 0 else extent.top // held.rows, 0)
            return
        wanted = (shape[0], shape[1] if held.rows == 1 else 1, shape[2], shape[3] // held.columns)
        part = spread(found, wanted).reshape(wanted[0] * wanted[1], -1)
        self.store(name, part, extent.top // held.rows, extent.left // held.columns)

    def store(self, name: str, part: torch.Tensor, top: int, left: int) -> None:
        """Write a part, cut to the tensor; note whether it holds an open code."""
        target = signed_view(self.out[name])[top : top + part.shape[0], left : left + part.shape[1]]
        if self.may_be_open and code_bytes(self.formats[name]) < 4 and part.dtype != torch.uint8:
            self.found_open.append(part.amin() < 0)
        cut = part[: target.shape[0], : target.shape[1]]
        target.copy_(cut.to(torch.int64) & signed_mask(32) if self.masked and cut.dtype == torch.int32 else cut)

    def result(self) -> QuantizedCodes:
        """Return the tensors. Raises: OpenError."""
        if self.domain_open and self.masked:
            for tensor in self.out.values():
                tensor.fill_(derive.OPEN)
        found_open = bool(self.found_open) and bool(torch.stack(self.found_open).any())
        if (self.domain_open or found_open) and not self.masked:
            raise OpenError(
                f"quantize/{self.recipe.id}: this input has results that the sources leave open "
                "(NaN, Inf or a tensor maximum outside its domain)"
            )
        found = dict(self.out)
        return QuantizedCodes(found.pop("codes"), found)


def spread(found: torch.Tensor, wanted: tuple[int, ...]) -> torch.Tensor:
    """Return the cells of a coarser place repeated for every part of a finer one."""
    if 1 < found.shape[3] < wanted[3]:
        found = found.repeat_interleave(wanted[3] // found.shape[3], dim=3)
    return found.expand(wanted)


def _random(program: Program, random: torch.Tensor | None, shape: torch.Size) -> torch.Tensor | None:
    """Return one random integer per logical element as a matrix. Raises: OperandError."""
    rounding = program.drawing
    if rounding is None:
        if random is not None:
            raise OperandError("this recipe draws no random bits: leave random out")
        return None
    if random is None:
        raise OperandError(f"this recipe draws: give random, {rounding.random_bits} bits an element")
    drawn = element_random(random, rounding, shape)
    assert drawn is not None
    return drawn.view(shape)


def dequantize(
    recipe: Recipe,
    codes: torch.Tensor,
    levels: Mapping[str, torch.Tensor],
    *,
    profile: str | None = None,
    result: Format | None = None,
    known: bool = False,
) -> torch.Tensor:
    """Return the values of codes and levels as codes of `result` (None: fp32).

    codes: [R, C].   levels: as quantize returns them.   profile: None: the recipe's first.   Returns: unsigned [R, C].
    known: codes and levels have been checked before.
    Raises: SpecError (profile), ShapeError (levels against codes), OpenError (an unused bit), OperandError (a code too wide), EngineError.
    Tests: tests/engines/torch/test_torch_block.py.
    """
    program = dequantize_program(recipe, profile)
    require_program(program)
    plan, to, tile = lower(program), result or program.arithmetic, program.block.facts.shape
    check_environment(codes.device)
    size = padded_size(recipe, codes.shape[0], codes.shape[1]) if recipe.facts.tail == "zero_pad_drop" else (codes.shape[0], codes.shape[1])
    take = _known_codes if known else checked
    given = {level.name: _level(levels, level.name, program, size, take) for level in program.block.facts.levels}
    element: Format = get("format", program.block.element_formats[0])
    out = torch.empty(codes.shape, dtype=code_dtype(to), device=codes.device)
    for extent in chunks(size, (tile[0], tile[1]), plan.whole_rows, codes.device):
        height, width = extent.bottom - extent.top, extent.right - extent.left
        shape = (height // tile[0], tile[0], width // tile[1], tile[1])
        part = take(codes[extent.top : extent.bottom, extent.left : extent.right], element)
        part = torch.nn.functional.pad(part, (0, width - part.shape[1], 0, height - part.shape[0]))
        cells: Cells = {"codes": part.reshape(shape)}
        for name, level in given.items():
            cells[name] = _level_part(level, program.given[name].extent, extent, shape)
        cells = Machine(plan, cells, codes.device).run(plan.once + plan.each)
        values = cells[program.outputs["values"]].expand(shape).reshape(height, width)
        target = signed_view(out)[extent.top : extent.bottom, extent.left : extent.right]
        target.copy_(codes_from(values[: target.shape[0], : target.shape[1]], to))
    return out


def _known_codes(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    return to_int64(codes)


def _level(levels: Mapping[str, torch.Tensor], name: str, program: Program, size: tuple[int, int], take: _Take) -> torch.Tensor:
    """Return a level's codes as int64, or its values where it is stored in the arithmetic format. Raises: ShapeError, OpenError."""
    typed = program.given[name]
    extent = typed.extent
    shape = (size[0] // extent.rows if extent.rows else 1, size[1] // extent.columns if extent.columns else 1)
    if name not in levels or tuple(levels[name].shape) != shape:
        raise ShapeError(f"level {name} must have shape {shape}")
    wide = take(levels[name], typed.formats[0])
    return wide if typed.is_code else ar.values_of(wide)


def _level_part(level: torch.Tensor, held: Extent, extent: Chunk, shape: tuple[int, ...]) -> torch.Tensor:
    """Return what a chunk needs of a level, in the shape of its place."""
    rows = slice(extent.top // held.rows, extent.bottom // held.rows) if held.rows else slice(None)
    columns = slice(extent.left // held.columns, extent.right // held.columns) if held.columns else slice(None)
    part = level[rows, columns]
    if held.columns == 0:
        return part.reshape((1, 1, 1, 1) if held.rows == 0 else (shape[0], shape[1], 1, 1))
    return part.reshape(shape[0], shape[1] if held.rows == 1 else 1, shape[2], shape[3] // held.columns)
