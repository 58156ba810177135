"""quantize and dequantize of every recipe: the exact engine and each engine of the table give the same bits, or the same kind of error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu import strategies
from emu.spec import derive
from emu.spec.models import Block, Format, Recipe
from emu.spec.programs.types import extent_of
from emu.spec.registry import get, names

EVERY = [(name, profile) for name in names("recipe") for profile in get("recipe", name).facts.dequantize]
SOURCES = ("fp32", "fp32", "bf16", "fp16")
HEAVY = [
    name
    for name in names("recipe")
    if len(get("recipe", name).facts.steps) > 30 or get("block", get("recipe", name).facts.block).facts.shape[0] > 1
]


def draw_matrix(data: st.DataObject, recipe: Recipe, specials: bool) -> tuple[Any, Format]:
    """Some blocks of a recipe, at times one block high and cut where the tail rule allows it."""
    source: Format = get("format", data.draw(st.sampled_from(SOURCES)))
    codes = data.draw(strategies.blocks(recipe, source, count=data.draw(st.integers(1, 2)), specials=specials))
    rows, lanes = codes.shape
    if recipe.facts.tail != "error" and data.draw(st.booleans()):
        height, width = data.draw(st.integers(1, rows)), data.draw(st.integers(max(1, lanes - 9), lanes))
        codes = np.ascontiguousarray(codes[:height, :width])
    return codes, source


def operands_of(data: st.DataObject, recipe: Recipe, codes: Any, source: Format) -> dict[str, Any]:
    """What the recipe takes beside the matrix."""
    found: dict[str, Any] = {}
    block: Block = get("block", recipe.facts.block)
    if any(level.granularity == "tensor" for level in block.facts.levels):
        found["tensor_amax"] = data.draw(strategies.tensor_maxima(codes, source))
    drawing = strategies.draws_random(recipe)
    if drawing is not None:
        found["random"] = data.draw(strategies.random_operands(drawing, codes.size)).reshape(codes.shape)
    return found


def check_blocks(judge: Any, name: str, data: st.DataObject) -> int:
    """Quantize by every engine and dequantize by every engine and profile; whether there were bits to compare."""
    recipe = get("recipe", name)
    codes, source = draw_matrix(data, recipe, data.draw(st.sampled_from([False, False, True])))
    operands = operands_of(data, recipe, codes, source)
    done = judge.quantize(recipe, codes, source, **operands)
    if not done.gave_bits:
        return 0
    levels = dict(done.wanted)
    elements = levels.pop("codes")
    result = get("format", data.draw(st.sampled_from(["fp32", "fp32", "bf16", "fp16"])))
    for profile in recipe.facts.dequantize:
        judge.dequantize(recipe, elements, levels, profile, result)
    return 1


def run_blocks(judge: Any, name: str, examples: int) -> None:
    """Draw so many blocks; a quarter of them must give bits (the domain of some recipes is narrow)."""
    gave_bits = []

    @settings(max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        gave_bits.append(check_blocks(judge, name, data))

    check()
    assert 4 * sum(gave_bits) >= len(gave_bits) > 0


@pytest.mark.cases(3, 12)
@pytest.mark.parametrize("name", names("recipe"))
def test_blocks_of_hypothesis_there_and_back(judge: Any, name: str) -> None:
    run_blocks(judge, name, 4 if name in HEAVY else 12)


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize("name", names("recipe"))
def test_many_blocks_of_hypothesis(judge: Any, name: str) -> None:
    run_blocks(judge, name, 15 if name in HEAVY else 50)


def draw_codes(data: st.DataObject, fmt: Format, shape: tuple[int, int]) -> Any:
    size = min(shape[0] * shape[1], 256)  # Hypothesis draws no tile of 16,384: what is drawn is repeated
    codes = data.draw(st.lists(strategies.codes(fmt), min_size=size, max_size=size))
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    dtype = np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32
    return np.resize(np.array(codes, dtype), shape)


@pytest.mark.cases(12, 36)
@pytest.mark.parametrize(("name", "profile"), EVERY)
def test_any_codes_and_levels_are_dequantized_alike(judge: Any, name: str, profile: str) -> None:
    """Levels that no quantizer writes: NaN and zero scales, any tensor scale, every flag."""
    recipe = get("recipe", name)
    block: Block = get("block", recipe.facts.block)
    rows, lanes = block.facts.shape

    @settings(max_examples=3 if name in HEAVY else 8)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        shape = (rows, lanes * data.draw(st.integers(1, 2)))
        levels = {}
        for level in block.facts.levels:
            place = extent_of(level.granularity, block)
            size = (shape[0] // place.rows if place.rows else 1, shape[1] // place.columns if place.columns else 1)
            levels[level.name] = draw_codes(data, get("format", level.format), size)
        codes = draw_codes(data, get("format", block.element_formats[0]), shape)
        judge.dequantize(recipe, codes, levels, profile, get("format", data.draw(st.sampled_from(["fp32", "bf16", "fp16"]))))

    check()


def test_every_recipe_has_a_second_engine(fp32: Format) -> None:
    from emu.engines.table import TABLE

    for name, profile in EVERY:
        recipe = get("recipe", name)
        assert {row.engine for row in TABLE if row.operation == "quantize" and row.can(recipe, fp32)} - {"exact"}, name
        assert {row.engine for row in TABLE if row.operation == "dequantize" and row.can(recipe, profile)} - {"exact"}, name
