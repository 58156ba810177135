"""nvidia-modelopt on a CPU: NVFP4QTensor, MXFP4QTensor, their element cast and what they decode to."""

from __future__ import annotations

from typing import Any

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("modelopt", "nvidia-modelopt", ("torch",))
_FP32 = {"takes": "torch.fp32"}
_QTENSOR = "modelopt.torch.quantization.qtensor"


def nvfp4(x: Any, *, tensor_amax: Any) -> dict[str, Any]:
    """NVFP4QTensor.quantize with the tensor factor that the library makes of a maximum."""
    kind = load(_QTENSOR).NVFP4QTensor
    factor = kind.get_weights_scaling_factor_2(tensor_amax.reshape(1))
    stored, scale, factor = kind.quantize(x.clone(), 16, None, factor)
    return {"packed": stored._quantized_data, "scale": scale, "tensor": factor}


def nvfp4_values(codes: Any, *, tensor: Any, scale: Any) -> Any:
    """NVFP4QTensor.dequantize to float32."""
    torch = load("torch")
    stored = load(_QTENSOR).NVFP4QTensor(codes.shape, torch.float32, codes[..., 1::2] << 4 | codes[..., ::2])
    levels = {"scale": scale.view(torch.float8_e4m3fn), "double_scale": tensor, "block_sizes": {-1: 16}}
    return stored.dequantize(torch.float32, **levels)


def mxfp4(x: Any) -> dict[str, Any]:
    """MXFP4QTensor.quantize."""
    stored, scale = load(_QTENSOR).MXFP4QTensor.quantize(x.clone(), 32)
    return {"packed": stored._quantized_data, "scale": scale.reshape(x.shape[0], -1)}


def mxfp4_values(codes: Any, *, scale: Any) -> Any:
    """MXFP4QTensor.dequantize to float32."""
    torch = load("torch")
    stored = load(_QTENSOR).MXFP4QTensor(codes.shape, torch.float32, codes[..., 1::2] << 4 | codes[..., ::2])
    return stored.dequantize(torch.float32, scale=scale, block_sizes={-1: 32})


def cast(x: Any) -> Any:
    """NVFP4QTensor._cast_fp4, which works in place."""
    return load(_QTENSOR).NVFP4QTensor._cast_fp4(x.clone())


KERNELS = (
    Kernel(LIBRARY, "e2m1", "convert/e2m1/rne/nvidia", cast, "NVFP4QTensor._cast_fp4", "nearest", options=_FP32),
    Kernel(LIBRARY, "nvfp4", "quantize/nvfp4_modelopt", nvfp4, "NVFP4QTensor.quantize(x, 16)", options=_FP32),
    Kernel(LIBRARY, "dequantize_nvfp4", "dequantize/nvfp4_modelopt/modelopt", nvfp4_values, "NVFP4QTensor.dequantize", options=_FP32),
    Kernel(
        LIBRARY, "mxfp4", "quantize/mxfp4_torchao_rceil", mxfp4, "MXFP4QTensor.quantize(x, 32)", "nearest", options=_FP32, multiple=(1, 32)
    ),
    Kernel(
        LIBRARY,
        "mxfp4_te_pow2",
        "quantize/mxfp4_te_pow2",
        mxfp4,
        "MXFP4QTensor.quantize(x, 32)",
        "nearest",
        options=_FP32,
        multiple=(1, 32),
    ),
    Kernel(
        LIBRARY, "dequantize_mxfp4", "dequantize/mxfp4_te_pow2/exact", mxfp4_values, "MXFP4QTensor.dequantize", "nearest", options=_FP32
    ),
)
