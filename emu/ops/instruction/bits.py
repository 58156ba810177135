"""Registers: lanes in and out of raw bits. A register of more than 64 bits is an array of 32-bit words, the lowest first.

Not here: what a lane means (emu.ops.instruction.convert).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes, plain_array
from emu.base.errors import OperandError, ShapeError
from emu.spec.models.instruction import Register

WORD = 32
WIDEST = 64


def register_dtype(bits: int) -> type[np.unsignedinteger]:
    """Return the dtype of a register, or of the words of a wide one."""
    if bits > WIDEST:
        return np.uint32
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def take_register(value: Any, name: str, bits: int) -> Codes:
    """Return an operand as unsigned bits: shape [...] up to 64 bits, [..., words] above.

    value: unsigned integers, or integers that are not negative.   Raises: OperandError (other dtypes, too wide), ShapeError (words).
    """
    array = plain_array(value, name)
    if array.dtype == object or array.dtype.kind not in "iu" or (array.size and int(array.min()) < 0):
        raise OperandError(f"{name} must be raw bits: unsigned integers of {bits} bits")
    width = min(bits, WIDEST) if bits <= WIDEST else WORD
    if array.size and int(array.max()) >> width:
        raise OperandError(f"{name} has more than {width} bits")
    if bits > WIDEST and (array.ndim == 0 or array.shape[-1] != -(-bits // WORD)):
        raise ShapeError(f"{name} is a register of {bits} bits: give {-(-bits // WORD)} words of {WORD} bits on the last axis")
    return array.astype(register_dtype(bits))


def unpack(register: Codes, layout: Register, slot: int) -> Codes:
    """Return the slots of a register on a new last axis, the first lane of its layout first.

    register: as take_register returns it.   slot: bits per lane.   Returns: uint64 [..., lanes].
    """
    lanes = layout.lanes
    if lanes * slot <= WIDEST:
        wide = register.astype(np.uint64)
        shifts = np.arange(lanes, dtype=np.uint64) * np.uint64(slot)
        mask = np.uint64((1 << slot) - 1)
        out = (wide[..., None] >> shifts) & mask
    else:
        flat = np.ascontiguousarray(register.astype("<u4")).view(np.uint8)
        bits = np.unpackbits(flat, axis=-1, bitorder="little")[..., : lanes * slot]
        out = _join(bits.reshape(*bits.shape[:-1], lanes, slot))
    return out[..., ::-1] if layout.first == "high" else out


def _join(bits: NDArray[np.uint8]) -> Codes:
    """Return integers out of bits, lowest first on the last axis."""
    weights = np.uint64(1) << np.arange(bits.shape[-1], dtype=np.uint64)
    joined: Codes = (bits.astype(np.uint64) * weights).sum(axis=-1, dtype=np.uint64)
    return joined


def pack(codes: Codes, layout: Register, slot: int) -> Codes:
    """Return the register of codes on the last axis, the first lane of the layout first; the rest of each slot is 0.

    Returns: [...] of 8, 16, 32 or 64 bits, or words [..., n] of 32 bits.
    """
    lanes = codes[..., ::-1] if layout.first == "high" else codes
    bits = layout.lanes * slot
    if bits <= WIDEST:
        shifts = np.arange(layout.lanes, dtype=np.uint64) * np.uint64(slot)
        narrow: Codes = np.bitwise_or.reduce(lanes.astype(np.uint64) << shifts, axis=-1).astype(register_dtype(bits))
        return narrow
    spread = (lanes.astype(np.uint64)[..., None] >> np.arange(slot, dtype=np.uint64)) & np.uint64(1)
    flat = spread.astype(np.uint8).reshape(*lanes.shape[:-1], bits)
    missing = -bits % WORD
    if missing:
        flat = np.concatenate([flat, np.zeros((*flat.shape[:-1], missing), np.uint8)], axis=-1)
    packed = np.ascontiguousarray(np.packbits(flat, axis=-1, bitorder="little"))
    return packed.view("<u4").astype(np.uint32)


def register_of(text: str) -> Any:
    """Return the register that hex digits write, the highest first: an int up to 16 digits, else its 32-bit words, lowest first."""
    number = int(text, 16)
    if len(text) * 4 <= WIDEST:
        return number
    return np.array([number >> shift & 0xFFFFFFFF for shift in range(0, len(text) * 4, WORD)], np.uint32)


def register_text(register: Any, digits: int) -> str:
    """Return one register as so many hex digits, the highest first."""
    words = np.asarray(register)
    number = int(words) if words.ndim == 0 else sum(int(word) << WORD * place for place, word in enumerate(words))
    return f"{number:0{digits}X}"
