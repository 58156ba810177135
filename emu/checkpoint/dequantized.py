"""How values were read back: a file of dequantized weights against every order of operations that the spec knows for the block."""

from __future__ import annotations

import json

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.errors import EmuError
from emu.checkpoint.compare import IDENTIFIED, Original
from emu.checkpoint.passive import SEPARATED, UNSEEN, Finding
from emu.checkpoint.read import StoredRows, StoredTensor
from emu.ops.quantized import make_quantized
from emu.spec import get, names
from emu.spec.models import Block, Recipe

ORDER = (IDENTIFIED, SEPARATED, UNSEEN)


def profile_findings(tensor: StoredTensor, values: Original) -> list[Finding]:
    """Return a finding for each dequantize profile of the store's blocks; equal programs are named together.

    values: the dequantized weight. Codes, scales and tensor factor are taken from the quantized file.
    """
    found = [_finding(tensor, values, recipe, profile, label) for recipe, profile, label in _profiles(tensor)]
    return sorted(found, key=lambda item: ORDER.index(item.verdict))


def _profiles(tensor: StoredTensor) -> list[tuple[Recipe, str, str]]:
    """Return recipe, profile and label of every different program."""
    seen: dict[str, tuple[Recipe, str, list[str]]] = {}
    for name in names("recipe"):
        recipe: Recipe = get("recipe", name)
        if recipe.facts.block in tensor.store.facts.blocks:
            for profile, steps in recipe.facts.dequantize.items():
                key = json.dumps([step.model_dump(mode="json", exclude_none=True) for step in steps])
                seen.setdefault(f"{recipe.facts.block} {key}", (recipe, profile, []))[2].append(f"{recipe.id}/{profile}")
    return [(recipe, profile, labels[0]) for recipe, profile, labels in seen.values()]


def _finding(tensor: StoredTensor, values: Original, recipe: Recipe, profile: str, label: str) -> Finding:
    wrong, total, first = 0, 0, ""
    for rows in tensor.chunks():
        try:
            made = _values(tensor, rows, recipe, profile, values.format)
        except EmuError as error:
            return Finding(label, UNSEEN, str(error))
        given = values.rows(rows.first, len(rows.codes))
        differs = made != given
        if differs.any() and not wrong:
            row, column = np.argwhere(differs)[0].tolist()
            digits = given.dtype.itemsize * 2
            first = f"row {rows.first + row} element {column}: file {given[row, column]:0{digits}X}, profile {made[row, column]:0{digits}X}"
        wrong, total = wrong + int(differs.sum()), total + differs.size
    if wrong:
        return Finding(label, SEPARATED, f"{wrong} of {total} values differ; {first}")
    return Finding(label, IDENTIFIED, f"all {total} values are equal")


def _values(tensor: StoredTensor, rows: StoredRows, recipe: Recipe, profile: str, fmt: str) -> np.ndarray:
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
