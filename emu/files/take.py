"""Which tensors a recipe takes, and why the others are left out."""

from __future__ import annotations

import math

from emu.arrays.rows import default_row_axis
from emu.files.tensors import TensorInfo
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe

_FLOATS = ("float32", "float16", "bfloat16")


def skip_reason(info: TensorInfo, recipe: Recipe, axis: int = -1, row_axis: int = -2, source: Format | None = None) -> str | None:
    """Return why a recipe does not take a tensor, or None when it does.

    axis, row_axis: blocked axis and the other side of a tile.   source: format of raw codes, for files of unsigned integers.
    Left out: other dtypes than fp32, fp16, bf16; scalars; empty tensors; a vector whose length is no multiple of the block, under any tail
    rule (biases are not worth a padded block); any length that does not fit under the tail rule `error`; stacks of matrices that end inside
    a tile.
    """
    if not _right_dtype(info.dtype, source):
        wanted = f"unsigned codes of {source.id}" if source else "fp32, fp16 or bf16"
        return f"dtype {info.dtype}: not {wanted}"
    if not info.shape:
        return "a scalar has no axis"
    if 0 in info.shape:
        return "no elements"
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    ndim = len(info.shape)
    if not -ndim <= axis < ndim:
        return f"no axis {axis}"
    length = info.shape[axis]
    if ndim == 1:
        if rows > 1:
            return f"one dimension: the recipe takes tiles of {rows}x{columns}"
        return None if length % columns == 0 else f"one dimension of {length}, no multiple of the block of {columns}"
    fits = recipe.facts.tail != "error"
    if length % columns and not fits:
        return f"length {length} is no multiple of the block of {columns} (tail: error)"
    if not -ndim <= row_axis < ndim:
        return f"no axis {row_axis}"
    other = default_row_axis(axis, row_axis, ndim)
    stack = math.prod(info.shape) // (length * info.shape[other])
    if info.shape[other] % rows and (stack > 1 or not fits):
        return f"{info.shape[other]} rows{' of a stack' if stack > 1 else ''} are no multiple of the tile of {rows}"
    return None


def _right_dtype(dtype: str, source: Format | None) -> bool:
    if source is None:
        return dtype in _FLOATS
    width = derive.codes(source).bits + derive.unused_high_bits(source)
    stored = 8 if width <= 8 else 16 if width <= 16 else 32 if width <= 32 else 64
    return dtype in (f"uint{stored}", f"void{stored}")
