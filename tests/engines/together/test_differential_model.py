"""The real weights: tensors of a trained model by recipes of every kind, the NumPy engine against the others, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from emu.engines.table import TABLE
from emu.spec.models import Block, Format, Recipe
from emu.spec.registry import get, names

FAMILIES = ("nvfp4_te_ref", "mxfp4_torchao_floor", "hif4", "nvufp4", "nvfp4_te_2d_ref", "if4_mse", "nvfp4_f46_mae", "e1m2_fp32scale")
QUERY, DENSE = "encoder.layer.0.attention.self.query.weight", "encoder.layer.2.intermediate.dense.weight"
WHOLE = ("nvfp4_te_ref", "nvfp4_torchao", "mxfp4_te_pow2", "nvufp4")
FAST = [
    name
    for name in names("recipe")
    if any(row.can(get("recipe", name), get("format", "fp32")) for row in TABLE if row[:2] == ("quantize", "numpy"))
]


def matrices(model_file: Path, part: str = "") -> dict[str, Any]:
    """The tensors whose name holds `part`, as matrices of fp32 codes; one-dimensional ones are one row."""
    with safe_open(model_file, framework="numpy") as file:
        found = {name: np.atleast_2d(file.get_tensor(name)) for name in file.keys() if part in name}  # noqa: SIM118
    return {name: weights.astype(np.float32).view(np.uint32) for name, weights in found.items() if weights.size}


def there_and_back(judge: Any, recipe: Recipe, codes: Any, fp32: Format) -> int:
    """Quantize by every engine and dequantize by every engine; how many elements, 0 where the shape is refused by all."""
    random = {"random": np.arange(codes.size, dtype=np.uint64).reshape(codes.shape) % 251} if recipe.id == "ufp4_sr" else {}
    done = judge.quantize(recipe, codes, fp32, **random)
    if not done.gave_bits:
        return 0
    assert len(done.engines) > 1
    levels = dict(done.wanted)
    judge.dequantize(recipe, levels.pop("codes"), levels, None, fp32)
    return int(codes.size)


@pytest.mark.parametrize("name", FAST)
def test_a_layer_by_every_recipe(quick_judge: Any, model_file: Path, fp32: Format, name: str) -> None:
    recipe = get("recipe", name)
    block: Block = get("block", recipe.facts.block)
    weights = matrices(model_file, QUERY)[QUERY]
    rows = -(-16 // block.facts.shape[0]) * block.facts.shape[0]
    assert there_and_back(quick_judge, recipe, np.ascontiguousarray(weights[:rows]), fp32) == rows * 384


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", WHOLE)
def test_every_tensor(quick_judge: Any, model_file: Path, fp32: Format, name: str) -> None:
    """Tensors whose length a recipe refuses are refused by every engine."""
    recipe = get("recipe", name)
    assert sum(there_and_back(quick_judge, recipe, codes, fp32) for codes in matrices(model_file).values()) > 20_000_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAMILIES)
def test_the_weights_of_one_layer(quick_judge: Any, model_file: Path, fp32: Format, name: str) -> None:
    recipe = get("recipe", name)
    layer = {key: codes for key, codes in matrices(model_file, "layer.3.").items() if codes.shape[0] > 1}
    assert len(layer) == 6
    assert sum(there_and_back(quick_judge, recipe, codes, fp32) for codes in layer.values()) > 1_500_000


@pytest.mark.parametrize("name", sorted(set(FAMILIES) & set(FAST)))
def test_a_few_rows_by_the_reference_model(judge: Any, model_file: Path, fp32: Format, name: str) -> None:
    recipe = get("recipe", name)
    rows, lanes = get("block", recipe.facts.block).facts.shape
    weights = matrices(model_file, DENSE)[DENSE]
    assert there_and_back(judge, recipe, np.ascontiguousarray(weights[:rows, : 4 * lanes]), fp32) == rows * 4 * lanes
