"""How values are read back: a weight by its library's rule, and a file of dequantized weights against every rule that the spec knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import float_dtype, format_of_dtype
from emu.base.errors import EmuError, FileError, OpenError
from emu.checkpoint.compare import IDENTIFIED, Original
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.layout import stated_orders
from emu.checkpoint.passive import SEPARATED, UNSEEN, Finding
from emu.checkpoint.read import StoredRows, StoredTensor, open_tensor, spread, told
from emu.checkpoint.scan import nan_places
from emu.checkpoint.store import matches
from emu.ops.functions import convert, decode
from emu.ops.quantized import make_quantized
from emu.spec import get, names
from emu.spec.models import Block, Recipe

PRODUCTS: Final = ("fp32", "bf16", "result")  # types in which a library may multiply code and scale
ORDER = (IDENTIFIED, SEPARATED, UNSEEN)


def read_weight(
    source: str | Path, name: str, dtype: Any = np.float32, packing: str | None = None, scale_layout: str | None = None
) -> NDArray[Any]:
    """Return a quantized weight of a checkpoint as its own library reads it back, each rounding where the library has it.

    source: a .safetensors or .gguf file, a folder of them, or an index.   name: of the weight in a file that is not quantized.
    dtype: float16, bfloat16 or float32: what the library is asked for.
    packing, scale_layout: order of nibbles and of scales, where neither the file nor its bytes say it (low_nibble_first, sf128x4, ...).
    Returns: array of dtype, shape of the weight; sign and fraction of a NaN are emu's, not the library's.
    Raises: FileError (not a checkpoint, no such weight, shapes that contradict one another, an order that nothing tells),
    OperandError (an order that no store has), OpenError (the library's rule is not known).
    Source: product or dequantize of the store, in spec/checkpoint.   Tests: tests/checkpoint/test_checkpoint_fp8.py.
    """
    fmt = format_of_dtype(dtype).id
    container = open_checkpoint(source)
    fitting = next((some for some in matches(container) if some[0].weight == name), None)
    if fitting is None:
        raise FileError(f"{container.path}: holds no quantized weight {name}: emu identify --quantized lists them")
    stated = stated_orders(packing, scale_layout)
    tensor = told(container, name, open_tensor(container, fitting, stated), stated)
    facts = tensor.store.facts
    if facts.product is None and not facts.dequantize:
        raise OpenError(f"checkpoint/{tensor.store.id}: in which steps its library reads values back is not known")
    if facts.product is not None:
        way = partial(multiplied, tensor, facts.product, fmt)
    else:
        way = partial(_values, tensor, get("recipe", facts.dequantize[0].recipe), facts.dequantize[0].profile, fmt)
    return np.concatenate([way(rows) for rows in tensor.chunks()]).view(float_dtype(get("format", fmt))).reshape(tensor.shape)


def multiplied(tensor: StoredTensor, product: str, fmt: str, rows: StoredRows) -> NDArray[Any]:
    """Return some rows as a library reads them that multiplies code and scale in one type: raw codes of fmt. [r, n].

    product: id of that type; result: fmt itself. Code and scale are rounded to it, their product is, and then to fmt, each to nearest even.
    """
    within = fmt if product == "result" else product
    scales = decode(convert(rows.scales, within, policy="ieee", source=tensor.scale_format), within).astype(np.float64)
    codes = decode(rows.codes, tensor.block.element_formats[0]).astype(np.float64)
    exact = codes * spread(scales, tensor.grid.wide, codes.shape[1])  # 4 bits by 24: exact in binary64, also where binary32 has none
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = exact.astype(np.float32).view(np.uint32) if within == "fp32" else convert(exact, within, policy="ieee")
    return rounded if within == fmt else convert(rounded, fmt, policy="ieee", source=within)


def profile_findings(tensor: StoredTensor, values: Original) -> list[Finding]:
    """Return a finding for each dequantize profile of the store's blocks, equal programs named together; for each type of a product.

    values: the dequantized weight. Codes, scales and tensor factor are taken from the quantized file.
    """
    ways: dict[str, Callable[[StoredRows], NDArray[Any]]] = {
        label: partial(_values, tensor, recipe, profile, values.format) for recipe, profile, label in _profiles(tensor)
    }
    if tensor.store.facts.product is not None:
        within = dict.fromkeys(values.format if item == "result" else item for item in PRODUCTS)
        ways |= {f"code times scale in {item}": partial(multiplied, tensor, item, values.format) for item in within}
    found = [_finding(tensor, values, way, label) for label, way in ways.items()]
    return sorted(found, key=lambda item: ORDER.index(item.verdict))


def _profiles(tensor: StoredTensor) -> list[tuple[Recipe, str, str]]:
    """Return recipe, profile and label of every different program."""
    seen: dict[str, tuple[Recipe, str, list[str]]] = {}
    for name in names("recipe"):
        recipe: Recipe = get("recipe", name)
        if recipe.facts.block in tensor.store.facts.blocks and tensor.block.is_alone:  # else product says all
            for profile, steps in recipe.facts.dequantize.items():
                key = json.dumps([step.model_dump(mode="json", exclude_none=True) for step in steps])
                seen.setdefault(f"{recipe.facts.block} {key}", (recipe, profile, []))[2].append(f"{recipe.id}/{profile}")
    return [(recipe, profile, labels[0]) for recipe, profile, labels in seen.values()]


def _finding(tensor: StoredTensor, values: Original, way: Callable[[StoredRows], NDArray[Any]], label: str) -> Finding:
    wrong, total, first, fmt = 0, 0, "", get("format", values.format)
    for rows in tensor.chunks():
        try:
            made = way(rows)
        except EmuError as error:
            return Finding(label, UNSEEN, str(error))
        given = values.rows(rows.first, len(rows.codes))
        differs = (made != given) & ~(nan_places(made, fmt) & nan_places(given, fmt))
        if differs.any() and not wrong:
            row, column = np.argwhere(differs)[0].tolist()
            digits = given.dtype.itemsize * 2
            first = f"row {rows.first + row} element {column}: file {given[row, column]:0{digits}X}, profile {made[row, column]:0{digits}X}"
        wrong, total = wrong + int(differs.sum()), total + differs.size
    if wrong:
        return Finding(label, SEPARATED, f"{wrong} of {total} values differ; {first}")
    return Finding(label, IDENTIFIED, f"all {total} values are equal")


def _values(tensor: StoredTensor, recipe: Recipe, profile: str, fmt: str, rows: StoredRows) -> NDArray[Any]:
    """Return the raw codes of values that a profile gives for some rows."""
    block: Block = get("block", recipe.facts.block)
    levels = {}
    for level in block.facts.levels:
        if level.name == block.flag:
            levels[level.name] = rows.flags
        elif level.granularity == "tensor":
            levels[level.name] = np.array(tensor.tensor_bits, np.uint32)
        else:
            levels[level.name] = rows.scales
    found = make_quantized(rows.codes, levels, recipe, rows.codes.shape, -1, -2)
    values = found.dequantize(float_dtype(get("format", fmt)), profile=profile)
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
