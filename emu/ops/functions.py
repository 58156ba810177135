"""The public functions: names in, arrays in, arrays out. What they compute is in the engines; which one does it, in emu.engines.

Each takes NumPy arrays and tensors of torch: where its first argument is a tensor, arrays come back as tensors on the same device.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import Rows, axis_back, axis_last, pack_nibbles, unpack_nibbles
from emu.arrays.values import Codes, float_dtype, format_of_dtype, plain_array, to_codes, whole_number
from emu.base.errors import OperandError, ShapeError
from emu.engines.parts import thread_count
from emu.engines.run import run_amax, run_convert, run_decode, run_quantize, run_transform
from emu.ops.interop import takes_tensors
from emu.ops.quantized import Quantized, make_quantized
from emu.spec import derive, get
from emu.spec.ieee import binary_format, same_facts
from emu.spec.models import Block, Format, Policy, Recipe, Rounding, Transform


@takes_tensors
def decode(codes: Any, format: str | Format, dtype: Any = np.float32) -> NDArray[Any]:
    """Decode codes to values, exactly.

    codes: integers of any width, none negative, any shape; or an array or tensor whose dtype is the format itself, such as float8.
    format: id or model.   dtype: float16, bfloat16, float32 or float64, of NumPy or torch; it must hold every value.
    NaN codes give NaN, -0 stays -0.   Returns: array of dtype, shape of codes.
    Raises: OperandError (no integers, negative, too wide; a dtype that cannot hold a value exactly), OpenError (an unused high bit set).
    Source: the format's sources.   Tests: tests/ops/test_api_functions.py.
    """
    array, fmt = to_codes(_plain_codes(codes) if isinstance(codes, int | list | tuple) else codes, format, "format")
    result = format_of_dtype(dtype)
    if same_facts(fmt, result):
        return array.astype(np.dtype(f"u{float_dtype(result).itemsize}")).view(float_dtype(result))
    if derive.codes(fmt).bits > 16 or binary_format(fmt) in ("bfloat16", "binary16"):
        return _decode_wide(array, fmt, result)
    return run_decode(array, fmt, result).view(float_dtype(result))


def _plain_codes(codes: Any) -> Codes:
    """Return Python integers as an array; without elements, one of bytes. Raises: OperandError (lists of different lengths)."""
    array = plain_array(codes, "codes")
    return array if array.size else array.astype(np.uint8)


def _decode_wide(array: Codes, fmt: Format, result: Format) -> NDArray[Any]:
    from emu.engines.numpy.convert import to_fp64

    values = to_fp64(array, fmt)
    with np.errstate(all="ignore"):
        narrow = values.astype(float_dtype(result))
    if not bool(((narrow.astype(np.float64) == values) | np.isnan(values)).all()):
        raise OperandError(f"dtype {float_dtype(result).name} does not hold every {fmt.id} value here: decode to a wider one")
    return narrow


@takes_tensors
def convert(
    x: Any,
    to: str | Format,
    rounding: str | Rounding = "rne",
    policy: str | Policy = "nvidia",
    source: str | Format | None = None,
    random: Any = None,
    engine: str = "auto",
    jobs: int = 1,
) -> Codes:
    """Convert values to codes of a format: decode, round, overflow, encode under a policy.

    x: array of float16/32/64 or an ml_dtypes dtype, a float tensor, or integer codes with `source`.   to: destination format.
    random: unsigned integers for a rounding that draws: one per element in row-major order (or one word per `lanes` elements).
    jobs: threads, 1 to 256; same bits.
    NaN, Inf, -0, overflow: as the policy says.   Returns: unsigned codes, shape of x, uint8 for formats of at most 8 bits.
    Exactness: equals emu.engines.exact.convert bit for bit, for every engine.
    Raises: SpecError (unknown name, no entry for the format), OpenError, OperandError (dtype, random), EngineError.
    Source: sources of policy and rounding.   Tests: tests/engines/numpy/test_numpy_convert.py.
    """
    codes, fmt_in = to_codes(x, source)
    drawn = None if random is None else plain_array(random, "random")
    facts = get("format", to), get("rounding", rounding), get("policy", policy)
    return run_convert(codes, fmt_in, *facts, drawn, engine, thread_count(jobs))


@takes_tensors
def amax(x: Any, source: str | Format | None = None) -> np.float32:
    """Return the largest magnitude of an array as binary32; any NaN gives NaN.

    x: float array or tensor, or integer codes with `source`; binary64 values must be binary32 numbers.
    Returns: one float32; a tensor of no axes for a tensor.   Raises: OperandError (dtype), ShapeError (empty).
    Source: IEEE 754-2019, 9.6 (maximumMagnitude, NaN propagated).   Tests: tests/ops/test_api_functions.py.
    """
    codes, fmt = to_codes(x, source)
    if codes.size == 0:
        raise ShapeError("an empty array has no maximum")
    return np.float32(np.array(run_amax(codes, fmt), np.uint32).view(np.float32))


@takes_tensors
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
    jobs: int = 1,
) -> Quantized:
    """Quantize an array to codes and levels under one recipe.

    x: array [..., n, ...] of float16/32/64 or an ml_dtypes dtype, a float tensor, or integer codes with `source`.
    axis: the blocked one.   row_axis: the other side of a 2-D tile.
    tensor_amax: binary32 value of the tensor maximum; None: taken from x.
    random: unsigned integers, one per logical row-major element of x, for recipes that draw.   signs: for a transform that takes them.
    jobs: threads, 1 to 256; same bits.
    Returns: Quantized, frozen, arrays read-only; of tensors for a tensor.
    NaN, Inf: as the recipe's steps say; what it leaves open raises OpenError.
    Exactness: equals emu.engines.exact.block.quantize bit for bit, for every engine. Needs: default rounding mode, subnormals not flushed.
    Raises: SpecError, OpenError, ShapeError (length against the tail rule), OperandError, EngineError.
    Source: the recipe's sources.   Tests: tests/engines/numpy/test_numpy_block.py.
    """
    task = quantize_task(x, recipe, axis, row_axis, source, tensor_amax, random, signs)
    found, levels = run_quantize(task.recipe, task.rows.matrix, task.source, engine=engine, jobs=thread_count(jobs), **task.operands)
    return task.made(found, levels)


class QuantizeTask(NamedTuple):
    """What `quantize` was given, as engines take it. source: format of the matrix.   operands: those of emu.engines.run."""

    recipe: Recipe
    rows: Rows
    source: Format
    operands: dict[str, Any]

    def made(self, codes: Codes, levels: dict[str, Codes]) -> Quantized:
        """Return what an engine gave for the whole matrix in the caller's axis order."""
        rows, block = self.rows, get("block", self.recipe.facts.block)
        return make_quantized(rows.restore(codes), rows.restore_levels(levels, block), self.recipe, rows.shape, rows.axis, rows.row_axis)


