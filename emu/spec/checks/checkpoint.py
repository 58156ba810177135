"""Checks of a checkpoint against its blocks, layouts and recipes. Faults name the key; check.py adds file and line."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.models import Block, Checkpoint, Format, Layout, Recipe
from emu.spec.models.block import LevelFacts
from emu.spec.models.checkpoint import WORDS, StoredLevel
from emu.spec.models.format import ExponentFacts
from emu.spec.registry import get

WIDTHS = {  # bits of an element code
    "low_nibble_first": {4},
    "high_nibble_first": {4},
    "halves": {4},
    "low_bits_first": {5, 6, 7},
    "none": set(range(4, 9)),
}


def check_checkpoint(model: Checkpoint) -> None:
    """Check that a store keeps every level of its blocks, in the meaning they have there. Raises: SpecError."""
    facts = model.facts
    for name in facts.blocks:
        _check_block(model, get("block", name))
    if len({get("block", name).facts.shape[1] for name in facts.blocks}) != 1:
        raise SpecError("blocks: their lengths differ: one name cannot hold both")
    for name in facts.scale_layouts:
        layout: Layout = get("layout", name)
        if layout.facts.holds != "scales":
            raise SpecError(f"scale_layouts: {name} is an order of {layout.facts.holds}")
    if facts.write is not None and (facts.packing == "high_nibble_first" or "row_major" not in facts.scale_layouts):
        raise SpecError("write: files are written with the low nibble first and scales row by row, and this store has them otherwise")
    unknown = set(facts.write.read_by if facts.write is not None else ()) - {source.ref for source in model.sources}
    if unknown:
        raise SpecError(f"write: read_by: {min(unknown)} is none of the sources of this file")
    if facts.swizzle_key is not None and len(facts.scale_layouts) != 2:
        raise SpecError("swizzle_key: says which of two layouts it is: scale_layouts must list row_major and the other")
    for item in facts.dequantize:
        recipe: Recipe = get("recipe", item.recipe)
        if item.profile not in recipe.facts.dequantize:
            raise SpecError(f"dequantize: {recipe.id} has no profile {item.profile}: one of {', '.join(recipe.facts.dequantize)}")
        if recipe.facts.block not in facts.blocks:
            raise SpecError(f"dequantize: {recipe.id} reads block {recipe.facts.block}, which is not among blocks")


def _check_block(model: Checkpoint, block: Block) -> None:
    facts = model.facts
    _check_packing(model, block)
    levels = [level for level in block.facts.levels if level.name != block.flag]
    innermost = block.scale_level
    scale: Format = get("format", innermost.format)
    bits = derive.codes(scale).bits
    if (facts.high_bit == "none") != (bits >= 8) or (facts.high_bit == "flag") != (block.flag is not None):
        raise SpecError(f"high_bit: {facts.high_bit} does not fit block {block.id}, whose scales have {bits} bits")
    if facts.nan_scale == "number" and not isinstance(scale.facts, ExponentFacts):
        raise SpecError(f"nan_scale: only powers of two go on above {scale.id}: say nan or zero")
    if facts.record is not None:
        if facts.record.elements % block.facts.shape[1]:
            raise SpecError(f"record: {facts.record.elements} elements with one scale each {block.facts.shape[1]} do not hold {block.id}")
        levels = levels[:-1]  # the record holds the scales
    stored = {level.level: level for level in facts.levels}
    if set(stored) != {level.name for level in levels}:
        raise SpecError(f"levels: block {block.id} has {', '.join(level.name for level in levels)}, the store {', '.join(stored)}")
    for level in levels:
        meaning = "scale" if level is innermost else _meaning(level, block)
        if stored[level.name].meaning != meaning:
            raise SpecError(f"levels: {level.name} of block {block.id} is a {meaning}, not a {stored[level.name].meaning}")
        size = -(-derive.codes(get("format", level.format)).bits // 8)
        narrow = next((word for word in stored[level.name].dtypes if WORDS[word] != size), None)
        if narrow is not None:
            raise SpecError(f"levels: {level.name} of block {block.id} is {level.format}, of {size} bytes: {narrow} has {WORDS[narrow]}")


def _check_packing(model: Checkpoint, block: Block) -> None:
    """Check how codes lie in bytes, and what a store of cut blocks or of one level may say. Raises: SpecError."""
    facts = model.facts
    widths = {derive.codes(get("format", name)).bits for name in block.element_formats}
    wanted = WIDTHS[facts.packing]
    if len(widths) != 1 or not widths <= wanted:
        said, have = (" or ".join(map(str, sorted(found))) for found in (wanted, widths))
        raise SpecError(f"packing: {facts.packing} is for codes of {said} bits, the elements of {block.id} have {have}")
    if facts.edges == "cut" and (facts.packing != "none" or len(facts.levels) != 1 or facts.scale_layouts != ("row_major",)):
        raise SpecError("edges: a block is cut only where each code has a byte, the scales lie row by row and there is no other level")
    if facts.product is not None and (len(facts.levels) != 1 or facts.dequantize):
        raise SpecError("product: says how one scale is multiplied; with more levels, or steps in between, dequantize says it")
    if facts.packing == "low_bits_first" and block.facts.shape[1] * min(widths) % 8:
        raise SpecError(f"packing: {block.facts.shape[1]} codes of {min(widths)} bits of {block.id} fill no whole number of bytes")


def _meaning(level: LevelFacts, block: Block) -> str:
    """Return what a stored level must be to decode under a block."""
    if level.granularity != "tensor":
        return "scale"
    if level.meaning == "divide":
        return "divisor"
    return "multiplier" if derive.parse_exact(block.facts.factor) == 1 else "amax"


def scale_level(model: Checkpoint) -> StoredLevel | None:
    """Return the stored level of scales; None where a record holds them."""
    return next((level for level in model.facts.levels if level.meaning == "scale"), None)
