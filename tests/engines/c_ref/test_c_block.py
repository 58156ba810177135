"""Whole matrices through the C reference: more columns than one band has, tails in the last band, both shapes of tile."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EmuError
from emu.engines.c_ref.block import dequantize, quantize
from emu.engines.numpy.block import dequantize as numpy_dequantize
from emu.engines.numpy.block import quantize as numpy_quantize
from emu.spec.registry import get

WIDE = {"nvfp4_te_ref": (2, 16400), "mxfp4_torchao_floor": (3, 8224), "nvfp4_te_2d_ref": (32, 1040), "hif4": (2, 8256), "ufp4": (1, 16400)}


def matrix(shape: tuple[int, int]) -> Any:
    """binary32 codes of many magnitudes, each column with one of its own."""
    rng = np.random.default_rng(8192)
    scale = np.exp2(np.arange(shape[1]) % 40 - 20).astype(np.float32)
    return (rng.standard_normal(shape, np.float32) * scale).view(np.uint32)


def band_elements(checkout: Path) -> int:
    """Elements of a band, as program.c says."""
    found = re.search(r"EMU_BAND_ELEMENTS = ([0-9]+)", (checkout / "c_ref" / "src" / "program" / "program.c").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("name", WIDE)
def test_several_bands_are_one_matrix(checkout: Path, name: str) -> None:
    recipe, shape, fp32 = get("recipe", name), WIDE[name], get("format", "fp32")
    rows, _ = get("block", recipe.facts.block).facts.shape
    assert shape[1] * rows > band_elements(checkout)
    x = matrix(shape)
    found, wanted = quantize(recipe, x, fp32), numpy_quantize(recipe, x, fp32)
    assert np.array_equal(found.codes, wanted.codes)
    assert found.levels.keys() == wanted.levels.keys()
    for level, codes in found.levels.items():
        assert np.array_equal(codes, wanted.levels[level]), level
    for profile in recipe.facts.dequantize:
        values = dequantize(recipe, found.codes, found.levels, profile=profile)
        assert np.array_equal(values, numpy_dequantize(recipe, wanted.codes, wanted.levels, profile=profile)), profile


@pytest.mark.parametrize("name", ["nvfp4_torchao", "nvfp4_modelopt", "nvfp4_te_cuda"])
@pytest.mark.parametrize("tail", ["zero_pad_keep", "zero_pad_drop"])
def test_a_tail_ends_in_the_last_band(checkout: Path, name: str, tail: str) -> None:
    recipe = get("recipe", name)
    recipe = recipe.model_copy(update={"facts": recipe.facts.model_copy(update={"tail": tail})})
    x, fp32 = matrix((1, 2 * band_elements(checkout) + 5)), get("format", "fp32")
    found, wanted = quantize(recipe, x, fp32), numpy_quantize(recipe, x, fp32)
    assert found.codes.shape == (1, x.shape[1] + (11 if tail == "zero_pad_keep" else 0))
    assert np.array_equal(found.codes, wanted.codes)
    assert all(np.array_equal(found.levels[level], wanted.levels[level]) for level in wanted.levels)


@pytest.mark.parametrize(
    ("name", "operands"),
    [("nvfp4_te_ref", {"tensor_amax": 0x80000000}), ("ufp4", {"signs": 1 << 16}), ("mxfp4_torchao_floor", {"tensor_amax": 1})],
)
def test_unfit_operands_are_refused(name: str, operands: dict[str, int]) -> None:
    with pytest.raises(EmuError):
        quantize(get("recipe", name), matrix((1, 32)), get("format", "fp32"), **operands)


def test_unwanted_random_and_unfit_levels_are_refused() -> None:
    recipe, x, fp32 = get("recipe", "nvfp4_te_ref"), matrix((1, 32)), get("format", "fp32")
    with pytest.raises(EmuError, match="leave random out"):
        quantize(recipe, x, fp32, random=x)
    good = quantize(recipe, x, fp32)
    with pytest.raises(EmuError, match="missing"):
        dequantize(recipe, good.codes, {"tensor": good.levels["tensor"]})
    with pytest.raises(EmuError, match="do not fit"):
        dequantize(recipe, good.codes, {**good.levels, "scale": good.levels["scale"][:, :1]})