def quantize_task(
    x: Any, recipe: str | Recipe, axis: int, row_axis: int, source: str | Format | None, tensor_amax: Any, random: Any, signs: int | None
) -> QuantizeTask:
    """Return the arguments of `quantize`, checked and turned to rows. Raises: as quantize."""
    chosen: Recipe = get("recipe", recipe)
    codes, fmt = to_codes(x, source)
    if codes.size == 0:
        raise ShapeError("an empty array has nothing to quantize")
    rows = Rows.of(codes, axis, row_axis)
    _check_tiles(rows, get("block", chosen.facts.block), chosen)
    operands: dict[str, Any] = {"tensor_amax": _amax_operand(tensor_amax), "signs": _signs_operand(signs, chosen)}
    if random is not None:
        operands["random"] = _random_rows(plain_array(random, "random"), rows)
    return QuantizeTask(chosen, rows, fmt, operands)


def _check_tiles(rows: Rows, block: Block, recipe: Recipe) -> None:
    """A tile of several rows must not reach from one matrix of a stack into the next."""
    tile, height = block.facts.shape[0], rows.height
    if height % tile and math.prod(rows.lead) > 1:
        raise ShapeError(f"{recipe.id}: {height} rows of a stack are no multiple of the tile of {tile}: quantize each matrix by itself")


def _signs_operand(signs: Any, recipe: Recipe) -> int | None:
    if signs is not None and not recipe.transforms:
        raise OperandError(f"recipe {recipe.id} rotates nothing: leave signs out")
    return None if signs is None else whole_number(signs, "signs")


def _amax_operand(tensor_amax: Any) -> int | None:
    if tensor_amax is None:
        return None
    given = np.asarray(tensor_amax)
    if given.size != 1 or (given.dtype.kind not in "fiu" and given.dtype.name != "bfloat16"):
        raise OperandError("tensor_amax must be one binary32 number")
    with np.errstate(all="ignore"):
        value = given.reshape(()).astype(np.float64)
        narrow = value.astype(np.float32)
    changed = given.dtype.kind in "iu" and int(value) != int(given.reshape(()))
    if changed or (not np.isnan(value) and narrow.astype(np.float64) != value):
        raise OperandError(f"tensor_amax {value!s} is no binary32 number: round it first, the recipe does not say how")
    return int(narrow.view(np.uint32))


def _random_rows(random: Any, rows: Rows) -> Any:
    """Return random integers in the orientation of the rows; the index of an element is its row-major place in x."""
    if random.size == math.prod(rows.shape):
        return rows.like(random.reshape(rows.shape))
    if not rows.in_memory_order:
        raise OperandError("random words shared between elements need the blocked axis to be the last one, row_axis the one before")
    return random.reshape(1, -1)


