"""quantize and dequantize in the C reference: descriptors of the program, matrices in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, check, code_dtype, in_width, matrix
from emu.engines.c_ref.convert import element_random
from emu.engines.c_ref.descriptors import format_descriptor
from emu.engines.c_ref.program import ProgramDescriptor, program_descriptor
from emu.engines.c_ref.transform import sign_operand
from emu.spec import derive
from emu.spec.models import Block, Format, Recipe
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import digest, get


class QuantizedCodes(NamedTuple):
    """codes: [R, C] element codes.   levels: name -> [r, c] codes of its place, outermost level first."""

    codes: Codes
    levels: dict[str, Codes]


_descriptors: Cache[tuple[str, str | None], ProgramDescriptor] = Cache("emu.engines.c_ref.block._descriptors", 512)


def program_of(recipe: Recipe, program: Program, profile: str | None) -> ProgramDescriptor:
    """Return the emu_program of a recipe; profile: None: the quantize program. Raises: EngineError (a limit of the C reference)."""
    key = (digest(recipe), profile)
    if key not in _descriptors:
        _descriptors[key] = program_descriptor(recipe, program)
    return _descriptors[key]


def quantize(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
) -> QuantizedCodes:
    """Quantize a matrix of source codes.

    codes: unsigned [R, C], blocks along the columns.   tensor_amax: fp32 code; None: taken from codes.
    random: one integer per element, or one word per `lanes` elements, row-major, for a program that draws.
    Exactness: equals emu.engines.exact.block.quantize bit for bit.
    Raises: ShapeError, OperandError, OpenError as the reference model; EngineError beyond the limits of emu_ref.h.
    Tests: tests/engines/c_ref/test_c_block.py.
    """
    found, is_open = quantize_with_open(recipe, codes, source, tensor_amax=tensor_amax, random=random, signs=signs)
    if any(bool(marks.any()) for marks in (is_open.codes, *is_open.levels.values())):
        raise OpenError(
            f"quantize/{recipe.id}: this input has results that the sources leave open (NaN, Inf or a tensor maximum outside its domain)"
        )
    return found


def quantize_with_open(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
) -> tuple[QuantizedCodes, QuantizedCodes]:
    """Quantize a matrix of source codes and say which results nobody knows.

    Arguments and errors: as quantize, but for open results.
    Returns: the codes and levels, and arrays of the same shapes that hold 1 where a code is open; it is 0 there.
    """
    program = quantize_program(recipe)
    given = given_matrix(codes, source)
    _check_tensor_amax(program, tensor_amax)
    drawn, descriptor, origin = random_of(program, random, given.shape), program_of(recipe, program, None), format_descriptor(source)
    padded = padded_size(recipe, *given.shape)
    out = _empty(recipe, program.block, padded if recipe.facts.tail != "zero_pad_drop" else (given.shape[0], given.shape[1]), padded)
    level_marks = {name: np.zeros(level.shape, np.uint8) for name, level in out.levels.items()}
    marks = QuantizedCodes(np.zeros(out.codes.shape, np.uint8), level_marks)
    levels = [matrix(out.levels[name], marks.levels[name]) for name in descriptor.levels]
    workspace, words = workspace_of(descriptor.pointer, given.shape[1])
    error = lib.emu_quantize(
        descriptor.pointer,
        origin.pointer,
        ffi.new("emu_matrix *", matrix(given)),
        ffi.NULL if tensor_amax is None else ffi.new("uint32_t *", tensor_amax),
        ffi.NULL if drawn is None else ffi.new("emu_matrix *", matrix(drawn)),
        signs_of(recipe, signs),
        ffi.new("emu_matrix *", matrix(out.codes, marks.codes)),
        ffi.new("emu_matrix[]", levels) if levels else ffi.NULL,
        workspace,
        words,
    )
    check(error, f"quantize/{recipe.id}")
    return out, marks


def dequantize(
    recipe: Recipe, codes: Codes, levels: Mapping[str, Codes], *, profile: str | None = None, result: Format | None = None
) -> Codes:
    """Return the values of codes and levels as codes of `result` (None: the program's arithmetic).

    codes: unsigned [R, C].   levels: as quantize returns them.   profile: None: the recipe's first.
    Exactness: equals emu.engines.exact.block.dequantize bit for bit.
    Raises: SpecError (profile), ShapeError (levels against codes), OpenError (a code nobody knows), EngineError.
    Tests: tests/engines/c_ref/test_c_block.py.
    """
    program = dequantize_program(recipe, profile)
    block, to = program.block, result or program.arithmetic
    given = given_matrix(codes, get("format", block.element_formats[0]))
    descriptor = program_of(recipe, program, profile or next(iter(recipe.facts.dequantize)))
    held = []
    for level in block.facts.levels:
        if level.name not in levels:
            raise ShapeError(f"level {level.name} is missing")
        held.append(given_matrix(levels[level.name], get("format", level.format)))
    target = format_descriptor(to)
    out: Codes = np.empty(given.shape, code_dtype(to))
    workspace, words = workspace_of(descriptor.pointer, given.shape[1])
    error = lib.emu_dequantize(
        descriptor.pointer,
        ffi.new("emu_matrix *", matrix(given)),
        ffi.new("emu_matrix[]", [matrix(array) for array in held]) if held else ffi.NULL,
        target.pointer,
        ffi.new("emu_matrix *", matrix(out)),
        workspace,
        words,
    )
    check(error, f"dequantize/{recipe.id}")
    return out


def given_matrix(codes: Codes, fmt: Format) -> Codes:
    """Return codes [R, C] in the width of their format. Raises: ShapeError (not a matrix, or empty), OperandError (codes)."""
    array = in_width(codes, fmt)
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError("quantize and dequantize take a matrix with at least one element")
    return array


def _empty(recipe: Recipe, block: Block, size: tuple[int, int], padded: tuple[int, int]) -> QuantizedCodes:
    """Return arrays for the results, nothing in them yet."""
    levels = {}
    for level in block.facts.levels:
        extent = extent_of(level.granularity, block)
        shape = (padded[0] // extent.rows if extent.rows else 1, padded[1] // extent.columns if extent.columns else 1)
        levels[level.name] = np.empty(shape, code_dtype(get("format", level.format)))
    return QuantizedCodes(np.empty(size, code_dtype(get("format", block.element_formats[0]))), levels)


def workspace_of(program: Any, columns: int) -> tuple[Any, int]:
    """Return memory for a band of an emu_program, and how many words it has."""
    words = ffi.new("size_t *")
    check(lib.emu_count_workspace(program, columns, words), "workspace")
    return ffi.from_buffer("uint64_t[]", np.empty(words[0], np.uint64), require_writable=True), words[0]


def _check_tensor_amax(program: Program, bits: int | None) -> None:
    if bits is None:
        return
    if not program.reads("tensor_amax"):
        raise OperandError("this recipe reads no tensor_amax: leave it out")
    fp32: Format = get("format", "fp32")
    if bits & derive.codes(fp32).sign_bit and not derive.is_nan_code(bits, fp32):
        raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")


def random_of(program: Program, random: Codes | None, shape: tuple[int, ...]) -> NDArray[np.uint32] | None:
    """Return one random integer per element. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    rounding = program.drawing
    if rounding is None:
        if random is not None:
            raise OperandError("this recipe draws no random bits: leave random out")
        return None
    drawn = element_random(random, rounding, shape[0] * shape[1])
    return None if drawn is None else drawn.reshape(shape)


def signs_of(recipe: Recipe, signs: int | None) -> Any:
    """Return the words of a sign mask for the recipe's rotations, NULL for None."""
    chosen = [get("transform", name) for name in recipe.transforms]
    for transform in chosen:
        words = sign_operand(transform, signs)
    return words if chosen else ffi.NULL
