"""What quantization does to an operand of a whole model: through emu's engines, rotated and back where asked. Not here: the models."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import emu

Array = NDArray[np.float32]
ROTATION: Final = "rht16_ufp4"
SIZE: Final = 16
SIGN_SETS: Final = 8
SEED: Final = 2606


def sign_mask(number: int) -> int:
    """Return the signs of set `number`: bit i negates element i of 16; sets differ, each is always the same."""
    return int(np.random.Generator(np.random.Philox(key=[SEED, number])).integers(0, 1 << SIZE))


def hadamard() -> Array:
    """Return Sylvester's matrix of 16 rows, each of length 1: symmetric, its own inverse."""
    one = np.array([[1.0]])
    while len(one) < SIZE:
        one = np.block([[one, one], [one, -one]])
    return (one / 4).astype(np.float32)


def signs_of(mask: int) -> Array:
    """Return the 16 factors, 1 or -1, of a mask."""
    return np.array([-1.0 if mask >> place & 1 else 1.0 for place in range(SIZE)], np.float32)


def rotated(x: Array, mask: int) -> NDArray[Any]:
    """Return a matrix rotated along its last axis by ROTATION with these signs, bf16. x: [..., K], K a multiple of 16."""
    return emu.transform(x, ROTATION, -1, mask)


def turned_back(y: Array, mask: int) -> Array:
    """Undo the rotation with these signs, in binary32. y: [..., K], K a multiple of 16."""
    found = (y.reshape(-1, SIZE) @ hadamard()) * signs_of(mask)
    return np.ascontiguousarray(found.reshape(y.shape), np.float32)


def quantized(x: Array, recipe: str, mask: int | None = None) -> Array:
    """Return what is left of a matrix after quantizing it along its last axis, in its own basis, binary32.

    x: [rows, K].   recipe: a recipe without a rotation of its own.   mask: rotate by ROTATION with these signs first, and back afterwards.
    Raises: as emu.quantize.
    """
    given: Any = x if mask is None else rotated(x, mask)
    found: Array = np.asarray(emu.quantize(given, recipe, -1, -2).dequantize(np.float32), np.float32)
    return found if mask is None else turned_back(found, mask)


def treated(x: Array, found: Array, treatment: str, key: int) -> Array:
    """Change the error of a quantized matrix in one respect and keep the rest: what a guess about its effect is tested with.

    signs: every error gets a random sign, so it keeps its size and place and no longer depends on the value.   shuffle: errors change
    places within each block of 16, so the error of a block keeps its energy.   regain: one factor makes the gain of the matrix 1.
    """
    if treatment == "none":
        return found
    if treatment == "regain":
        gain = float((found.astype(np.float64) * x).sum() / (x.astype(np.float64) ** 2).sum())
        even: Array = (found / np.float32(gain)).astype(np.float32)
        return even
    rng = np.random.Generator(np.random.Philox(key=[SEED, key]))
    error = found - x
    if treatment == "signs":
        return x + error * (1 - 2 * rng.integers(0, 2, error.shape)).astype(np.float32)
    moved: Array = x + rng.permuted(error.reshape(-1, SIZE), axis=1).reshape(x.shape)
    return moved


def through_q4_1(w: Array) -> Array:
    """Return weights as a Q4_1 file keeps them: blocks of 32, 16 even steps from the smallest to the largest value, binary16 step and base.

    w: [rows, K], K a multiple of 32. The codes follow the reference quantizer of ggml, quantize_row_q4_1_ref.
    """
    blocks = w.reshape(-1, 32)
    low, high = blocks.min(axis=1, keepdims=True), blocks.max(axis=1, keepdims=True)
    step = (high - low) / np.float32(15)
    scaled = np.divide(blocks - low, step, out=np.zeros_like(blocks), where=step != 0)
    codes = np.minimum(15, np.floor(scaled + np.float32(0.5)))
    found = codes * step.astype(np.float16).astype(np.float32) + low.astype(np.float16).astype(np.float32)
    kept: Array = found.reshape(w.shape).astype(np.float32)
    return kept
