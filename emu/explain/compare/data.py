"""Rows of a dot product from data: real or generated tensors, quantized row by row, and paired."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import OperandError, ShapeError
from emu.contracts.dot.rows import DotRow
from emu.engines.exact.encode import code_of_one
from emu.files.tensors import open_tensors
from emu.ops import functions as api
from emu.spec import derive, get, names
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import same_facts
from emu.spec.levels import LevelsPlan
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.block import OneElement
from emu.spec.models.recipe import Domain
from emu.spec.programs.lowering import lacking
from emu.spec.programs.program import quantize_program

Kind = Literal["gaussian", "outlier"]
UNIFORMS: Final = 12
OUTLIER_EVERY, OUTLIER_TIMES = 64, 32


def generated(kind: Kind, rows: int, k: int, key: int, name: str) -> NDArray[np.float32]:
    """Return [rows, k] generated numbers: nearly normal (sums of twelve uniform words), the same on every machine.

    outlier: about one in 64 elements is 32 times larger.   key, name: of the Philox stream.
    """
    words = philox.words(key, rows * k * UNIFORMS, 0, philox.stream_of(f"{kind}/{name}")).reshape(rows, k, UNIFORMS)
    sums = (words >> np.uint32(16)).sum(axis=2, dtype=np.int64) - UNIFORMS * 32768
    out: NDArray[np.float32] = sums.astype(np.float32) / np.float32(65536)
    if kind == "outlier":
        out *= np.where(words[:, :, 0] % np.uint32(OUTLIER_EVERY) == 0, np.float32(OUTLIER_TIMES), np.float32(1))
    return out


def read_matrix(path: str | Path, tensor: str | None = None) -> tuple[NDArray[Any], str]:
    """Return a floating-point matrix of a .npy, .npz or .safetensors file and its name; None: the first one there.

    Raises: FileError, OperandError (no such tensor, or none with two axes).
    """
    with open_tensors(path) as file:
        fits = [info.name for info in file.tensors if len(info.shape) == 2 and info.dtype in ("float32", "float16", "bfloat16", "float64")]
        if tensor is None and not fits:
            raise OperandError(f"{path}: holds no matrix of floats")
        chosen = fits[0] if tensor is None else tensor
        if chosen not in fits:
            raise OperandError(f"{path}: tensor {chosen!r} is no matrix of floats; there are {', '.join(fits[:5]) or 'none'}")
        return np.array(file.read(chosen)).astype(np.float32), chosen or Path(path).stem


def recipe_for(plan: DatapathPlan | LevelsPlan, fmt: Format) -> Recipe | None:
    """Return the recipe that makes a datapath's operand: elements, scales and blocks; None without one.

    Of several one that answers for every tensor, in every engine, and of those the one with the shortest id.
    """
    found = []
    for name in names("recipe"):
        recipe: Recipe = get("recipe", name)
        block: Block = get("block", recipe.facts.block)
        fine = [level for level in block.facts.levels if level.granularity != "tensor"]
        if len(fine) == 1 and _makes(block, fine[0].format, plan, fmt) and not quantize_program(recipe).reads("random"):
            found.append(recipe)

    def rank(recipe: Recipe) -> tuple[bool, bool, int, str]:
        return recipe.facts.domain != Domain(), lacking(quantize_program(recipe), "native") is not None, len(recipe.id), recipe.id

    return min(found, key=rank, default=None)


def _makes(block: Block, scale: str | None, plan: DatapathPlan | LevelsPlan, fmt: Format) -> bool:
    """Tell whether elements, scales and length of a block are those of a datapath's operand; the facts of formats decide."""
    elements = block.facts.shape == (1, plan.block) and isinstance(block.facts.element, OneElement)
    if not elements or plan.scale is None or scale is None:
        return False
    return same_facts(get("format", block.element_formats[0]), fmt) and same_facts(get("format", scale), plan.scale)


def operand(
    x: NDArray[Any], plan: DatapathPlan | LevelsPlan, fmt: Format, recipe: str | Recipe | None = None
) -> tuple[NDArray[Any], NDArray[Any] | None, str]:
    """Return element codes [R, K], scale codes [R, K / block] or None, and how they were made.

    recipe: id or model; None: the one recipe_for finds, else the nearest codes, scales of 1.
    Raises: OperandError (a recipe for other operands), and what emu.quantize raises.
    """
    chosen: Recipe | None = recipe_for(plan, fmt) if recipe is None else get("recipe", recipe)
    if chosen is not None:
        found = api.quantize(x, chosen)
        block, scales = found.block, found.scales
        scale = next((level.format for level in found.levels if level.granularity != "tensor"), None)
        if not _makes(block, scale, plan, fmt):
            made = f"{block.element_formats[0]} under {scale} per {block.facts.shape[1]}"
            raise OperandError(f"recipe {chosen.id} makes {made}: not the operands of {plan.name}")
        return found.codes, scales, chosen.id
    ones = None if plan.scale is None else np.full((len(x), x.shape[1] // plan.block), code_of_one(plan.scale), np.uint32)
    return _nearest(x, fmt), ones, f"nearest {fmt.id}"


def _nearest(x: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Return the codes nearest to x, whose largest magnitude becomes half of the format's (at most 4)."""
    codes = np.arange(1 << derive.codes(fmt).bits, dtype=np.uint32)
    values = api.decode(codes, fmt, np.float64)
    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    sorted_values = values[order]
    largest = float(np.abs(x).max()) or 1.0
    scaled = x.astype(np.float64) * (min(float(sorted_values[-1]) / 2, 4.0) / largest)
    right = np.searchsorted(sorted_values, scaled).clip(1, len(order) - 1)
    left = right - 1
    nearer = np.where(scaled - sorted_values[left] <= sorted_values[right] - scaled, left, right)
    found: NDArray[Any] = codes[order][nearer]
    return found


def data_rows(
    a: NDArray[Any], b: NDArray[Any], plan: DatapathPlan | LevelsPlan, k: int, recipe: str | Recipe | None = None
) -> tuple[list[DotRow], str]:
    """Return rows that pair row i of A with row i of B, C = 0, and how the codes were made.

    a, b: floats [R, K]; K is cut to a multiple of k, the length that both datapaths take.   Raises: ShapeError (K too short).
    """
    width = min(a.shape[1], b.shape[1]) // k * k
    if not width:
        raise ShapeError(f"rows of {min(a.shape[1], b.shape[1])} elements are shorter than the {k} that {plan.datapath.id} takes at once")
    count = min(len(a), len(b))
    first, scale_a, how = operand(np.ascontiguousarray(a[:count, :width]), plan, plan.a, recipe)
    second, scale_b, other = operand(np.ascontiguousarray(b[:count, :width]), plan, plan.b, recipe)

    def codes(array: NDArray[Any] | None, i: int) -> tuple[int, ...]:
        return () if array is None else tuple(int(code) for code in array[i])

    rows = [DotRow(codes(first, i), codes(second, i), codes(scale_a, i), codes(scale_b, i), 0) for i in range(count)]
    return rows, how if how == other else f"{how} and {other}"
