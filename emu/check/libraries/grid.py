"""Values of a narrow format to its codes, for libraries that answer values only. No rounding: a value off the grid has no code.

Scales that are powers of two to E8M0 bytes, likewise.
"""

from __future__ import annotations

import numpy as np

import emu
from emu.contracts.form import Bits

NOTE = "answers values, read as the codes of the same value; NaN, Inf and values off the grid have no code and are read as 0x0"


def codes_of(values: Bits, format: str) -> Bits:  # noqa: A002
    """Return the codes of binary32 values. values: float32 [n].   format: id of at most 8 bits.   NaN and values off the grid: code 0."""
    fmt = emu.spec.get("format", format)
    every = np.arange(1 << fmt.facts.bits, dtype=np.uint8)
    known = {bits: code for code, bits in zip(every[::-1].tolist(), emu.decode(every[::-1], format).view(np.uint32).tolist(), strict=True)}
    distinct, where = np.unique(np.ascontiguousarray(values, np.float32).view(np.uint32), return_inverse=True)
    found = np.array([0 if _nan(bits) else known.get(bits, 0) for bits in distinct.tolist()], np.uint8)
    return found[where].reshape(values.shape)


def e8m0_of(scale: Bits) -> Bits:
    """Return the bytes of scales that are powers of two: the exponent field.

    scale: float32 [...].   Zero and what is below 2^-127 have no byte and are read as 0x00; Inf and NaN are 0xFF.
    """
    return (np.ascontiguousarray(scale, np.float32).view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.uint8)


def _nan(bits: int) -> bool:
    return bits & 0x7FFFFFFF > 0x7F800000
