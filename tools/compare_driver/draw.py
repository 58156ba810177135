"""Operands: a counter-based generator (splitmix64 of a key and a counter), and directed bit patterns. No state, the same on every build."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[Any]


def words(key: str, count: int) -> NDArray[np.uint64]:
    """Return count words of 64 bits that follow from a key alone."""
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def integers(key: str, count: int, bits: int) -> Bits:
    """Return count integers of so many bits, in the narrowest unsigned dtype."""
    dtype = np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64
    return (words(key, count) >> np.uint64(64 - bits)).astype(dtype)


def normals(key: str, shape: tuple[int, ...], spread: int = 0) -> NDArray[np.float32]:
    """Return values near a normal distribution: sums of four 16-bit integers, times a power of two, exact in binary32.

    spread: the power differs from block to block of 16 by up to so many binades.
    """
    count = int(np.prod(shape))
    drawn = words(key, count)
    total = sum(((drawn >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4))
    values = (np.asarray(total) - 131070).astype(np.float64) / 2.0**15
    if spread:
        powers = (words(f"{key} powers", -(-count // 16)) % np.uint64(2 * spread + 1)).astype(np.int64) - spread
        values = np.ldexp(values, np.repeat(powers, 16)[:count])
    return values.astype(np.float32).reshape(shape)


def fp32_patterns() -> NDArray[np.uint32]:
    """Return binary32 codes: 24 exponents about 1 with all 4 leading fraction bits, and one ulp below and above; ends; specials."""
    centres = np.arange(112, 136, dtype=np.int64)[:, None] << 23 | np.arange(16, dtype=np.int64)[None, :] << 19
    near = (centres.reshape(-1)[:, None] + np.array([-1, 0, 1])).reshape(-1)
    ends = np.arange(1, 255, dtype=np.int64)[:, None] << 23 | np.array([0, 1, 0x400000, 0x7FFFFF])
    odd = [0, 1, 2, 0x7FFFFF, 0x400000, 0x7F800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF]
    codes = np.concatenate([near, ends.reshape(-1), np.array(odd)]).astype(np.uint32)
    return np.concatenate([codes, codes | np.uint32(0x80000000)])


def source_codes(bits: int, key: str, few: bool) -> Bits:
    """Return codes of a source of so many bits: directed and drawn; all of them up to 8 bits; few: about 96."""
    if bits <= 8:
        return np.arange(1 << bits, dtype=np.uint8)
    if bits == 32:
        codes = np.concatenate([fp32_patterns(), integers(key, 1500, 32)])
    elif bits == 16:
        specials = np.array([0x7F80, 0xFF80, 0x7FC0, 0x7C00, 0xFC00, 0x7E00, 0x8000])
        codes = np.concatenate([np.arange(0, 1 << 16, 13), specials]).astype(np.uint16)
    else:
        with np.errstate(all="ignore"):
            wide = fp32_patterns().view(np.float32).astype(np.float64)
        codes = np.concatenate([wide.view(np.uint64), wide.view(np.uint64) + np.uint64(1), words(key, 1500)])
    if not few:
        return codes
    return codes[(words(f"{key} few", 96) % np.uint64(len(codes))).astype(np.int64)]
