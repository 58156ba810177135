"""NVFP4 quantizers that compute well and put things in the wrong place: tails, nibbles, scales."""

from __future__ import annotations

import numpy as np
from kernels_nvfp4 import F32, quantize


def tail_block_dropped(x, tensor_amax):
    """Elements after the last whole block are never written."""
    found = quantize(x, tensor_amax)
    whole = x.shape[1] // 16
    found["codes"][:, whole * 16 :] = 0
    found["scale"][:, whole:] = 0
    return found


def tail_block_reads_on(x, tensor_amax):
    """The last, short block reads its missing lanes from the row before the end."""
    missing = -x.shape[1] % 16
    found = quantize(np.concatenate([x, np.repeat(x[:, :1], missing, axis=1) * F32(2)], axis=1) if missing else x, tensor_amax)
    return {"codes": found["codes"][:, : x.shape[1]], "scale": found["scale"]}


def nibbles_swapped(x, tensor_amax):
    """Even elements in the high nibble: as codes, neighbours change places."""
    found = quantize(x, tensor_amax)
    n = x.shape[1] // 2 * 2
    found["codes"][:, :n] = found["codes"][:, :n].reshape(len(x), -1, 2)[..., ::-1].reshape(len(x), -1)
    return found


def packed_high_nibble_first(x, tensor_amax):
    """Bytes, even elements in the high nibble."""
    found = quantize(x, tensor_amax)
    pairs = np.pad(found["codes"], ((0, 0), (0, x.shape[1] % 2))).reshape(len(x), -1, 2)
    return found | {"codes": pairs[..., 0] << 4 | pairs[..., 1]}


def right_te_packed(x, tensor_amax):
    found = quantize(x, tensor_amax)
    pairs = np.pad(found["codes"], ((0, 0), (0, x.shape[1] % 2))).reshape(len(x), -1, 2)
    return found | {"codes": pairs[..., 0] | pairs[..., 1] << 4}


def scales_transposed(x, tensor_amax):
    """Scale bytes of the transposed tensor order."""
    found = quantize(x, tensor_amax)
    return found | {"scale": np.ascontiguousarray(found["scale"].T).reshape(found["scale"].shape)}


# scales in tiles of 128 rows and 4 columns: 32 rows, 4 row groups, 4 scales


def swizzled(x, tensor_amax, order=(0, 3, 2, 1, 4)):
    found = quantize(x, tensor_amax)
    height, width = -(-len(x) // 128) * 128, -(-found["scale"].shape[1] // 4) * 4
    padded = np.zeros((height, width), np.uint8)
    padded[: len(x), : found["scale"].shape[1]] = found["scale"]
    tiles = padded.reshape(height // 128, 4, 32, width // 4, 4)
    return found | {"scale": np.ascontiguousarray(tiles.transpose(order)).reshape(height, width)}


def right_swizzled(x, tensor_amax):
    return swizzled(x, tensor_amax)


def scales_not_swizzled(x, tensor_amax):
    return swizzled(x, tensor_amax, order=(0, 1, 2, 3, 4))


def scale_rows_in_order(x, tensor_amax):
    """Rows 0 .. 127 one after the other inside a tile."""
    return swizzled(x, tensor_amax, order=(0, 3, 1, 2, 4))


def scale_tiles_by_column(x, tensor_amax):
    """Tiles down the columns first."""
    return swizzled(x, tensor_amax, order=(3, 0, 2, 1, 4))


def scales_transposed_in_four(x, tensor_amax):
    return swizzled(x, tensor_amax, order=(0, 3, 2, 4, 1))
