"""NVFP4 quantizers that round the block scale half way between two E4M3 numbers the wrong way; the rest is kernels_nvfp4.py."""

from __future__ import annotations

import numpy as np
from kernels_nvfp4 import F32, FLT_MAX, SIXTH, from_e4m3, neighbour, quantize, scale_of


def ties_of_scales_away(x, tensor_amax):
    """Half way between two E4M3 numbers the larger one is taken."""

    def scale(amax, times):
        wanted, byte = np.minimum(amax * (times * SIXTH), FLT_MAX), scale_of(amax, times)
        above = neighbour(byte, wanted, up=True)
        tie = wanted - from_e4m3(byte) == from_e4m3(above) - wanted
        return np.where(tie, above, byte).astype(np.uint8)

    return quantize(x, tensor_amax, scale=scale)


def ties_of_subnormal_scales_away(x, tensor_amax):
    """Right but below 2^-6, where the scale is rounded by adding a half."""

    def scale(amax, times):
        wanted = amax * (times * SIXTH)
        small = np.floor(np.where(wanted < F32(2.0**-6), wanted, 0) * F32(2.0**9) + F32(0.5)).astype(np.uint8)
        return np.where(wanted < F32(2.0**-6), small, scale_of(amax, times)).astype(np.uint8)

    return quantize(x, tensor_amax, scale=scale)
