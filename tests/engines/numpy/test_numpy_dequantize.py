"""emu.engines.numpy.block.dequantize against the exact engine: every profile, every code with every scale, result formats, open codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from emu.base.errors import OpenError, ShapeError
from emu.base.philox import words
from emu.engines.exact import block as exact
from emu.engines.numpy import block as npy
from emu.engines.numpy.convert import code_dtype
from emu.engines.run import run_dequantize
from emu.spec import derive
from emu.spec.models import Block, Recipe
from emu.spec.programs.types import extent_of
from emu.spec.registry import get, names

EVERY = [(name, profile) for name in names("recipe") for profile in get("recipe", name).facts.dequantize]
TENSOR = [0x45280000, 0x3F800001, 0x00000001, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000, 0x40556D1D]


def program_of(name: str, profile: str) -> tuple[Any, ...]:
    """What decides the values: the block format and the steps."""
    facts = get("recipe", name).facts
    return facts.block, facts.tail, facts.dequantize[profile]


PROFILES = list({program_of(*pair): pair for pair in reversed(EVERY)}.values())


def block_of(recipe: Recipe) -> Block:
    block: Block = get("block", recipe.facts.block)
    return block


def drawn(recipe: Recipe, rows: int, columns: int, tensor: int) -> tuple[Any, dict[str, Any]]:
    """Any codes and any levels a stored tensor may hold; narrow levels go through all their codes."""
    block = block_of(recipe)
    element = derive.codes(get("format", block.element_formats[0]))
    codes = (words(1, rows * columns).reshape(rows, columns) >> (32 - element.bits)).astype(np.uint8)
    levels = {}
    for number, level in enumerate(block.facts.levels):
        place, fmt = extent_of(level.granularity, block), get("format", level.format)
        shape = (rows // place.rows if place.rows else 1, columns // place.columns if place.columns else 1)
        size, bits = shape[0] * shape[1], derive.codes(fmt).bits
        if shape == (1, 1) and bits in (16, 32):
            found = np.array([tensor >> (32 - bits)], np.uint64)
        elif bits == 32:
            found = words(number, size).astype(np.uint64) & 0x7FFFFFFF | 0x20000000
            found[:4] = [tensor, 0x7FC00000, 0, 1][:size]
        else:
            found = np.arange(size, dtype=np.uint64) * 5 % (1 << bits) if number % 2 else np.arange(size, dtype=np.uint64) % (1 << bits)
        levels[level.name] = found.reshape(shape).astype(code_dtype(fmt))
    return codes, levels


def compare(recipe: Recipe, codes: Any, levels: dict[str, Any], profile: str, result: str = "fp32") -> Any:
    to = get("format", result)
    got = npy.dequantize(recipe, codes, levels, profile=profile, result=to)
    rows = {name: level.tolist() for name, level in levels.items()}
    wanted = exact.dequantize(recipe, codes.tolist(), rows, profile=profile, result=to)
    assert got.dtype == code_dtype(to) and got.tolist() == wanted
    return got


@pytest.mark.cases(2, 16)
@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_any_codes_and_levels(name: str, profile: str) -> None:
    recipe = get("recipe", name)
    rows, lanes = block_of(recipe).facts.shape
    tall = 16 if rows == 1 else 2 * rows
    wide = 256 if rows == 1 and lanes in (1, 16) else 4 * lanes  # of a whole row, or of a tensor, too
    codes, levels = drawn(recipe, tall, wide, TENSOR[0])
    assert len(np.unique(compare(recipe, codes, levels, profile))) > 100
    for tensor in TENSOR[1:] if "tensor" in levels else ():
        codes, levels = drawn(recipe, rows, 2 * lanes, tensor)
        compare(recipe, codes, levels, profile)


@pytest.mark.cases(12)
@pytest.mark.parametrize("result", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("name", ["nvfp4_te_ref", "if4_mse", "hif4", "mxfp4_torchao_floor", "ufp4", "nvfp4_te_2d_ref"])
def test_result_is_rounded_once_more(name: str, result: str) -> None:
    recipe = get("recipe", name)
    rows, lanes = block_of(recipe).facts.shape
    for tensor in (0x40556D1D, 0x00800000, 0x7F7FFFFF):
        codes, levels = drawn(recipe, rows, 4 * lanes, tensor)
        compare(recipe, codes, levels, next(iter(recipe.facts.dequantize)), result)


@pytest.mark.cases(40, 30)
@pytest.mark.parametrize("name", names("recipe"))
def test_there_and_back(name: str, matrix: Callable[..., Any]) -> None:
    """What quantize writes, dequantize reads: equal columns on the real levels of directed blocks, NaN scales too."""
    recipe = get("recipe", name)
    lanes = block_of(recipe).facts.shape[1]
    special = recipe.facts.domain.non_finite == "yes" and "torchao" not in name and not name.startswith("mxe1m2")
    codes = matrix(recipe, special=special)[:16, :lanes]
    random = {"random": np.zeros(codes.shape, np.uint8)} if name == "ufp4_sr" else {}
    found = npy.quantize(recipe, codes, get("format", "fp32"), **random)
    for profile in recipe.facts.dequantize:
        compare(recipe, found.codes, found.levels, profile)


@pytest.mark.parametrize("name", ["nvfp4_te_ref", "nvfp4_te_2d_ref", "mxfp4_te_pow2"])
def test_cut_tails(name: str) -> None:
    """zero_pad_drop: levels cover the padding, codes do not."""
    recipe = get("recipe", name)
    rows, lanes = block_of(recipe).facts.shape
    codes, levels = drawn(recipe, rows, 2 * lanes, TENSOR[0])
    for height, width in ((rows, 2 * lanes - 3), (max(1, rows - 5), lanes + 1)):
        cut = np.ascontiguousarray(codes[:height, :width])
        whole = compare(recipe, cut, levels, next(iter(recipe.facts.dequantize)))
        assert np.array_equal(whole, npy.dequantize(recipe, codes, levels)[:height, :width])


def test_what_dequantize_refuses() -> None:
    recipe = get("recipe", "nvfp4_te_ref")
    codes, levels = drawn(recipe, 2, 32, TENSOR[0])
    dequantize = partial(run_dequantize, recipe, codes, profile=None, result=get("format", "fp32"), engine="numpy")
    with pytest.raises(ShapeError, match=r"level scale has shape \(2, 1\): codes of shape \(2, 32\) need \(2, 2\)"):
        dequantize({**levels, "scale": levels["scale"][:, :1]})
    with pytest.raises(ShapeError, match="level tensor is missing"):
        dequantize({"scale": levels["scale"]})
    levels["scale"][1, 1] = 0x80
    with pytest.raises(OpenError, match="level scale: ue4m3 code 0x80: what a set bit 7 means is open"):
        dequantize(levels)
    with pytest.raises(OpenError):
        exact.dequantize(recipe, codes.tolist(), {name: level.tolist() for name, level in levels.items()})
