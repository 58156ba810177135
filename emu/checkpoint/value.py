"""Value of one element of a stored unit, exactly: bytes of the file -> codes -> value. The rule in its shortest form, for worked examples.

Not here: whole tensors (read.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from emu.base.errors import OperandError
from emu.checkpoint.facts import block_of, bytes_of, element_bits, stored_bits
from emu.engines.exact.block import decode_block_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value, finite
from emu.spec import derive, get
from emu.spec.models import Block, Checkpoint, Format
from emu.spec.models.format import ExponentFacts


def stored_value(store: Checkpoint, stored: Mapping[str, bytes], lane: int, block: str | None = None) -> Value:
    """Return the value of one element of a unit of a store.

    stored: bytes as the file has them: `codes` of one block (of a tile, of one row of it) and each level by name (little end first for
    the hex of a level is not asked for: most significant byte first), or `record`.   lane: element of the unit.
    block: one of the store's; None: the first.
    Raises: OperandError (bytes missing or too few, a bit that the store refuses).   Source: the store's sources.
    """
    facts = store.facts
    chosen: Block = get("block", block or facts.blocks[0])
    columns = chosen.facts.shape[1]
    levels = {level.name: level.format for level in chosen.facts.levels if level.name != chosen.flag}
    scale = list(levels)[-1]
    if facts.record is not None:
        unit, lane = _unit(store, facts.record.elements, stored.get("record", b""), scale, lane)
        stored = {name: data for name, data in stored.items() if name != "record"} | unit
    size, held = bytes_of(store, columns), len(stored.get("codes", b""))
    if set(stored) != {"codes", *levels} or not (held == size or (facts.edges == "cut" and 0 < held < size)) or not 0 <= lane < columns:
        raise OperandError(f"{store.id}: a block is {size} bytes of codes and the levels {', '.join(levels)}")
    if facts.edges == "cut" and lane >= held:
        raise OperandError(f"{store.id}: element {lane} lies behind the {held} codes of a cut block")
    numbers = {name: int.from_bytes(stored[name], "big") for name in levels}
    code = _code(stored["codes"], lane, stored_bits(store), facts.packing)
    if code >> element_bits(chosen):
        raise OperandError(f"{store.id}: element {lane} is {code:02X}, which is no code of {element_bits(chosen)} bits")
    fmt: Format = get("format", levels[scale])
    numbers[scale], high = _scale(store, numbers[scale], fmt)
    if chosen.flag is not None:
        numbers[chosen.flag] = high
    return code_value(store, chosen, code, numbers)


def code_value(store: Checkpoint, block: Block, code: int, levels: Mapping[str, int]) -> Value:
    """Return what an element code means in a store, exactly.

    levels: level of the block -> the code that holds for the element; a scale without bits above its format.
    Raises: OperandError (a scale code that the store refuses).   Source: the store's sources.
    """
    scale = [level for level in block.facts.levels if level.name != block.flag][-1]
    fmt: Format = get("format", scale.format)
    if derive.is_nan_code(levels[scale.name], fmt) and store.facts.nan_scale != "nan":
        return _special(store, block, code, levels[scale.name], fmt)
    return decode_block_value(block, code, levels)


def _unit(store: Checkpoint, elements: int, record: bytes, scale: str, lane: int) -> tuple[dict[str, bytes], int]:
    """Return the block of a record that holds a lane, and the lane in it."""
    columns = block_of(store).facts.shape[1]
    blocks, size = elements // columns, bytes_of(store, columns)
    if len(record) != blocks * (1 + size):
        raise OperandError(f"a unit of {elements} elements has {blocks * (1 + size)} bytes, not {len(record)}")
    number, inside = divmod(lane, columns)
    return {"codes": record[blocks + number * size :][:size], scale: record[number : number + 1]}, inside


def _code(packed: bytes, lane: int, bits: int, packing: str) -> int:
    """Return the code of a lane: in halves of 4 bits, or in one row of bits that begins in the lowest one of the first byte."""
    if packing == "high_nibble_first":
        return packed[lane // 2] >> 4 * (1 - lane % 2) & 15
    if packing == "halves":
        high, place = divmod(lane, len(packed))
        return packed[place] >> 4 * high & 15
    return int.from_bytes(packed, "little") >> lane * bits & (1 << bits) - 1


def _scale(store: Checkpoint, code: int, fmt: Format) -> tuple[int, int]:
    """Return the code of a scale without a bit above its format, and that bit."""
    bits = derive.codes(fmt).bits
    high = code >> bits
    if high and store.facts.high_bit == "refused":
        raise OperandError(f"{store.id}: bit {bits} of a scale is set")
    return code & (1 << bits) - 1, high


def _special(store: Checkpoint, block: Block, code: int, scale: int, fmt: Format) -> Value:
    """Return what the library reads under a scale that the format calls NaN. Only stores of one level have another rule than nan."""
    if store.facts.nan_scale == "refused":
        raise OperandError(f"{store.id}: a scale is the code {scale:02X}, which its library reads as no value of the format")
    element = decode_code(code, get("format", block.element_formats[0]))
    if store.facts.nan_scale == "zero":
        return Value("finite", element.sign)
    assert isinstance(fmt.facts, ExponentFacts)
    factor = Fraction(2) ** (scale - fmt.facts.bias) * derive.parse_exact(block.facts.factor)
    return finite(element.signed * factor) if element.magnitude else element
