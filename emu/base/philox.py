"""Philox4x32-10: random words from a key and a position, with no state. Not here: what a rounding does with the bits (spec/rounding).

Word k of (key, stream) is word k % 4 of the block whose counter is (k // 4, stream): 64 bits each, low half first. The words of an
array are indexed by the row-major place of its elements, so no chunk, shard or order of work changes a draw.
Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; known answers of its Random123 library.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from emu.base.errors import OperandError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDS: Final = 10
MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_LOW: Final = 0xFFFFFFFF
_CHUNK: Final = 1 << 16


def stream_of(name: str) -> int:
    """Return the stream of a named tensor: the first 8 bytes of the SHA-256 of its UTF-8 name, little-endian; "" gives stream 0."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "little") if name else 0


def check_key(key: int, stream: int = 0) -> None:
    """Check that key and stream have at most 64 bits. Raises: OperandError."""
    for what, value in (("key", key), ("stream", stream)):
        if not 0 <= value < 1 << 64:
            raise OperandError(f"random {what} {value} must be in 0 .. 2^64 - 1")


def words(key: int, count: int, start: int = 0, stream: int = 0) -> NDArray[np.uint32]:
    """Return `count` 32-bit words from word `start` on.

    key, stream: 64-bit integers.   Returns: uint32 [count]; any split into calls gives the same words.   Raises: OperandError.
    """
    import numpy as np

    check_key(key, stream)
    if count < 0 or start < 0 or start + count > 1 << 66:
        raise OperandError(f"random words {start} .. {start + count} lie outside the generator's 2^66 words")
    first = start // 4
    out = np.empty((-(-(start + count) // 4) - first, 4), np.uint32)
    for begin in range(0, len(out), _CHUNK):
        part = out[begin : begin + _CHUNK]
        _fill(part, first + begin, key, stream)
    return out.reshape(-1)[start - 4 * first :][:count]


def _fill(out: NDArray[np.uint32], first: int, key: int, stream: int) -> None:
    """Fill [n, 4] words with the blocks from block `first` on."""
    import numpy as np

    low, half = np.uint64(_LOW), np.uint64(32)
    index = np.arange(len(out), dtype=np.uint64) + np.uint64(first)
    c0, c1 = index & low, index >> half
    c2, c3 = np.full_like(index, stream & _LOW), np.full_like(index, stream >> 32)
    k0, k1 = key & _LOW, key >> 32
    for _ in range(ROUNDS):
        product0, product1 = np.uint64(MULTIPLIERS[0]) * c0, np.uint64(MULTIPLIERS[1]) * c2
        c0, c1, c2, c3 = product1 >> half ^ c1 ^ np.uint64(k0), product1 & low, product0 >> half ^ c3 ^ np.uint64(k1), product0 & low
        k0, k1 = (k0 + WEYL[0]) & _LOW, (k1 + WEYL[1]) & _LOW
    for column, word in enumerate((c0, c1, c2, c3)):
        out[:, column] = word


def draw(key: int, count: int, bits: int, stream: int = 0) -> NDArray[np.uint32] | NDArray[np.uint64]:
    """Return one random integer of `bits` bits for each of `count` places: the low bits of its word; above 32 bits of two words, low first.

    bits: 1 .. 64.   Returns: uint32 or, above 32 bits, uint64 [count].   Raises: OperandError.
    """
    import numpy as np

    if not 1 <= bits <= 64:
        raise OperandError(f"random integers have 1 to 64 bits, not {bits}")
    if bits <= 32:
        return words(key, count, 0, stream) & np.uint32((1 << bits) - 1)
    pairs = words(key, 2 * count, 0, stream).astype(np.uint64).reshape(-1, 2)
    return (pairs[:, 0] | pairs[:, 1] << np.uint64(32)) & np.uint64((1 << bits) - 1)
