"""Worked examples of recipes: one tensor each, by the exact engine: codes, levels, and values of the profiles."""

from __future__ import annotations

from typing import Any

from emu.contracts.examples import compare_codes
from emu.engines.exact.block import dequantize, quantize
from emu.spec import Block, Recipe, get
from emu.spec.hex_rows import split
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program


def replay(recipe: Recipe, example: Any) -> str | None:
    """Return None where a worked example of a recipe holds, else what came out instead."""
    block: Block = get("block", recipe.facts.block)
    element, source = get("format", block.element_formats[0]), get("format", example.source)
    rows, columns = block.facts.shape
    x = split(example.x, source)
    width = columns if rows > 1 else len(x)
    draws = None if example.random is None else _draws(example.random, recipe)
    amax = None if example.tensor_amax is None else int(example.tensor_amax, 16)
    random = None if draws is None else _fold(draws, len(draws) // max(len(x) // width, 1))
    found = quantize(recipe, _fold(x, width), source, tensor_amax=amax, random=random)
    fault = compare_codes("codes", _flat(found.codes), split(example.codes, element))
    for name, text in example.levels.items():
        level = next(item for item in block.facts.levels if item.name == name)
        fault = fault or compare_codes(name, _flat(found.levels[name]), split(text, get("format", level.format)))
    for profile, text in example.values.items():
        values = dequantize(recipe, found.codes, found.levels, profile=profile)
        fault = fault or compare_codes(f"values of {profile}", _flat(values), split(text, get("format", recipe.facts.arithmetic.to)))
    return fault


def _draws(text: str, recipe: Recipe) -> list[int]:
    """Return the random integers of a hex string: as many digits each as the recipe's rounding draws bits (or has in its word)."""
    rounding = next(item.rounding for item in quantize_program(recipe).instructions if item.rounding and item.rounding.random_bits)
    source = rounding.facts.random
    digits = -(-(source.word if isinstance(source, Word) else rounding.random_bits) // 4)
    packed = text.replace(" ", "")
    return [int(packed[start : start + digits], 16) for start in range(0, len(packed), digits)]


def _fold(items: list[int], width: int) -> list[list[int]]:
    return [items[start : start + width] for start in range(0, len(items), width)]


def _flat(rows: list[list[int]]) -> list[int]:
    return [code for row in rows for code in row]
