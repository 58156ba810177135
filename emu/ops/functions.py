"""The public functions: names in, arrays in, arrays out. What they compute is in the columns; which column does it, in engines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import (
    Codes,
    as_matrix,
    default_row_axis,
    float_dtype,
    format_of_dtype,
    from_matrix,
    plain_array,
    to_codes,
    whole_number,
)
from emu.base.errors import OperandError, ShapeError
from emu.engines.run import run_amax, run_convert, run_decode, run_quantize, run_transform
from emu.ops.quantized import Quantized, level_array, make_quantized
from emu.spec import derive, get
from emu.spec.models import Block, Format, Policy, Recipe, Rounding, Transform


def decode(codes: Any, format: str | Format, dtype: Any = np.float32) -> NDArray[Any]:
    """Decode codes to values, exactly.

    codes: unsigned integers, any shape.   format: id or model.   dtype: float16, bfloat16, float32 or float64; it must hold every value.
    NaN codes give NaN, -0 stays -0.   Returns: array of dtype, shape of codes.
    Raises: OperandError (codes too wide; a dtype that cannot hold a value exactly), OpenError (an unused high bit set).
    Source: the format's sources.   Tests: tests/ops/test_api_functions.py.
    """
    array, fmt = to_codes(_plain_codes(codes) if isinstance(codes, int | list | tuple) else codes, format)
    result = format_of_dtype(dtype)
    if fmt.facts_digest == result.facts_digest:
        return array.astype(np.dtype(f"u{float_dtype(result).itemsize}")).view(float_dtype(result))
    if derive.codes(fmt).bits > 16 or fmt.id in ("bf16", "fp16"):
        return _decode_wide(array, fmt, result)
    spare = derive.unused_high_bits(fmt)
    if spare and array.size and int(array.max()) >> derive.codes(fmt).bits:
        from emu.engines.exact.decode import decode_code

        decode_code(int(array.max()), fmt)
    return run_decode(array, fmt, result).view(float_dtype(result))


def _plain_codes(codes: Any) -> Codes:
    """Return Python integers as an array of codes. Raises: OperandError (negative, too wide, or no integers)."""
    array = np.asarray(codes) if codes != [] else np.zeros(0, np.uint64)
    if array.dtype.kind not in "iu" or (array.size and int(array.min()) < 0):
        raise OperandError("codes must be unsigned integers of at most 64 bits")
    return array.astype(np.uint64)


def _decode_wide(array: Codes, fmt: Format, result: Format) -> NDArray[Any]:
    from emu.engines.numpy.convert import to_fp64

    values = to_fp64(array, fmt)
    with np.errstate(all="ignore"):
        narrow = values.astype(float_dtype(result))
    if not bool(((narrow.astype(np.float64) == values) | np.isnan(values)).all()):
        raise OperandError(f"dtype {float_dtype(result).name} does not hold every {fmt.id} value here: decode to a wider one")
    return narrow


def convert(
    x: Any,
    to: str | Format,
    rounding: str | Rounding = "rne",
    policy: str | Policy = "nvidia",
    source: str | Format | None = None,
    random: Any = None,
    engine: str = "auto",
) -> Codes:
    """Convert values to codes of a format: decode, round, overflow, encode under a policy.

    x: array of float16/32/64 or an ml_dtypes dtype, or unsigned codes with `source`.   to: destination format.
    random: unsigned integers for a rounding that draws: one per element in row-major order (or one word per `lanes` elements).
    NaN, Inf, -0, overflow: as the policy says.   Returns: unsigned codes, shape of x, uint8 for formats of at most 8 bits.
    Exactness: equals emu.engines.exact.convert bit for bit, for every engine.
    Raises: SpecError (unknown name, no entry for the format), OpenError, OperandError (dtype, random), EngineError.
    Source: sources of policy and rounding.   Tests: tests/engines/numpy/test_numpy_convert.py.
    """
    codes, fmt_in = to_codes(x, source)
    drawn = None if random is None else _unsigned(plain_array(random, "random"))
    return run_convert(codes, fmt_in, get("format", to), get("rounding", rounding), get("policy", policy), drawn, engine)


def _unsigned(random: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers that are not negative as unsigned ones, so that every engine takes what one takes."""
    return random.astype(np.uint64) if random.dtype.kind == "i" and random.size and int(random.min()) >= 0 else random


def amax(x: Any, source: str | Format | None = None) -> np.float32:
    """Return the largest magnitude of an array as binary32; any NaN gives NaN.

    x: float array, or unsigned codes with `source`; binary64 values must be binary32 numbers.
    Raises: OperandError (dtype), ShapeError (empty).
    """
    codes, fmt = to_codes(x, source)
    if codes.size == 0:
        raise ShapeError("an empty array has no maximum")
    return np.float32(np.array(run_amax(codes, fmt), np.uint32).view(np.float32))


