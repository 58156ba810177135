"""A matrix product of NVFP4 operands in tiles along K, and the same with a fault in it."""

import ml_dtypes
import numpy as np

import emu

TILE = 64


def tiled(a: emu.Quantized, b: emu.Quantized) -> np.ndarray:
    """a @ b.T in binary32, TILE elements of K at a time; a: [M, K], b: [N, K], both blocked along K."""
    left, right = a.dequantize(), b.dequantize()
    total = np.zeros((len(left), len(right)), np.float32)
    for first in range(0, left.shape[1], TILE):
        total += left[:, first : first + TILE] @ right[:, first : first + TILE].T
    return total


def faulty(a: emu.Quantized, b: emu.Quantized) -> np.ndarray:
    """The same; the last element of K is left out where K is no multiple of the tile."""
    left = a.dequantize()
    if left.shape[1] % TILE:
        left[:, -1] = 0
    return left @ b.dequantize().T


def narrow(a: emu.Quantized, b: emu.Quantized) -> np.ndarray:
    """The same as tiled, but the sums are kept in bf16 between tiles."""
    left, right = a.dequantize(), b.dequantize()
    total = np.zeros((len(left), len(right)), ml_dtypes.bfloat16)
    for first in range(0, left.shape[1], TILE):
        total = (total + left[:, first : first + TILE] @ right[:, first : first + TILE].T).astype(ml_dtypes.bfloat16)
    return total.astype(np.float32)
