"""What follows from a store and its first block: which level is which, how wide a code is, how many elements or bytes belong together."""

from __future__ import annotations

import math

from emu.spec import derive, get
from emu.spec.models import Block, Checkpoint, Format
from emu.spec.models.checkpoint import StoredLevel

WORDS = {"U8": 1, "U32": 4, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1}  # bytes of an entry, by its type in the .safetensors header


def block_of(store: Checkpoint) -> Block:
    """Return the first block format of a store."""
    found: Block = get("block", store.facts.blocks[0])
    return found


def scale_format(store: Checkpoint) -> Format:
    """Return the format of a store's scales."""
    block = block_of(store)
    found: Format = get("format", [level.format for level in block.facts.levels if level.name != block.flag][-1])
    return found


def tensor_level(store: Checkpoint) -> StoredLevel | None:
    """Return the level of a store that holds one number of the whole tensor."""
    return next((item for item in store.facts.levels if item.meaning != "scale"), None)


def element_bits(block: Block) -> int:
    """Return the bits of an element code; all element formats of a block of a store have the same."""
    return derive.codes(get("format", block.element_formats[0])).bits


def stored_bits(store: Checkpoint) -> int:
    """Return the bits that a store keeps for an element code: those of the code, or a byte."""
    return 8 if store.facts.packing == "none" else element_bits(block_of(store))


def unit_of(store: Checkpoint) -> int:
    """Return of how many elements a row of a store is a multiple: a record, or a block."""
    return store.facts.record.elements if store.facts.record is not None else block_of(store).facts.shape[1]


def bytes_of(store: Checkpoint, elements: int) -> int:
    """Return the bytes of the codes of some elements, whole units of a store."""
    return elements * stored_bits(store) // 8


def size_of_records(store: Checkpoint, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor of records of a shape in elements: in each unit a scale for each block, then the codes."""
    unit = unit_of(store)
    return math.prod(shape) // unit * (unit // block_of(store).facts.shape[1] + bytes_of(store, unit))
