"""FP8 by hand: one scale for a row, the tensor or a tile of 128 x 128, and the way back; with a fault where one is asked for."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

TOP = np.float32(448)  # of E4M3


def codes_of(scaled: Any) -> Any:
    """E4M3 codes of numbers between -448 and 448; NaN, which 0 / 0 is, with the sign that x86 gives it."""
    with np.errstate(invalid="ignore"):
        found = np.clip(scaled, -TOP, TOP).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(scaled), np.uint8(0xFF), found)


def values_of(codes: Any, scale: Any) -> Any:
    """The product of E4M3 codes and a scale, in binary32."""
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale


def by_row(x: Any, reciprocal: bool = False, share: int = 1) -> dict[str, Any]:
    """torchao's FP8 of a row. reciprocal: the maximum times 1 / 448.   share: rows that take the scale of the first of them."""
    amax = np.abs(x).max(axis=1, keepdims=True)
    scale = amax * (np.float32(1) / TOP) if reciprocal else amax / TOP
    if share > 1:
        scale = scale[np.arange(len(x)) // share * share]
    with np.errstate(all="ignore"):
        return {"codes": codes_of(x / scale), "scale": scale}


def by_tensor(x: Any, tensor_amax: Any, ulp: int = 0) -> dict[str, Any]:
    """torchao's FP8 of a tensor. ulp: how far the scale is off."""
    with np.errstate(all="ignore"):
        scale = ((np.float32(tensor_amax) / TOP).view(np.uint32) + np.uint32(ulp)).view(np.float32)
        return {"codes": codes_of(x / scale), "scale": scale}


def by_tile(x: Any, side: int = 128) -> dict[str, Any]:
    """FP8 of tiles, as DeepSeek's weight_quant; tiles at the edges are cut."""
    height, width = (-(-size // side) * side for size in x.shape)
    whole = np.zeros((height, width), np.float32)
    whole[: x.shape[0], : x.shape[1]] = x
    tiles = whole.reshape(height // side, side, width // side, side)
    scale = np.abs(tiles).max(axis=(1, 3)) / TOP
    with np.errstate(all="ignore"):
        codes = codes_of((tiles / scale[:, None, :, None]).reshape(height, width))
    return {"codes": codes[: x.shape[0], : x.shape[1]], "scale": scale}
