"""The page of a checkpoint: its tensors, what each number means, where each nibble and scale lies, how it is recognised."""

from __future__ import annotations

from typing import Any

from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref, joined
from emu.spec import Block, Checkpoint, Format, derive, get
from emu.spec.models.checkpoint import NamesExample, StoredCodes, StoredLevel

MEANING = {
    "multiplier": "multiplies every element",
    "divisor": "**divides** every element",
    "amax": "the tensor's maximum itself; the block's factor makes a multiplier of it",
}
PACKING = {
    "low_nibble_first": "byte k holds element 2k in its low nibble, element 2k + 1 in its high nibble",
    "high_nibble_first": "byte k holds element 2k in its high nibble, element 2k + 1 in its low nibble",
    "low_bits_first": "codes one after the other as one row of bits, which begins in the lowest bit of byte 0",
    "none": "each code has a byte of its own",
    "halves": "byte k of a block of n elements holds element k in its low nibble, element k + n / 2 in its high nibble",
}
NAN = {
    "nan": "the block is NaN",
    "zero": "the scale is 0",
    "number": "a number like any other: the grid goes on",
    "refused": "none of these: nobody may write it",
}
HIGH = {
    "refused": "no writer sets it: damage",
    "ignored": "the reader does not look at it",
    "flag": "the flag of the block: it chooses the element format",
}


PRODUCT = {"result": "the type that is asked for"}
SCALE = {"tensor": "scale of the tensor", "row": "scale of a row", "tile": "scale of a tile, row after row of tiles"}


def data(store: Checkpoint) -> Data:
    """Return what the template shows: parts of the file, facts, words that declare it, worked examples."""
    facts = store.facts
    scale: Format = get("format", get("block", facts.blocks[0]).scale_level.format)
    told = ("; the header says which under ", Code(facts.swizzle_key)) if facts.swizzle_key else ()
    rows = [
        ("packing", PACKING[facts.packing]),
        ("order of scales", (joined(" or ", [Ref("layout", name) for name in facts.scale_layouts]), told)),
        ("a scale code that is NaN in its format", NAN[facts.nan_scale]),
        ("bit 7 of a scale", HIGH.get(facts.high_bit, f"there is none: a scale has {derive.codes(scale).bits} bits")),
        ("the weight's name before quantization", joined(" or ", [("module", Code(suffix) if suffix else "") for suffix in facts.weights])),
    ]
    if facts.edges is not None:
        rows.append(("the last block of a row and of a column", "may hold fewer elements; the bytes have no padding"))
    if facts.sides_key is not None:
        rows.append(("sides of a block", ("where the file says them, those of the block, under ", Code(".".join(facts.sides_key)))))
    if facts.group_keys:
        ways = joined(" or ", [Code(".".join(keys)) for keys in facts.group_keys])
        rows.append(("elements that share a scale", ("where the file says how many, as many as here, under ", ways)))
    if facts.by_module == "yes":
        rows.append(("a module of its own kind", "an object under the module's name holds the same entries, for that module alone"))
    if facts.product is not None:
        within = PRODUCT.get(facts.product) or Ref("format", facts.product)
        steps = ", their product too, then that to the type that is asked for; each to nearest even"
        rows.append(("read back by", ("code and scale rounded to ", within, steps)))
    if facts.companions:
        rows.append(("further tensors of a weight", [Code(suffix) for suffix in facts.companions]))
    if facts.zeros:
        rows.append(("further tensors, of zero bytes alone", [Code(suffix) for suffix in facts.zeros]))
    if facts.described_by:
        rows.append(("the header says of each weight", ("recipe, shape, axis and checksum, under ", Code(facts.described_by))))
    rows += [("read back by", ("profile ", Code(item.profile), " of ", Ref("recipe", item.recipe))) for item in facts.dequantize]
    return {
        "blocks": joined(" or ", [Ref("block", name) for name in facts.blocks]),
        "record": facts.record,
        "parts": _parts(store),
        "beside": [_row(level.level, level, _meaning(store, level)) for level in facts.levels] if facts.record else [],
        "facts": rows,
        "must": facts.told_by == "statement",
        "declared": [(item.where, Code(".".join(item.keys)), [Code(word) for word in item.words]) for item in facts.declared],
        "example_rows": [_example(item) for item in store.expect],
    }


def _parts(store: Checkpoint) -> list[tuple[Any, ...]]:
    facts = store.facts
    if facts.record is not None:
        block: Block = get("block", facts.blocks[0])
        scales, bits = facts.record.elements // block.facts.shape[1], derive.codes(get("format", block.element_formats[0])).bits
        return [("scales", 0, scales), ("codes", scales, facts.record.elements * bits // 8)]
    assert facts.codes is not None
    named = [_row("codes", facts.codes, "element codes" + (", last axis one block" if facts.codes.grouped == "yes" else ""))]
    return named + [_row(level.level, level, _meaning(store, level)) for level in facts.levels]


def _meaning(store: Checkpoint, level: StoredLevel) -> str:
    """Return what a stored level is, in words."""
    if level.meaning != "scale":
        return MEANING[level.meaning]
    return SCALE.get(str(get("block", store.facts.blocks[0]).scale_level.granularity), "scale of a block")


def _row(name: str, part: StoredCodes | StoredLevel, meaning: str) -> tuple[Any, ...]:
    return name, joined(" or ", map(Code, part.suffixes)), joined(" or ", map(Code, part.dtypes)), meaning


def _example(item: Any) -> tuple[Any, ...]:
    """Return hand-checked names, or a hand-checked value."""
    if isinstance(item, NamesExample):
        return [(Code(part.name), " ", part.type) for part in item.tensors], ("is ", Code(item.finds)), item.why
    given = [*((name, " ", Code(text)) for name, text in item.stored.items()), f"element {item.lane}"]
    return [*given, *([("block ", Code(item.block))] if item.block else [])], item.value, item.why


WRITER = Writer("checkpoint", data, ("block.decode_block_value",))
