"""Engine `native`, tensors: quantize by the block kernel and the largest magnitude. Which recipes, can_quantize says."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.base.errors import EngineError, OpenError, OperandError, ShapeError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import decode_to, element_random
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check, usable
from emu.engines.native.program import KernelPlan, plan_of
from emu.engines.native.tables import is_source, source_of
from emu.engines.native.tiles import fill, tile_plan_of
from emu.engines.native.transform import rotation_of
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, Recipe, Rounding
from emu.spec.programs.program import Program, padded_size
from emu.spec.registry import get

INFINITY = 0x7F800000
Filled = tuple[Codes, dict[str, Codes], int]
NAN = 0x7FC00000


def can_quantize(recipe: Recipe, source: Format) -> bool:
    """Tell whether the kernel quantizes by this recipe: see kernel_plan. Raises: SpecError (a bad program)."""
    return is_source(source) and (plan_of(recipe) is not None or tile_plan_of(recipe) is not None)


def amax_bits(codes: Codes, source: Format, form: int = BEST_FORM) -> int:
    """Return the fp32 code of max |x|; any NaN gives the canonical NaN.

    codes: unsigned codes of fp32, bf16 or fp16, at least one, any shape and memory order.   Raises: EngineError.
    """
    flat = codes.ravel(order="K") if codes.flags.forc else np.ascontiguousarray(codes).reshape(-1)
    flat, found = np.require(flat, code_dtype(source), ("C", "A")), ffi.new("uint32_t *")
    check(lib.emu_amax(form, source_of(source), address(flat), flat.size, found))
    if is_binary32(source):
        return int(found[0]) if found[0] <= INFINITY else NAN
    largest = np.array([found[0]], code_dtype(source))
    return int(decode_to(largest, source, get("format", "fp32"))[0])


def quantize(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
    out: Codes | None = None,
    form: int = BEST_FORM,
) -> tuple[Codes, dict[str, Codes]]:
    """Quantize a matrix of codes, blocks along its rows.

    codes: unsigned [R, C] of fp32, bf16 or fp16, row-major or column-major (else copied).   tensor_amax: fp32 code; None: taken from codes.
    random: one integer per element for a recipe that draws, else None.   signs: for a rotation that takes them.
    out: a place for the element codes, returned where a kernel can write into it.   form: of emu/engines/native/kernels/kernels.h.
    Returns: element codes, in the memory order of `codes`, and the levels by name.
    Raises: ShapeError, OperandError, OpenError as the reference model; EngineError (the kernel cannot; a changed float environment).
    Tests: tests/engines/native/test_native_quantize.py.
    """
    plan = plan_of(recipe) if is_source(source) else None
    tiles = tile_plan_of(recipe) if is_source(source) and plan is None else None
    chosen = plan or tiles
    if chosen is None:
        raise EngineError(f"engine native cannot quantize {source.id} by {recipe.id}: use engine='numpy'")
    check(lib.emu_check_floats())
    if codes.ndim != 2 or 0 in codes.shape:
        raise ShapeError("quantize takes a matrix with at least one element")
    drawn = random_bytes(None if plan is None else plan.rounding, random, codes.shape)
    transposed = abs(codes.strides[0]) < abs(codes.strides[1])
    memory = np.require(padded(recipe, codes.T if transposed else codes, transposed), code_dtype(source), ("C", "A"))
    amax = _tensor_amax(recipe, chosen.program, codes, source, tensor_amax, form)
    place = None if out is None else usable(out.T if transposed else out, memory.shape, np.uint8)
    if plan is not None:
        rotation = ffi.NULL if plan.transform is None else rotation_of(plan.transform, signs)
        if drawn is not None:
            drawn = np.require(padded(recipe, drawn.T if transposed else drawn, transposed), np.uint8, ("C", "A"))
        found, levels, marks = _run(plan, memory, source, transposed, amax, rotation, form, drawn, place)
    else:
        assert tiles is not None
        found, levels, marks = fill(tiles, memory, source, transposed, amax, form, place)
    if marks:
        raise open_error(recipe)
    if transposed:
        found, levels = found.T, {name: level.T for name, level in levels.items()}
    if place is not None:
        assert out is not None
        return out, levels
    return found[: codes.shape[0], : codes.shape[1]] if recipe.facts.tail == "zero_pad_drop" else found, levels


def _run(
    plan: KernelPlan,
    memory: Codes,
    source: Format,
    transposed: bool,
    amax: int,
    rotation: Any,
    form: int,
    drawn: Codes | None,
    place: Codes | None,
) -> Filled:
    """Call the kernel on a matrix in memory order; return codes, levels and marks."""
    block, lanes = plan.program.block, plan.program.block.facts.shape[1]
    shape = (memory.shape[0] // lanes, memory.shape[1]) if transposed else (memory.shape[0], memory.shape[1] // lanes)
    out: Codes = np.empty(memory.shape, np.uint8) if place is None else place
    levels = dict[str, Codes]()
    for level in block.facts.levels:
        if level.granularity == "block":
            levels[level.name] = np.empty(shape, code_dtype(get("format", level.format)))
    addresses = [address(level) for level in levels.values()]
    tensor, marks = ffi.new("uint32_t[]", lib.EMU_MAX_REGISTERS), ffi.new("uint8_t *")
    initial = ffi.new("uint32_t[]", list(plan.initial))
    initial[plan.registers["tensor_amax"]] = amax
    own = ffi.new("emu_kernel_plan *", plan.pointer[0])
    own.initial, own.rotation = initial, rotation
    targets = ffi.new("void *[]", addresses or [ffi.NULL])
    rows, columns = memory.shape
    given = own, source_of(source), address(memory), rows, columns, transposed
    check(lib.emu_quantize_4bit(form, *given, ffi.NULL if drawn is None else address(drawn), address(out), targets, tensor, marks))
    for level in block.facts.levels:
        if level.granularity == "tensor":
            bits = int(tensor[plan.registers[plan.program.outputs[level.name]]])
            levels[level.name] = np.array([[NAN if bits & 0x7FFFFFFF > INFINITY else bits]], code_dtype(get("format", level.format)))
    return out, levels, int(marks[0])


def random_bytes(mode: Rounding | None, random: Codes | None, shape: tuple[int, ...]) -> Codes | None:
    """Return the random integers of the elements as a matrix of bytes. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    if mode is None and random is not None:
        raise OperandError("this recipe draws no random bits: leave random out")
    if mode is not None and random is None:
        raise OperandError(f"this recipe draws: give random, {mode.random_bits} bits an element")
    if mode is None or (random is not None and random.dtype == np.uint8 and random.shape == shape and mode.random_bits == 8):
        return random
    drawn = element_random(random, mode, shape[0] * shape[1])
    assert drawn is not None
    return drawn.astype(np.uint8).reshape(shape)


