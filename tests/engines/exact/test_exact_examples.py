"""Worked examples of recipes and blocks: the exact engine gives them, and a block's formula agrees with the recipe's dequantize programs.

Independent code here: a decoder of block worked examples that reads the generating facts itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from emu.engines.exact.block import decode_block_value, dequantize, quantize
from emu.spec.registry import get, names

# equal to running code, whose rows of it are not kept here: the blocks shown are this project's own
UNSHOWN = {"if4_abs_max", "mxfp4_f46_static_4", "nvfp4_f46_static_4", "nvfp4_compressed_tensors", "nvfp4_modelopt", "nvfp4_te_2d_ref"}
UNSHOWN |= {"mxfp8_e4m3_triton_down", "mxfp8_e5m2_triton_down", "mxfp8_e5m2_triton_up", "mxfp8_e5m2_jax"}
UNSHOWN |= {"nvfp4_auto_round", "nvfp4_te_row_scaled", "nvfp4_mlx_cpu_global", "nvfp4_flashinfer_trace", "mxfp4_flashinfer_trace"}
UNSHOWN |= {"mxfp8_e4m3_vllm", "mxfp4_auto_round", "mxfp4_inc_even", "mxfp4_inc_nearest", "mxfp4_inc_floor"}


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


WIDTHS = {"e4m3": 2, "e5m2": 2, "e2m3": 2, "e3m2": 2}  # hexadecimal digits of an element; of the others one


def digits(text: str, block: Any) -> list[int]:
    wide, text = WIDTHS.get(block.element_formats[0], 1), text.replace(" ", "")
    return [int(text[i : i + wide], 16) for i in range(0, len(text), wide)]


EXAMPLES = [(name, number) for name in names("recipe") for number in range(len(get("recipe", name).expect))]


def example_rows(recipe: Any, codes: list[int]) -> list[list[int]]:
    """A worked example lists whole rows of its block, row-major."""
    width = get("block", recipe.facts.block).facts.shape[1]
    width = width if width > 1 else len(codes)  # a row, or a tensor, as a single row
    return [codes[i : i + width] for i in range(0, len(codes), width)]


def level_codes(recipe: Any, text: str, level: str) -> list[int]:
    """Codes of a level as a worked example writes them: whole hex digits per code, spaces ignored."""
    formats = {item.name: item.format for item in get("block", recipe.facts.block).facts.levels}
    size = {"fp32": 8, "bf16": 4, "ue4m3": 2, "e8m0": 2, "e6m2": 2, "ue1m0": 1, "uint1": 1}[formats[level]]
    text = text.replace(" ", "")
    return [int(text[i : i + size], 16) for i in range(0, len(text), size)]


@pytest.mark.parametrize(("name", "number"), EXAMPLES, ids=[f"{name}-{number}" for name, number in EXAMPLES])
def test_recipe_example(name: str, number: int) -> None:
    recipe = get("recipe", name)
    row = recipe.expect[number]
    amax = int(row.tensor_amax, 16) if row.tensor_amax else None
    random = example_rows(recipe, words(row.random)) if row.random else None
    block = get("block", recipe.facts.block)
    result = quantize(recipe, example_rows(recipe, words(row.x)), get("format", row.source), tensor_amax=amax, random=random)
    assert result.codes == example_rows(recipe, digits(row.codes, block))
    assert set(row.levels) == set(result.levels)
    for level, text in row.levels.items():
        assert [code for line in result.levels[level] for code in line] == level_codes(recipe, text, level)
    for profile, text in row.values.items():
        assert dequantize(recipe, result.codes, result.levels, profile=profile) == example_rows(recipe, words(text))


def test_every_recipe_has_an_example_with_values() -> None:
    # the worked example of the 2-D recipe shows codes only: its dequantize program is that of nvfp4_te_ref
    assert [name for name in names("recipe") if not any(row.values for row in get("recipe", name).expect)] == ["nvfp4_te_2d_ref"]
    assert get("recipe", "nvfp4_te_2d_ref").facts.dequantize == get("recipe", "nvfp4_te_ref").facts.dequantize
    measured = {name for name in names("recipe") if any((row.why or "").startswith("measured") for row in get("recipe", name).expect)}
    ran = {name for name in names("recipe") if get("recipe", name).status == "measured"}
    assert measured <= ran and ran - measured == UNSHOWN


def table_value(fmt: Any, code: int) -> Fraction | str:
    """A decoder small enough to check by eye; its own reading of the generating facts."""
    facts = fmt.facts
    if facts.class_ == "codebook":
        bits = int(facts.values_bits.split()[code], 16)
        return "-0" if bits == 1 << 31 else fp32_value(fp32_order(bits))
    if facts.class_ == "exponent":
        return "nan" if f"0x{code:02X}" in facts.nan else Fraction(2) ** (code - facts.bias)
    if facts.class_ == "integer":
        half = 1 << (facts.bits - 1)
        if facts.signed == "no" or code < half:
            return Fraction(code)
        return Fraction(code - 2 * half if facts.signed == "twos_complement" else half - code)
    width = facts.exp_bits + facts.frac_bits
    field, fraction = code >> facts.frac_bits & ((1 << facts.exp_bits) - 1), code & ((1 << facts.frac_bits) - 1)
    if facts.nan == "ieee" and field == (1 << facts.exp_bits) - 1:
        return "nan"
    if facts.nan not in ("ieee", "none") and f"0x{code:02X}" in facts.nan:
        return "nan"
    hidden = 0 if field == 0 and facts.subnormals == "yes" else 1 << facts.frac_bits
    exp = (1 if hidden == 0 else field) - facts.bias
    value = (hidden + fraction) * Fraction(2) ** (exp - facts.frac_bits)
    if facts.signed == "yes" and code >> width:
        return -value if value else "-0"
    return value


def block_value(block: Any, code: int, levels: dict[str, int]) -> Fraction | str:
    facts, factor = block.facts, Fraction(block.facts.factor)
    if hasattr(facts.element, "format"):
        element = facts.element.format
    else:
        chosen = facts.element.choice[levels[facts.element.flag]]
        element, factor = chosen.format, factor * Fraction(chosen.factor)
    value = table_value(get("format", element), code)
    for level in facts.levels:
        held = table_value(get("format", level.format), levels[level.name])
        if level.meaning == "flag":
            continue
        if "nan" in (held, value):
            return "nan"
        assert isinstance(held, Fraction)
        value = value if value == "-0" else value * held if level.meaning == "multiply" else value / held  # type: ignore[operator]
    return value if isinstance(value, str) else value * factor


def written(text: str) -> Fraction | str:
    if "^" in text:
        return Fraction(2) ** int(text.partition("^")[2])
    return text if text in ("nan", "-0") else Fraction(text)


@pytest.mark.parametrize("name", names("block"))
def test_block_example(name: str) -> None:
    block = get("block", name)
    assert block.expect
    for row in block.expect:
        codes, levels = digits(row.codes, block), {level: int(code, 16) for level, code in row.levels.items()}
        tall, wide = block.facts.shape
        assert len(codes) == tall * wide or (tall > 16 and len(codes) == wide)  # of a large tile the first row
        assert block_value(block, codes[row.lane], levels) == written(row.value)
        found = decode_block_value(block, codes[row.lane], levels)
        as_text = "nan" if found.kind == "nan" else "-0" if found.is_zero and found.sign else found.signed
        assert as_text == written(row.value)


def fp32_order(code: int) -> int:
    """Binary32 codes in the order of their values; both zeros are 0."""
    return -(code & 0x7FFFFFFF) if code >> 31 else code


@pytest.mark.cases(100)
@pytest.mark.parametrize(("name", "index"), EXAMPLES, ids=[f"{name}-{index}" for name, index in EXAMPLES])
def test_block_agrees_with_the_dequantize_program(name: str, index: int) -> None:
    """element * levels * factor lies between the binary32 neighbours that the program's rounded steps can reach."""
    recipe = get("recipe", name)
    block, row = get("block", recipe.facts.block), recipe.expect[index]
    levels = {level: level_codes(recipe, text, level) for level, text in row.levels.items()}
    rows = example_rows(recipe, digits(row.codes, block))
    shaped = {level: [codes] if len(codes) * len(rows) <= len(codes) else [[code] for code in codes] for level, codes in levels.items()}
    for profile, steps in recipe.facts.dequantize.items():
        units = {"bf16": 1 << 16}  # of binary32, in the last place of a step's result
        steps_rounded = sum(units.get(step.to, 1) for step in steps if step.op in ("mul", "div")) + 1
        for r, line in enumerate(dequantize(recipe, rows, shaped, profile=profile)):
            for c, value in enumerate(line):
                parts = {item.name: part_code(item, levels[item.name], r, c) for item in block.facts.levels}
                exact = block_value(block, rows[r][c], parts)
                if exact == "nan":
                    assert value == 0x7FC00000
                    continue
                number = Fraction(0) if exact == "-0" else exact
                assert isinstance(number, Fraction)
                low, high = (fp32_value(fp32_order(value) + side * steps_rounded) for side in (-1, 1))
                assert low < number < high


def part_code(level: Any, codes: list[int], row: int, column: int) -> int:
    """The code of a level that holds for an element of a block."""
    if hasattr(level.granularity, "sub"):
        return codes[column // level.granularity.sub]
    return codes[row] if level.granularity == "block" else codes[0]


def fp32_value(order: int) -> Fraction:
    magnitude = abs(order)
    field, fraction = magnitude >> 23, magnitude & 0x7FFFFF
    value = (fraction + (0x800000 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)
    return -value if order < 0 else value