def quantize(
    x: Any,
    recipe: str | Recipe,
    axis: int = -1,
    row_axis: int = -2,
    source: str | Format | None = None,
    tensor_amax: Any = None,
    random: Any = None,
    signs: int | None = None,
    engine: str = "auto",
) -> Quantized:
    """Quantize an array to codes and levels under one recipe.

    x: array [..., n, ...] of float16/32/64 or an ml_dtypes dtype, or unsigned codes with `source`.   axis: the blocked one.
    row_axis: the other side of a 2-D tile.   tensor_amax: binary32 value of the tensor maximum; None: taken from x.
    random: unsigned integers, one per logical row-major element of x, for recipes that draw.   signs: for a transform that takes them.
    Returns: Quantized, frozen, arrays read-only.   NaN, Inf: as the recipe's steps say; what it leaves open raises OpenError.
    Exactness: equals emu.engines.exact.block.quantize bit for bit, for every engine. Needs: default rounding mode, subnormals not flushed.
    Raises: SpecError, OpenError, ShapeError (length against the tail rule), OperandError, EngineError.
    Source: the recipe's sources.   Tests: tests/engines/numpy/test_numpy_block.py.
    """
    chosen: Recipe = get("recipe", recipe)
    codes, fmt = to_codes(x, source)
    axis = whole_number(axis, "axis")
    row_axis = default_row_axis(axis, whole_number(row_axis, "row_axis"), codes.ndim)
    if codes.size == 0:
        raise ShapeError("an empty array has nothing to quantize")
    matrix, moved = as_matrix(codes, axis, row_axis)
    block: Block = get("block", chosen.facts.block)
    _check_tiles(block, moved, chosen)
    operands: dict[str, Any] = {"tensor_amax": _amax_operand(tensor_amax), "signs": _signs_operand(signs, chosen)}
    if random is not None:
        operands["random"] = _random_matrix(_unsigned(plain_array(random, "random")), codes.shape, axis, row_axis)
    found, levels = run_quantize(chosen, matrix, fmt, engine=engine, **operands)
    ndim = codes.ndim
    arrays = {
        level.name: level_array(levels[level.name], level.granularity, block, moved, axis, row_axis, ndim) for level in block.facts.levels
    }
    return make_quantized(from_matrix(found, moved, axis, row_axis, ndim), arrays, chosen, codes.shape, axis, row_axis)


def _check_tiles(block: Block, moved: tuple[int, ...], recipe: Recipe) -> None:
    """A tile of several rows must not reach from one matrix of a stack into the next."""
    rows = block.facts.shape[0]
    if len(moved) > 2 and moved[-2] % rows and int(np.prod(moved[:-2])) > 1:
        raise ShapeError(f"{recipe.id}: {moved[-2]} rows of a stack are no multiple of the tile of {rows}: quantize each matrix by itself")


def _signs_operand(signs: Any, recipe: Recipe) -> int | None:
    if signs is not None and not any(step.op == "transform" for step in recipe.facts.steps):
        raise OperandError(f"recipe {recipe.id} rotates nothing: leave signs out")
    return None if signs is None else whole_number(signs, "signs")


def _amax_operand(tensor_amax: Any) -> int | None:
    if tensor_amax is None:
        return None
    given = np.asarray(tensor_amax)
    if given.size != 1 or (given.dtype.kind not in "fiu" and given.dtype.name != "bfloat16"):
        raise OperandError("tensor_amax must be one binary32 number")
    value = given.reshape(()).astype(np.float64)
    with np.errstate(all="ignore"):
        narrow = value.astype(np.float32)
    changed = given.dtype.kind in "iu" and int(value) != int(given.reshape(()))
    if changed or (not np.isnan(value) and narrow.astype(np.float64) != value):
        raise OperandError(f"tensor_amax {value!s} is no binary32 number: round it first, the recipe does not say how")
    return int(narrow.view(np.uint32))


def _random_matrix(random: Any, shape: tuple[int, ...], axis: int, row_axis: int) -> Any:
    """Return random integers in the orientation of the matrix; the index of an element is its row-major place in x."""
    if random.size != int(np.prod(shape)):
        if axis % len(shape) != len(shape) - 1 or (len(shape) > 1 and row_axis % len(shape) != len(shape) - 2):
            raise OperandError("random words shared between elements need the blocked axis to be the last one, row_axis the one before")
        return random.reshape(1, -1)
    return as_matrix(random.reshape(shape), axis, row_axis)[0]


def transform(
    x: Any, transform: str | Transform, axis: int = -1, signs: int | None = None, source: str | Format | None = None, engine: str = "auto"
) -> NDArray[Any]:
    """Rotate groups of elements: the randomized Hadamard transform with a stated order of additions.

    x: float array or unsigned codes with `source`; the axis must be a multiple of the rotation's size.
    signs: bit i negates element i of each group, for a transform that takes them; None: the transform's own.
    Returns: values of the result format as an array of its dtype, shape of x.
    Raises: ShapeError, OperandError, EngineError.   Source: the transform's sources.   Tests: tests/engines/numpy/test_numpy_transform.py.
    """
    chosen: Transform = get("transform", transform)
    codes, fmt = to_codes(x, source)
    axis, signs = whole_number(axis, "axis"), None if signs is None else whole_number(signs, "signs")
    if not -codes.ndim <= axis < codes.ndim or codes.shape[axis] % chosen.facts.size:
        raise ShapeError(f"transform {chosen.id} rotates {chosen.facts.size} elements: axis {axis} must be a multiple of it")
    moved = np.moveaxis(codes, axis, -1)
    found = run_transform(np.ascontiguousarray(moved), fmt, chosen, signs, engine)
    return np.moveaxis(found.view(float_dtype(get("format", chosen.facts.result))), -1, axis)