def padded(recipe: Recipe, memory: Codes, transposed: bool) -> Codes:
    """Return a matrix with zeros up to whole blocks. Raises: ShapeError when the tail rule is `error` and the length does not fit."""
    height, width = memory.T.shape if transposed else memory.shape
    full = padded_size(recipe, height, width)
    missing = [(0, full[0] - height), (0, full[1] - width)]
    return memory if full == (height, width) else np.pad(memory, missing[::-1] if transposed else missing)


def _tensor_amax(recipe: Recipe, program: Program, codes: Codes, source: Format, given: int | None, form: int) -> int:
    """Return the tensor maximum, given or taken, 0 where nothing reads it. Raises: OperandError, OpenError (outside the domain)."""
    domain, reads = recipe.facts.domain, program.reads("tensor_amax")
    if given is not None and not reads:
        raise OperandError("this recipe reads no tensor_amax: leave it out")
    if given is not None and given >> 31 and given & 0x7FFFFFFF <= INFINITY:
        raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
    found = amax_bits(codes, source, form) if domain.non_finite == "no" or (reads and given is None) else 0
    if domain.non_finite == "no" and found >= INFINITY:
        raise open_error(recipe)
    amax = found if given is None else given
    if domain.tensor_amax_min is not None and reads and 0 < amax < int(domain.tensor_amax_min, 16):
        raise open_error(recipe)
    return amax if reads else 0


def open_error(recipe: Recipe) -> OpenError:
    """Return the error for results that nobody knows."""
    return OpenError(
        f"quantize/{recipe.id}: this input has results that the sources leave open (NaN, Inf or a tensor maximum outside its domain)"
    )
