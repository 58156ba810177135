"""NVINT4 as fouroversix writes it (two's complement elements, E4M3 scales), in plain NumPy, right and wrong.

x: float32 [rows, n], n a multiple of 16.   tensor_amax: float32.   Answer: element codes [rows, n] and scale bytes [rows, n / 16].
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

F32 = np.float32


def integers(y):
    """Nearest, half to even, never -8."""
    return np.rint(np.clip(y, -7, 7))


def quantize(x, tensor_amax, whole=integers, divisor=7):
    with np.errstate(all="ignore"):
        blocks = x.reshape(len(x), -1, 16)
        times = F32(3136) / F32(tensor_amax)
        wanted = np.where(F32(tensor_amax) == 0, F32(0), np.abs(blocks).max(axis=-1) / F32(divisor) * times)
        byte = np.clip(wanted, 0, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        value = byte.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        y = blocks * (F32(1) / (F32(1) / times * value))[..., None]
        y = np.where(value[..., None] == 0, F32(0), y)
        return {"codes": (whole(y).astype(np.int8) & 15).astype(np.uint8).reshape(x.shape), "scale": byte}


def right_nvint4(x, tensor_amax):
    return quantize(x, tensor_amax)


# wrong


def minus_eight_used(x, tensor_amax):
    return quantize(x, tensor_amax, whole=lambda y: np.rint(np.clip(y, -8, 7)))


def half_up(x, tensor_amax):
    return quantize(x, tensor_amax, whole=lambda y: np.floor(np.clip(y, -7, 7) + F32(0.5)))


def half_away(x, tensor_amax):
    return quantize(x, tensor_amax, whole=lambda y: np.trunc(np.clip(y, -7, 7) + np.copysign(F32(0.5), y)))


def truncated(x, tensor_amax):
    return quantize(x, tensor_amax, whole=lambda y: np.trunc(np.clip(y, -7, 7)))


def wraps(x, tensor_amax):
    """No clamp: 8 becomes -8."""
    return quantize(x, tensor_amax, whole=lambda y: np.rint(np.clip(y, -1000, 1000)).astype(np.int64))


def divides_by_eight(x, tensor_amax):
    return quantize(x, tensor_amax, divisor=8)
