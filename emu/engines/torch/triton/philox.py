"""Device function: Philox4x32-10 words by position. The map of counter and key is that of emu.base.philox; so are the constants."""

from __future__ import annotations

import triton
import triton.language as tl

from emu.base import philox

MULTIPLIER0, MULTIPLIER1 = tl.constexpr(philox.MULTIPLIERS[0]), tl.constexpr(philox.MULTIPLIERS[1])
WEYL0, WEYL1 = tl.constexpr(philox.WEYL[0]), tl.constexpr(philox.WEYL[1])
ROUNDS = tl.constexpr(philox.ROUNDS)


@triton.jit
def block_words(block, seed):
    """Return the four uint32 words of counter blocks.

    block: int64 tensor, the number of the block.   seed: pointer to int32 halves of key and stream, each low half first.
    """
    c0, c1 = (block & 0xFFFFFFFF).to(tl.uint32), (block >> 32).to(tl.uint32)
    zero = tl.zeros_like(c0)
    k0, k1 = zero + tl.load(seed).to(tl.uint32, bitcast=True), zero + tl.load(seed + 1).to(tl.uint32, bitcast=True)
    c2, c3 = zero + tl.load(seed + 2).to(tl.uint32, bitcast=True), zero + tl.load(seed + 3).to(tl.uint32, bitcast=True)
    for _ in tl.static_range(ROUNDS):
        high0, low0 = tl.umulhi(c0, zero + MULTIPLIER0), c0 * MULTIPLIER0
        high1, low1 = tl.umulhi(c2, zero + MULTIPLIER1), c2 * MULTIPLIER1
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + WEYL0, k1 + WEYL1
    return c0, c1, c2, c3


@triton.jit
def words(index, seed):
    """Return the uint32 word of every index (int64 tensor): word i % 4 of block i // 4. Any order of indices."""
    w0, w1, w2, w3 = block_words(index // 4, seed)
    lane = index % 4
    return tl.where(lane == 0, w0, tl.where(lane == 1, w1, tl.where(lane == 2, w2, w3)))


@triton.jit
def words_of_rows(first, seed):
    """Return the words of four consecutive indices for each start that is a multiple of 4.

    first: int64 [rows, groups].   Returns: uint32 [rows, 4 * groups].
    """
    w0, w1, w2, w3 = block_words(first // 4, seed)
    return tl.reshape(tl.join(tl.join(w0, w2), tl.join(w1, w3)), (first.shape[0], first.shape[1] * 4))
