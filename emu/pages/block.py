"""The page of a block format: formula, levels, bytes of the elements, storage per element, a worked decode."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.contracts.examples import decimal_text, digits, exact_text, split
from emu.engines.exact.block import decode_block_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref, joined
from emu.spec import Block, Format, derive, get
from emu.spec.models.block import FlaggedElement, LevelFacts, OneElement, Sub

SHOWN_BYTES = 8


def value_formula(block: Block) -> str:
    """Return how an element, its levels and the factor make a value."""
    words = {"multiply": " * {}", "divide": " / {}", "flag": ""}
    factor = "" if block.facts.factor == "1" else f" * {block.facts.factor}"
    return "value = element" + "".join(words[level.meaning].format(level.name) for level in block.facts.levels) + factor


def data(block: Block) -> Data:
    """Return what the template shows: levels, bytes, storage, worked examples."""
    facts = block.facts
    rows, columns = facts.shape
    return {
        "formula": value_formula(block),
        "shape": f"{columns} consecutive elements of a row" if rows == 1 else f"a tile of {rows} rows and {columns} columns",
        **_elements(facts.element),
        "levels": [_level(level, block) for level in facts.levels],
        "bits_per_element": decimal_text(finite(_bits_per_element(block))),
        "shared": joined(" and ", (Code(level.name) for level in facts.levels if not _elements_per(level, block))),
        "drawing": _drawing(block),
        "bytes": columns // 2,
        "width": _width(block),
        "layout": facts.scale_layout.replace("_", " "),
        **(_examples(block) if block.expect else {}),
    }


def _elements(element: OneElement | FlaggedElement) -> Data:
    if isinstance(element, OneElement):
        return {"element": Ref("format", element.format)}
    choices = [(flag, Ref("format", item.format), item.factor) for flag, item in enumerate(element.choice)]
    return {"element": None, "flag": element.flag, "choices": choices}


def _level(level: LevelFacts, block: Block) -> tuple[Any, ...]:
    bits = _stored_bits(get("format", level.format))
    shared = _elements_per(level, block)
    each = Fraction(bits, shared) if shared else None
    return Code(level.name), Ref("format", level.format), granularity(level), bits, each, level.meaning


def granularity(level: LevelFacts) -> str:
    """Return in words what shares one code of a level."""
    return f"{level.granularity.sub} elements" if isinstance(level.granularity, Sub) else level.granularity


def _elements_per(level: LevelFacts, block: Block) -> int:
    """Return how many elements share a code; 0 where that depends on the tensor."""
    rows, columns = block.facts.shape
    if isinstance(level.granularity, Sub):
        return level.granularity.sub
    return {"tile": rows * columns, "block": columns}.get(level.granularity, 0)


def _stored_bits(fmt: Format) -> int:
    return derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def _width(block: Block) -> int:
    return _stored_bits(get("format", block.element_formats[0]))


def _bits_per_element(block: Block) -> Fraction:
    """Return the bits of an element and its share of the levels that a block holds."""
    held = [(level, count) for level in block.facts.levels if (count := _elements_per(level, block))]
    return _width(block) + sum((Fraction(_stored_bits(get("format", level.format)), count) for level, count in held), Fraction(0))


def _drawing(block: Block) -> list[str]:
    """Draw the first bytes of a row of elements; nothing where an element has a byte of its own."""
    if block.facts.packing == "none" or _width(block) != 4:
        return []
    whole = block.facts.shape[1] // 2
    count = min(SHOWN_BYTES, whole)
    more = " ..." if whole > count else ""
    cells = [f"{2 * number + 1:>2}  {2 * number:>2}" for number in range(count)]
    line = "+" + "+".join("-" * 8 for _ in cells) + "+"
    return [
        "byte     " + " ".join(f"{number:^8}" for number in range(count)) + more,
        "         " + line,
        "element  |" + "|".join(f" {item} " for item in cells) + "|" + more,
        "         " + line,
        "          " + " ".join("high low" for _ in cells),
    ]


def _examples(block: Block) -> Data:
    """Return one row per worked example: the lane's code, every level, and the exact value, decoded by the exact engine."""
    header: list[Any] = ["element", *(Code(level.name) for level in block.facts.levels), "factor", "value", "why"]
    rows = [_example(block, item) for item in block.expect]
    if all(row[-3] == "1" for row in rows):
        header.remove("factor")
        rows = [[*row[:-3], *row[-2:]] for row in rows]
    codes = list(dict.fromkeys(item.codes for item in block.expect))
    if len(codes) == 1:
        return {"shown_codes": codes[0], "example_header": header, "example_rows": rows}
    rows = [[Code(item.codes), *row] for item, row in zip(block.expect, rows, strict=True)]
    return {"shown_codes": None, "example_header": ["codes", *header], "example_rows": rows}


def _example(block: Block, item: Any) -> list[Any]:
    fmt: Format = get("format", block.element_formats[0])
    levels = {name: int(text, 16) for name, text in item.levels.items()}
    number = split(item.codes, fmt)[item.lane]
    element, factor = block.facts.element, derive.parse_exact(block.facts.factor)
    if isinstance(element, FlaggedElement):
        chosen = element.choice[int(bool(levels[element.flag]))]
        fmt, factor = get("format", chosen.format), factor * derive.parse_exact(chosen.factor)
    cells: list[Any] = [(f"lane {item.lane}: ", Code(f"0x{number:0{digits(fmt)}X}"), f" = {exact_text(decode_code(number, fmt))}")]
    for level in block.facts.levels:
        value = decode_code(levels[level.name], get("format", level.format))
        cells.append((Code(item.levels[level.name]), f" = {exact_text(value)}"))
    return [*cells, exact_text(finite(factor)), exact_text(decode_block_value(block, number, levels)), item.why]


WRITER = Writer("block", data, ("block.decode_block_value", "decode.decode_code"))
