"""Which tensors a recipe takes, and why the others are left out; which tensors of a model its deployments keep as they are."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable
from typing import Final

from emu.arrays.rows import default_row_axis
from emu.files.tensors import TensorInfo
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe

_FLOATS = ("float32", "float16", "bfloat16")
# What deployments of 4-bit models keep: ModelOpt and compressed-tensors quantize linear layers alone, without output head and routers.
_KEPT: Final = (
    ("an embedding", ("*embed*", "*wte.weight", "*wpe.weight")),
    ("a norm", ("*norm*", "*.ln_*", "ln_*")),
    ("an output head", ("*lm_head*", "*output_layer*", "*proj_out*", "*classifier*", "output.weight", "score.weight")),
    ("a router of experts", ("*router*", "*.gate.weight", "*shared_expert_gate*")),
)


def is_model(names: Iterable[str]) -> bool:
    """Tell whether tensors of these names are a model's: one of them ends in .weight."""
    return any(name.endswith(".weight") for name in names)


def kept_reason(info: TensorInfo) -> str | None:
    """Return why a deployment of a model keeps a tensor as it is, or None. Its name and shape decide: see _KEPT, and vectors.

    Tests: tests/files/test_files_take.py.
    """
    name = info.name.lower()
    kind = next((kind for kind, globs in _KEPT if any(fnmatch.fnmatchcase(name, glob) for glob in globs)), None)
    if kind is None and len(info.shape) == 1:
        kind = "a vector"
    return None if kind is None else f"{kind}: deployments keep it (--include takes it)"


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
