"""quantize and dequantize on matrices of codes, chunk by chunk; blocks lie along the columns, the memory order of the matrix is free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.numpy import tables
from emu.engines.numpy.convert import Codes, code_dtype, convert_marked, element_random, to_fp32, to_fp64, wide_values
from emu.engines.numpy.environment import check_environment
from emu.engines.numpy.program import Machine
from emu.spec import derive
from emu.spec.ieee import binary_format, is_binary32, is_within
from emu.spec.models import Format, Recipe
from emu.spec.models.format import FloatFacts
from emu.spec.programs.lowering import LoweredProgram, lower
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import Extent, extent_of
from emu.spec.registry import get

Array = NDArray[Any]
F32 = NDArray[np.float32]
CHUNK = 1 << 17
_SIGNALLING = np.uint32(0x7F800000)


class QuantizedCodes(NamedTuple):
    """codes: [R, C] element codes.   levels: name -> [r, c] codes of its place, outermost level first."""

    codes: Codes
    levels: dict[str, Codes]


class Chunk(NamedTuple):
    """A rectangle of the padded matrix."""

    top: int
    bottom: int
    left: int
    right: int


def chunks(size: tuple[int, int], tile: tuple[int, int], whole_rows: bool, column_major: bool) -> Iterator[Chunk]:
    """Yield rectangles of whole tiles of about 128K elements, shaped so that reading follows the memory order."""
    height, width = size
    rows, columns = tile
    wide = min(width, CHUNK // rows) if not column_major else min(width, max(columns, CHUNK // min(height, 512)))
    step = width if whole_rows else max(columns, wide // columns * columns)
    tall = max(rows, CHUNK // step // rows * rows)
    for top in range(0, height, tall):
        for left in range(0, width, step):
            yield Chunk(top, min(top + tall, height), left, min(left + step, width))


def quantize(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
    masked: bool = False,
) -> QuantizedCodes:
    """Quantize a matrix of source codes.

    codes: unsigned [R, C], any memory order.   tensor_amax: fp32 code; None: taken from codes.   random: [R, C], for a program that draws.
    masked: True leaves the markers of tables.marker_dtype where nobody knows the code; False raises.
    Returns: arrays in the memory order of `codes`.
    Raises: ShapeError, OperandError, OpenError as `exact`; EngineError where only `exact` can, or for a changed float environment.
    Tests: tests/engines/numpy/test_numpy_block.py.
    """
    check_environment()
    if codes.ndim != 2 or 0 in codes.shape:
        raise ShapeError("quantize takes a matrix with at least one element")
    program = quantize_program(recipe)
    run = _Run(recipe, program, codes, source, signs)
    amax = run.tensor_amax(tensor_amax)
    run.open_domain(amax)
    drawn = _random(program, random, codes.shape)
    first = Machine(run.plan, {} if amax is None else {"tensor_amax": amax}).run(run.plan.once)
    tile = run.program.block.facts.shape
    column_major = abs(codes.strides[0]) < abs(codes.strides[1])
    for chunk in chunks(run.padded, (tile[0], tile[1]), run.plan.whole_rows, column_major):
        run.chunk(chunk, first, drawn)
    return run.result(masked)


class _Run:
    """One quantization: the plan, the source, and the arrays being filled."""

    def __init__(self, recipe: Recipe, program: Program, codes: Codes, source: Format, signs: int | None) -> None:
        self.recipe, self.program, self.codes, self.source, self.signs = recipe, program, codes, source, signs
        self.plan: LoweredProgram = lower(program)
        self.padded = padded_size(recipe, *codes.shape)
        kept = codes.shape if recipe.facts.tail == "zero_pad_drop" else self.padded
        order = "F" if abs(codes.strides[0]) < abs(codes.strides[1]) else "C"
        self.out: Array = np.empty(kept, tables.marker_dtype(self.formats("codes")[0]), order=order)  # type: ignore[call-overload]
        self.levels: dict[str, Array] = {}
        for level in program.block.facts.levels:
            extent = extent_of(level.granularity, program.block)
            shape = (self.padded[0] // extent.rows if extent.rows else 1, self.padded[1] // extent.columns if extent.columns else 1)
            self.levels[level.name] = np.empty(shape, tables.marker_dtype(get("format", level.format)))
        self.is_open = False
        self.machine = Machine(self.plan, {}, signs)

    def formats(self, output: str) -> tuple[Format, ...]:
        """Return the formats of an output's codes."""
        return self.program.types[self.program.outputs[output]].formats

    def tensor_amax(self, bits: int | None) -> F32 | None:
        """Return the tensor maximum as one float32, given or computed; None where the program reads none."""
        if not self.program.reads("tensor_amax"):
            if bits is not None:
                raise OperandError("this recipe reads no tensor_amax: leave it out")
            return None
        if bits is None:
            bits = amax_bits(self.codes, self.source)
        elif bits >> 31 and bits & 0x7FFFFFFF <= int(_SIGNALLING):
            raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
        return np.array([bits], np.uint32).view(np.float32).reshape(1, 1, 1, 1)

    def open_domain(self, amax: F32 | None) -> None:
        """Note whether the recipe's sources leave this input open."""
        domain = self.recipe.facts.domain
        if domain.non_finite == "no":
            self.is_open = amax_bits(self.codes, self.source) >= int(_SIGNALLING)
        if domain.tensor_amax_min is not None and amax is not None:
            bits = int(amax.view(np.uint32).reshape(-1)[0])
            self.is_open |= 0 < bits < int(domain.tensor_amax_min, 16)

    def chunk(self, extent: Chunk, first: Mapping[str, Array], drawn: Codes | None) -> None:
        """Quantize one rectangle."""
        rows, lanes = self.program.block.facts.shape
        shape = ((extent.bottom - extent.top) // rows, rows, (extent.right - extent.left) // lanes, lanes)
        cells = dict(first)
        cells["x"] = to_values(_cut(self.codes, extent), self.source).reshape(shape)
        if drawn is not None:
            cells["random"] = _cut(drawn, extent).reshape(shape)
        self.machine.reload(cells)
        cells = self.machine.run(self.plan.each)
        found = _spread(cells[self.program.outputs["codes"]], shape)
        flat = found.reshape(extent.bottom - extent.top, extent.right - extent.left)
        target = self.out[extent.top : extent.bottom, extent.left : extent.right]
        target[...] = flat[: target.shape[0], : target.shape[1]]
        for level in self.program.block.facts.levels:
            self.level(level.name, extent_of(level.granularity, self.program.block), cells, extent, shape)

    def level(self, name: str, held: Extent, cells: Mapping[str, Array], extent: Chunk, shape: tuple[int, ...]) -> None:
        """Store one level of a chunk; a coarser result is repeated for every part it covers."""
        output = self.program.outputs[name]
        found = cells[output]
        if not self.program.types[output].is_code:
            found = _value_codes(found)
        if held.columns == 0:
            target = self.levels[name] if held.rows == 0 else self.levels[name][extent.top : extent.bottom]
            target[...] = found.reshape(-1, 1)
            return
        per_block = shape[3] // held.columns
        wanted = (shape[0], shape[1] if held.rows == 1 else 1, shape[2], per_block)
        part = _spread(found, wanted).reshape(wanted[0] * wanted[1], -1)
        top, left = extent.top // held.rows, extent.left // held.columns
        self.levels[name][top : top + part.shape[0], left : left + part.shape[1]] = part

    def result(self, masked: bool) -> QuantizedCodes:
        """Return the arrays; open codes raise unless they are asked for."""
        everything = {"codes": self.out, **self.levels}
        formats = {"codes": self.formats("codes")[0], **{lv.name: get("format", lv.format) for lv in self.program.block.facts.levels}}
        if self.is_open:
            for name, array in everything.items():
                array[...] = tables.mark(derive.OPEN, formats[name])
        can_be_open = self.is_open or _may_be_open(self.program)
        marked = can_be_open and any((array == tables.mark(derive.OPEN, formats[name])).any() for name, array in everything.items())
        if marked and not masked:
            raise OpenError(
                f"quantize/{self.recipe.id}: this input has results that the sources leave open "
                "(NaN, Inf or a tensor maximum outside its domain)"
            )
        if not marked:
            everything = {name: array.astype(code_dtype(formats[name]), copy=False) for name, array in everything.items()}
        return QuantizedCodes(everything.pop("codes"), everything)


def _spread(found: Array, wanted: tuple[int, ...]) -> Array:
    """Return the cells of a coarser place repeated for every part of a finer one; shapes of four axes."""
    if found.shape == wanted:
        return found
    if 1 < found.shape[3] < wanted[3]:
        found = np.repeat(found, wanted[3] // found.shape[3], axis=3)
    return np.broadcast_to(found, wanted)


def _may_be_open(program: Program) -> bool:
    """Tell whether a cast of the program has no code for NaN."""
    casts = [item for item in program.instructions if item.op == "cast"]
    return any(item.step.nan is None and item.to is not None and not derive.codes(item.to).nan for item in casts)


def _cut(array: Array, extent: Chunk) -> Array:
    """Return a contiguous copy or view of a rectangle, zeros where it lies outside the array."""
    part = array[extent.top : extent.bottom, extent.left : extent.right]
    shape = (extent.bottom - extent.top, extent.right - extent.left)
    if part.shape == shape:
        return _transposed(part) if abs(part.strides[0]) < abs(part.strides[1]) else np.ascontiguousarray(part)
    out = np.zeros(shape, array.dtype)
    out[: part.shape[0], : part.shape[1]] = part
    return out


def _transposed(part: Array) -> Array:
    """Return a row-major copy of a column-major rectangle: first by its own rows into a buffer whose row length is no power of two."""
    columns, rows = part.shape[1], part.shape[0]
    buffer = np.empty((columns, rows + 16), part.dtype)[:, :rows]
    buffer[...] = part.T
    return np.ascontiguousarray(buffer.T)


def to_values(codes: Codes, source: Format) -> F32:
    """Return source codes as float32 values, exact. Raises: OperandError when a value is no binary32 number."""
    if not isinstance(source.facts, FloatFacts) or is_within(source, tables.fp32()):
        return to_fp32(codes, source)
    if binary_format(source) == "binary64":
        wide, lost = to_fp64(codes, source), np.zeros(codes.shape, np.bool_)
    else:
        wide, lost = wide_values(codes, source)
    with np.errstate(all="ignore"):
        narrow = wide.astype(np.float32)
        if not bool((((narrow == wide) | np.isnan(wide)) & ~lost).all()):
            name = "binary64" if binary_format(source) == "binary64" else source.id
            raise OperandError(f"a {name} value is no binary32 number: recipes start from binary32, convert the array first")
    return narrow


def amax_bits(codes: Codes, source: Format) -> int:
    """Return the fp32 code of max |x|; any NaN gives the canonical NaN. Chunked; codes in any memory order."""
    best = 0
    flat = codes.ravel(order="K") if codes.flags.forc else np.ascontiguousarray(codes).reshape(-1)
    for start in range(0, flat.size, 8 * CHUNK):
        bits = np.ascontiguousarray(to_values(flat[start : start + 8 * CHUNK], source)).view(np.uint32)
        best = max(best, int((bits & np.uint32(0x7FFFFFFF)).max()))
    return best if best <= int(_SIGNALLING) else 0x7FC00000


def _value_codes(values: F32) -> NDArray[np.uint32]:
    """Return fp32 codes of values; NaN canonical."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    nan = np.isnan(values)
    return np.where(nan, np.uint32(0x7FC00000), bits) if nan.any() else bits


def _random(program: Program, random: Codes | None, shape: tuple[int, ...]) -> Codes | None:
    """Return one random integer per logical element as a matrix."""
    rounding = program.drawing
    if rounding is None:
        if random is not None:
            raise OperandError("this recipe draws no random bits: leave random out")
        return None
    if random is None:
        raise OperandError(f"this recipe draws: give random, {rounding.random_bits} bits an element")
    drawn = element_random(random, rounding, shape)
    assert drawn is not None
    return drawn.reshape(shape)


def dequantize(
    recipe: Recipe,
    codes: Codes,
    levels: Mapping[str, Codes],
    *,
    profile: str | None = None,
    result: Format | None = None,
    out: Codes | None = None,
) -> Codes:
    """Return the values of codes and levels as codes of `result` (None: fp32).

    codes: [R, C].   levels: as quantize returns them.   profile: None: the recipe's first.   out: a place for the values.
    Codes and levels fit: emu.engines.operands.check_dequantize.   Raises: SpecError (profile).
    """
    check_environment()
    program = dequantize_program(recipe, profile)
    plan = lower(program)
    size = padded_size(recipe, *codes.shape) if recipe.facts.tail == "zero_pad_drop" else codes.shape
    to = result or program.arithmetic
    order = "F" if abs(codes.strides[0]) < abs(codes.strides[1]) else "C"
    if out is None or out.shape != codes.shape:  # a place may go on behind codes that are cut off
        out = np.empty(codes.shape, code_dtype(to), order=order)  # type: ignore[call-overload]
    tile = program.block.facts.shape
    machine = Machine(plan, {})
    for chunk in chunks((size[0], size[1]), (tile[0], tile[1]), plan.whole_rows, order == "F"):
        shape = ((chunk.bottom - chunk.top) // tile[0], tile[0], (chunk.right - chunk.left) // tile[1], tile[1])
        cells: dict[str, Array] = {"codes": _cut(codes, chunk).reshape(shape)}
        for level in program.block.facts.levels:
            cells[level.name] = _level_part(levels[level.name], program, level.name, chunk, shape)
        machine.reload(cells)
        cells = machine.run(plan.once + plan.each)
        values = np.broadcast_to(cells[program.outputs["values"]], shape).reshape(chunk.bottom - chunk.top, -1)
        target = out[chunk.top : chunk.bottom, chunk.left : chunk.right]
        target[...] = _result_codes(values[: target.shape[0], : target.shape[1]], to)
    return out


def _result_codes(values: F32, to: Format) -> Codes:
    bits = _value_codes(values)
    if is_binary32(to):
        return bits
    marked = convert_marked(bits.reshape(-1), tables.fp32(), to, get("rounding", "rne"), derive.arithmetic_entry(to))
    return marked.astype(code_dtype(to)).reshape(values.shape)


def _level_part(level: Codes, program: Program, name: str, chunk: Chunk, shape: tuple[int, ...]) -> Array:
    """Return the codes (or values, for fp32 levels) of one level that a chunk needs, in the shape of its place."""
    typed = program.given[name]
    extent = typed.extent
    rows = slice(chunk.top // extent.rows, chunk.bottom // extent.rows) if extent.rows else slice(None)
    columns = slice(chunk.left // extent.columns, chunk.right // extent.columns) if extent.columns else slice(None)
    part = np.ascontiguousarray(level[rows, columns])
    if not typed.is_code:
        part = to_fp32(part, program.arithmetic)  # type: ignore[assignment]
    if extent.columns == 0:
        return part.reshape((1, 1, 1, 1) if extent.rows == 0 else (shape[0], shape[1], 1, 1))
    return part.reshape(shape[0], shape[1] if extent.rows == 1 else 1, shape[2], shape[3] // extent.columns)
