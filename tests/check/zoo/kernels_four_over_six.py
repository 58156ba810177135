"""NVFP4 of fouroversix that sends the block maximum to 6 or to 4 by the smaller error, in plain NumPy, right and wrong.

x: float32 [rows, n].   tensor_amax: float32.   Answer: element codes and scale bytes of whole blocks, those of the padding too.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from kernels_nvfp4 import F32, GRID, e4m3, from_e4m3

WIDE = np.concatenate([GRID, *(F32(2.0**k) * F32([8, 12]) for k in range(120))])  # E2M1 without an end
TIES = WIDE[:-1] / 2 + WIDE[1:] / 2
LARGEST = F32(1536)


def halves(errors):
    """The second eight added to the first, then one after another."""
    return in_a_row(errors[..., :8] + errors[..., 8:])


def in_a_row(errors):
    return reduce(np.add, np.moveaxis(errors, -1, 0))


def tree(errors):
    while errors.shape[-1] > 1:
        half = errors.shape[-1] // 2
        errors = errors[..., :half] + errors[..., half:]
    return errors[..., 0]


def squares(difference):
    return difference * difference


def nearest(y):
    """Index of the nearest number of WIDE; a tie goes to the even one."""
    below, above = (np.searchsorted(TIES, np.abs(y), side=side) for side in ("left", "right"))
    return np.where(below % 2 == 0, below, above)


def candidate(blocks, raw, factor, tensor_amax):
    """Codes, scale bytes and differences of one choice. raw: scales before they are bytes."""
    byte = e4m3(raw)
    value = from_e4m3(byte)[..., None]
    y = np.where(value == 0, F32(0), blocks * (F32(1) / (factor * value)))
    y = np.where(y == 0, F32(0), y)
    place = nearest(y)
    decoded = np.copysign(WIDE[place], y) * value * F32(tensor_amax) / LARGEST
    return (place | 8 * np.signbit(y)) & 15, byte, decoded - blocks


def quantize(x, tensor_amax, error=squares, total=halves, ties_to_four=False):
    with np.errstate(all="ignore"):
        blocks = np.pad(x, ((0, 0), (0, -x.shape[1] % 16))).reshape(len(x), -1, 16)
        times = LARGEST / F32(tensor_amax)
        six = np.where(F32(tensor_amax) == 0, F32(0), np.abs(blocks).max(axis=-1) / F32(6) * times)
        found = [candidate(blocks, raw, F32(1) / times, tensor_amax) for raw in (six, six * F32(1.5))]
        first, second = (total(error(difference)) for _, _, difference in found)
        four = second <= first if ties_to_four else second < first
        codes = np.where(four[..., None], found[1][0], found[0][0]).astype(np.uint8)
        return {"codes": codes.reshape(len(x), -1), "scale": np.where(four, found[1][1], found[0][1])}


def right_f46_mse(x, tensor_amax):
    return quantize(x, tensor_amax)


def right_f46_mae(x, tensor_amax):
    return quantize(x, tensor_amax, error=np.abs)


# wrong


def squares_in_a_row(x, tensor_amax):
    return quantize(x, tensor_amax, total=in_a_row)


def squares_as_a_tree(x, tensor_amax):
    return quantize(x, tensor_amax, total=tree)


def magnitudes(x, tensor_amax):
    return quantize(x, tensor_amax, error=np.abs)


def largest_error(x, tensor_amax):
    return quantize(x, tensor_amax, error=np.abs, total=lambda errors: errors.max(axis=-1))


def tie_goes_to_four(x, tensor_amax):
    return quantize(x, tensor_amax, ties_to_four=True)


def magnitudes_in_a_row(x, tensor_amax):
    return quantize(x, tensor_amax, error=np.abs, total=in_a_row)


def magnitudes_as_a_tree(x, tensor_amax):
    return quantize(x, tensor_amax, error=np.abs, total=tree)
