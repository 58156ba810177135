"""Round to odd into bf16: cut the low bits and keep in the last bit whether any of them was set. Ties and directions survive it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


def odd_index(bits: U32, scratch: U32, index: NDArray[np.intp]) -> None:
    """Write the bf16 code (round to odd) of binary32 codes into an index array, without other allocation.

    bits: uint32 [n].   scratch: uint32 [n], overwritten.   index: intp [n], the result. NaN stays NaN, Inf stays Inf.
    """
    # A carry out of the low half marks what was cut; drawn in docs/how_it_works.md#one-table-and-rounding-to-odd
    np.bitwise_and(bits, np.uint32(0xFFFF), out=scratch)
    np.add(scratch, np.uint32(0xFFFF), out=scratch)
    np.bitwise_or(scratch, bits, out=scratch)
    np.right_shift(scratch, np.uint32(16), out=scratch)
    np.copyto(index, scratch, casting="unsafe")


def odd_from_fp64(bits: U64) -> U16:
    """Return the bf16 code (round to odd, one step) of binary64 codes.

    bits: uint64.   Finite overflow goes to 0x7F7F, underflow to 0x0001; Inf stays Inf, NaN gives a quiet NaN with its sign.
    """
    sign = (bits >> np.uint64(48)).astype(np.uint16) & np.uint16(0x8000)
    magnitude = bits & np.uint64(0x7FFFFFFFFFFFFFFF)
    exp = (magnitude >> np.uint64(52)).astype(np.int64) - 1023
    significand = (magnitude & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)
    shift = np.clip(45 + np.maximum(-126 - exp, 0), 0, 62).astype(np.uint64)
    kept = significand >> shift
    sticky = (kept << shift) != significand
    field = np.maximum(exp, -126) + 126
    code = ((field.astype(np.uint64) << np.uint64(7)) + kept) | sticky.astype(np.uint64)
    code = np.where(exp > 127, np.uint64(0x7F7F), code)
    code = np.where(exp == -1023, (magnitude != 0).astype(np.uint64), code)
    code = np.where(exp == 1024, np.where(magnitude == np.uint64(0x7FF << 52), np.uint64(0x7F80), np.uint64(0x7FC0)), code)
    return code.astype(np.uint16) | sign
