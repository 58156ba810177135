"""gguf (llama.cpp's Python package): MXFP4 blocks, the UE4M3 scale of NVFP4, and what blocks decode to."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("gguf", "gguf")
_F = {"takes": "numpy.fp32"}


def mxfp4(x: Any) -> dict[str, Any]:
    """MXFP4.quantize_blocks: element j and j + 16 share a byte."""
    with np.errstate(all="ignore"):
        found = load("gguf.quants").MXFP4.quantize_blocks(x.reshape(-1, 32)).reshape(x.shape[0], -1, 17)
    codes = np.concatenate([found[..., 1:] & 15, found[..., 1:] >> 4], -1)
    return {"codes": codes.reshape(x.shape), "scale": found[..., 0]}


def mxfp4_values(codes: Any, *, scale: Any) -> Any:
    """MXFP4.dequantize_blocks."""
    blocks = codes.reshape(-1, 32)
    stored = np.concatenate([scale.reshape(-1, 1), blocks[:, :16] | blocks[:, 16:] << 4], -1)
    with np.errstate(all="ignore"):
        return load("gguf.quants").MXFP4.dequantize_blocks(stored).reshape(codes.shape)


def ue4m3(x: Any) -> Any:
    """NVFP4.fp32_to_ue4m3 of magnitudes: a scale has no sign."""
    with np.errstate(all="ignore"):
        return load("gguf.quants").NVFP4.fp32_to_ue4m3(np.abs(x))


def decode_ue4m3(codes: Any) -> Any:
    """NVFP4.ue4m3_to_fp32, its factor of one half undone."""
    return (load("gguf.quants").NVFP4.ue4m3_to_fp32(codes.astype(np.uint8)) * 2).astype(np.float32)


KERNELS = (
    Kernel(
        LIBRARY, "mxfp4", "quantize/mxfp4_torchao_floor", mxfp4, "quants.MXFP4.quantize_blocks", "nearest", options=_F, multiple=(1, 32)
    ),
    Kernel(
        LIBRARY, "dequantize_mxfp4", "dequantize/mxfp4_te_pow2/exact", mxfp4_values, "quants.MXFP4.dequantize_blocks", "nearest", options=_F
    ),
    Kernel(LIBRARY, "ue4m3", "convert/ue4m3/rne/nvidia", ue4m3, "quants.NVFP4.fp32_to_ue4m3(abs(x))", "nearest", options=_F),
    Kernel(
        LIBRARY,
        "decode_ue4m3",
        "decode/ue4m3",
        decode_ue4m3,
        "quants.NVFP4.ue4m3_to_fp32, times 2",
        "nearest",
        options={"takes": "numpy.bits"},
    ),
)