@takes_tensors
def dequantize(q: Quantized, dtype: Any = np.float32, profile: str | None = None, engine: str = "auto", jobs: int = 1) -> NDArray[Any]:
    """Return the values that a quantized tensor means, in the shape of what was quantized; the same as q.dequantize().

    q: what quantize returned, or Quantized.load read.   dtype: float16, bfloat16, float32 or float64, of NumPy or torch.
    profile: order of the operations, by the name the recipe gives it; None: the recipe's first.   jobs: threads; same bits.
    Each step is rounded as the recipe says, then once to dtype, nearest even; a NaN scale gives NaN. A recipe with a transform gives
    values of the rotated tensor.   Returns: array of dtype, or a tensor for a Quantized of tensors.
    Raises: OperandError (no Quantized, dtype, codes that are none), ShapeError (codes and levels that do not fit one another), OpenError,
    SpecError (profile), EngineError.   Source: the recipe's sources.   Tests: tests/ops/test_api_quantize.py.
    """
    if not isinstance(q, Quantized):
        raise OperandError(f"dequantize takes a Quantized (emu.quantize makes one), not {type(q).__name__}: emu.decode takes plain codes")
    return q.dequantize(dtype, profile, engine, jobs)


@takes_tensors
def pack(codes: Any, axis: int = -1) -> Codes:
    """Pack codes of 4 bits two per byte along one axis, the even element in the low half; an odd length leaves the last high half 0.

    codes: integers 0 to 15, any shape of at least one axis.   Returns: uint8, the axis half as long, rounded up.
    Raises: OperandError (no integers, more than 4 bits), ShapeError (no such axis).
    Source: ml_dtypes and torch (float4_e2m1fn_x2) order the halves so.   Tests: tests/ops/test_api_functions.py.
    """
    array, moved = _nibble_axis(codes, "codes", 15, axis)
    return axis_back(pack_nibbles(axis_last(array, moved)), moved)


@takes_tensors
def unpack(packed: Any, length: int | None = None, axis: int = -1) -> Codes:
    """Unpack bytes that hold two codes of 4 bits each, the low half first: the opposite of pack.

    packed: integers 0 to 255, any shape of at least one axis.   length: of the axis afterwards; None: twice that of packed.
    Returns: uint8 codes.   Raises: OperandError (no bytes, length), ShapeError (no such axis).
    Source: as pack.   Tests: tests/ops/test_api_functions.py.
    """
    array, moved = _nibble_axis(packed, "packed", 255, axis)
    most = 2 * array.shape[moved]
    wanted = most if length is None else whole_number(length, "length")
    if wanted not in (most, most - 1) or wanted < 0:
        raise OperandError(f"length {wanted} does not fit {array.shape[moved]} bytes along axis {axis}: {most} or one less")
    return axis_back(unpack_nibbles(axis_last(array, moved), wanted), moved)


def _nibble_axis(given: Any, name: str, largest: int, axis: int) -> tuple[Codes, int]:
    """Return integers up to a limit as bytes, and the axis counted from the first. Raises: OperandError, ShapeError."""
    array = plain_array(given, name)
    if array.dtype.kind not in "iu" or (array.size and (int(array.min()) < 0 or int(array.max()) > largest)):
        raise OperandError(f"{name} must be integers from 0 to {largest}")
    number = whole_number(axis, "axis")
    if not -array.ndim <= number < array.ndim:
        raise ShapeError(f"{name} has {array.ndim} axes: axis {number} is none of them")
    return array.astype(np.uint8, copy=False), number % array.ndim


@takes_tensors
def transform(
    x: Any, transform: str | Transform, axis: int = -1, signs: int | None = None, source: str | Format | None = None, engine: str = "auto"
) -> NDArray[Any]:
    """Rotate groups of elements: the randomized Hadamard transform with a stated order of additions.

    x: float array or tensor, or integer codes with `source`; the axis must be a multiple of the rotation's size.
    signs: bit i negates element i of each group, for a transform that takes them; None: the transform's own.
    Returns: values of the result format as an array of its dtype, shape of x.
    Exactness: equals emu.engines.exact.transform bit for bit, for every engine.
    Raises: ShapeError, OperandError, EngineError.   Source: the transform's sources.   Tests: tests/engines/numpy/test_numpy_transform.py.
    """
    chosen: Transform = get("transform", transform)
    codes, fmt = to_codes(x, source)
    axis, signs = whole_number(axis, "axis"), None if signs is None else whole_number(signs, "signs")
    if not -codes.ndim <= axis < codes.ndim or codes.shape[axis] % chosen.facts.size:
        raise ShapeError(f"transform {chosen.id} rotates {chosen.facts.size} elements: axis {axis} must be a multiple of it")
    rows = Rows.of(codes, axis)
    found = run_transform(np.ascontiguousarray(rows.matrix), fmt, chosen, signs, engine)
    return rows.restore(found).view(float_dtype(get("format", chosen.facts.result)))
