"""The page of a checkpoint: its tensors, what each number means, where each nibble and scale lies, how it is recognised."""

from __future__ import annotations

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
from emu.spec import Block, Checkpoint, get
from emu.spec.models.checkpoint import NamesExample, StoredCodes, StoredLevel

MEANING = {
    "scale": "scale of a block",
    "multiplier": "multiplies every element",
    "divisor": "**divides** every element",
    "amax": "the tensor's maximum itself; the block's factor makes a multiplier of it",
}
PACKING = {
    "low_nibble_first": "byte k holds element 2k in its low nibble, element 2k + 1 in its high nibble",
    "halves": "byte k of a block of n elements holds element k in its low nibble, element k + n / 2 in its high nibble",
}
NAN = {"nan": "the block is NaN", "zero": "the scale is 0", "number": "a number like any other: the grid goes on"}
HIGH = {
    "none": "there is none: a scale has 8 bits",
    "refused": "no writer sets it: damage",
    "ignored": "the reader does not look at it",
    "flag": "the flag of the block: it chooses the element format",
}


def body(store: Checkpoint, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = store.facts
    lines = ["## What is stored", "", f"A `{facts.container}` file with {_blocks(store)}.", "", *_parts(store), "", "## Facts", ""]
    rows = [
        ("packing", PACKING[facts.packing]),
        ("order of scales", " or ".join(link("layout", name) for name in facts.scale_layouts) + _told(store)),
        ("a scale code that is NaN in its format", NAN[facts.nan_scale]),
        ("bit 7 of a scale", HIGH[facts.high_bit]),
        ("the weight's name before quantization", " or ".join(f"module{suffix and code(suffix)}" for suffix in facts.weights)),
    ]
    if facts.companions:
        rows.append(("further tensors of a weight", ", ".join(code(suffix) for suffix in facts.companions)))
    rows += [("read back by", f"profile `{item.profile}` of {link('recipe', item.recipe)}") for item in facts.dequantize]
    return [*lines, *table(("fact", "value"), rows), *_recognised(store)]


def _blocks(store: Checkpoint) -> str:
    return "blocks " + " or ".join(link("block", name) for name in store.facts.blocks)


def _parts(store: Checkpoint) -> list[str]:
    facts = store.facts
    if facts.record is not None:
        columns = _block(store).facts.shape[1]
        scales = facts.record.elements // columns
        rows = [("scales", "0", str(scales)), ("codes", str(scales), str(facts.record.elements // 2))]
        text = f"A tensor of type `{facts.record.type}` is a row of units of {facts.record.elements} elements:"
        return [text, "", *table(("part", "from byte", "bytes"), rows)]
    assert facts.codes is not None
    named = [_row("codes", facts.codes, "element codes" + (", last axis one block" if facts.codes.grouped == "yes" else ""))]
    named += [_row(level.level, level, MEANING[level.meaning]) for level in facts.levels]
    return table(("part", "name: module and", "type", "meaning"), named)


def _row(name: str, part: StoredCodes | StoredLevel, meaning: str) -> tuple[str, str, str, str]:
    return name, " or ".join(code(suffix) for suffix in part.suffixes), " or ".join(code(word) for word in part.dtypes), meaning


def _told(store: Checkpoint) -> str:
    key = store.facts.swizzle_key
    return f"; the header says which under {code(key)}" if key else ""


def _block(store: Checkpoint) -> Block:
    found: Block = get("block", store.facts.blocks[0])
    return found


def _recognised(store: Checkpoint) -> list[str]:
    lines = ["", "## How it is recognised", "", "By the names and types above."]
    if store.facts.declared:
        lines[-1] += " The file may also say so:"
        rows = [(item.where, code(".".join(item.keys)), ", ".join(code(word) for word in item.words)) for item in store.facts.declared]
        lines += ["", *table(("where", "key", "word"), rows)]
    return [*lines, "", *fence([f"emu identify --quantized FOLDER   # finds {store.id}"], "sh")]


def witnesses(store: Checkpoint) -> list[str]:
    """Return the hand-checked names and values."""
    rows = []
    for item in store.expect:
        if isinstance(item, NamesExample):
            given = ", ".join(f"{code(part.name)} {part.type}" for part in item.tensors)
            rows.append((given, f"is {code(item.finds)}", item.why or ""))
        else:
            given = ", ".join(f"{name} {code(text)}" for name, text in item.stored.items()) + f", element {item.lane}"
            rows.append((given + (f", block {code(item.block)}" if item.block else ""), item.value, item.why or ""))
    return table(("stored", "means", "why"), rows)


WRITER = Writer(body, ("block.decode_block_value",), witnesses)
