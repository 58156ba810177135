"""The page of a block format: formula, levels, bytes of the elements, storage per element, a worked decode."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
from emu.docgen.numbers import decimal_text, exact_text
from emu.engines.exact.block import decode_block_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.spec import Block, Format, derive, get
from emu.spec.hex_rows import digits, split
from emu.spec.models.block import FlaggedElement, LevelFacts, OneElement, Sub

SHOWN_BYTES = 8


def value_formula(block: Block) -> str:
    """Return how an element, its levels and the factor make a value."""
    words = {"multiply": " * {}", "divide": " / {}", "flag": ""}
    factor = "" if block.facts.factor == "1" else f" * {block.facts.factor}"
    return "value = element" + "".join(words[level.meaning].format(level.name) for level in block.facts.levels) + factor


def body(block: Block, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = block.facts
    rows, columns = facts.shape
    shape = f"{columns} consecutive elements of a row" if rows == 1 else f"a tile of {rows} rows and {columns} columns"
    lines = [
        "## Decode",
        "",
        *fence([value_formula(block)]),
        "",
        "Exact: nothing is rounded here. What a library computes on the way is a recipe's dequantize program.",
        "",
    ]
    lines += [f"A block is {shape}.", "", *_elements(block), "", "## Levels", "", "Outermost first.", ""]
    lines += table(
        ("level", "format", "one code per", "bits", "bits per element", "meaning"), [_level(level, block) for level in facts.levels]
    )
    lines += ["", *_storage(block), "", "## Bytes", "", *_bytes(block)]
    return lines


def _elements(block: Block) -> list[str]:
    element = block.facts.element
    if isinstance(element, OneElement):
        return [f"Elements are {link('format', element.format)}."]
    rows = [(str(flag), link("format", item.format), item.factor) for flag, item in enumerate(element.choice)]
    return [f"The level `{element.flag}` chooses the format of the elements:", "", *table((f"`{element.flag}`", "format", "times"), rows)]


def _level(level: LevelFacts, block: Block) -> tuple[str, ...]:
    bits = _stored_bits(get("format", level.format))
    shared = _elements_per(level, block)
    return (
        code(level.name),
        link("format", level.format),
        _granularity(level),
        str(bits),
        str(Fraction(bits, shared)) if shared else "",
        level.meaning,
    )


def _granularity(level: LevelFacts) -> str:
    return f"{level.granularity.sub} elements" if isinstance(level.granularity, Sub) else level.granularity


def _elements_per(level: LevelFacts, block: Block) -> int:
    """Return how many elements share a code; 0 where that depends on the tensor."""
    rows, columns = block.facts.shape
    if isinstance(level.granularity, Sub):
        return level.granularity.sub
    return {"tile": rows * columns, "block": columns}.get(level.granularity, 0)


def _stored_bits(fmt: Format) -> int:
    return derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def _storage(block: Block) -> list[str]:
    element = _stored_bits(get("format", block.element_formats[0]))
    side = [
        Fraction(_stored_bits(get("format", level.format)), count) for level in block.facts.levels if (count := _elements_per(level, block))
    ]
    whole = element + sum(side, Fraction(0))
    shared = [level.name for level in block.facts.levels if not _elements_per(level, block)]
    extra = f", and {' and '.join(code(name) for name in shared)} once per tensor or row" if shared else ""
    return [f"Storage: **{decimal_text(finite(whole))} bits per element**{extra}."]


def _bytes(block: Block) -> list[str]:
    """Draw the first bytes of a row of elements."""
    width = _stored_bits(get("format", block.element_formats[0]))
    if block.facts.packing == "none" or width != 4:
        return [
            f"One code of {width} bits per byte, in the order of the elements.",
            f"Codes of the innermost level: {block.facts.scale_layout.replace('_', ' ')}.",
        ]
    _, columns = block.facts.shape
    count = min(SHOWN_BYTES, columns // 2)
    more = " ..." if columns // 2 > count else ""
    cells = [f"{2 * number + 1:>2}  {2 * number:>2}" for number in range(count)]
    line = "+" + "+".join("-" * 8 for _ in cells) + "+"
    lines = [
        f"Two elements in a byte: element 2k in the low four bits, element 2k + 1 in the high four. A block takes {columns // 2} bytes.",
        "",
    ]
    drawing = ["byte     " + " ".join(f"{number:^8}" for number in range(count)) + more]
    drawing += ["         " + line, "element  |" + "|".join(f" {item} " for item in cells) + "|" + more, "         " + line]
    drawing.append("          " + " ".join("high low" for _ in cells))
    layout = block.facts.scale_layout.replace("_", " ")
    return [
        *lines,
        *fence(drawing),
        "",
        f"Codes of the innermost level stand in {layout} order, one after another: blocks along a row, then the next row.",
    ]


def witnesses(block: Block) -> list[str]:
    """Return one row per witness: the lane's code, every level, and the exact value, decoded by the oracle."""
    header = ["element", *(code(level.name) for level in block.facts.levels), "factor", "value", "why"]
    rows = [_witness(block, item) for item in block.expect]
    if all(row[-3] == "1" for row in rows):
        header.remove("factor")
        rows = [[*row[:-3], *row[-2:]] for row in rows]
    codes = list(dict.fromkeys(item.codes for item in block.expect))
    if len(codes) > 1:
        header, rows = ["codes", *header], [[code(item.codes), *row] for item, row in zip(block.expect, rows, strict=True)]
        return table(header, rows)
    return [f"Codes of the block `{codes[0]}`:", "", *table(header, rows)]


def _witness(block: Block, item: Any) -> list[str]:
    fmt: Format = get("format", block.element_formats[0])
    levels = {name: int(text, 16) for name, text in item.levels.items()}
    number = split(item.codes, fmt)[item.lane]
    element, factor = block.facts.element, derive.parse_exact(block.facts.factor)
    if isinstance(element, FlaggedElement):
        chosen = element.choice[int(bool(levels[element.flag]))]
        fmt, factor = get("format", chosen.format), factor * derive.parse_exact(chosen.factor)
    cells = [f"lane {item.lane}: `0x{number:0{digits(fmt)}X}` = {exact_text(decode_code(number, fmt))}"]
    for level in block.facts.levels:
        value = decode_code(levels[level.name], get("format", level.format))
        cells.append(f"`{item.levels[level.name]}` = {exact_text(value)}")
    return [*cells, exact_text(finite(factor)), exact_text(decode_block_value(block, number, levels)), item.why or ""]


WRITER = Writer(body, ("block.decode_block_value", "decode.decode_code"), witnesses)
