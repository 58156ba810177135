"""compressed-tensors on a CPU: NVFP4 and MXFP4 weights as its compressors store them, and what they decompress to."""

from __future__ import annotations

from typing import Any

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("compressed_tensors", "compressed-tensors", ("torch",))
_FP32 = {"takes": "torch.fp32"}
_NV = {"gives": {"weight_packed": "packed", "weight_scale": "scale", "weight_global_scale": "tensor"}}


def _scheme(name: str) -> Any:
    quantization = load("compressed_tensors.quantization")
    return quantization.preset_name_to_scheme(name, ["Linear"])


def _extremes(x: Any, size: int) -> tuple[Any, Any]:
    blocks = x.reshape(x.shape[0], -1, size)
    return blocks.amin(-1), blocks.amax(-1)


def nvfp4(x: Any, *, tensor_amax: Any) -> dict[str, Any]:
    """Global scale of the maximum, block scales of minima and maxima, then NVFP4PackedCompressor.compress."""
    helpers = load("compressed_tensors.quantization.utils.helpers")
    scheme = _scheme("NVFP4A16")
    top = tensor_amax.reshape(1)
    divisor = helpers.generate_gparam(-top, top)
    scale, _ = helpers.calculate_qparams(*_extremes(x, 16), scheme.weights, global_scale=divisor)
    state = {"weight": x.clone(), "weight_scale": scale, "weight_global_scale": divisor}
    return dict(load("compressed_tensors.compressors.nvfp4").NVFP4PackedCompressor.compress(state, scheme))


def nvfp4_values(codes: Any, *, tensor: Any, scale: Any) -> Any:
    """lifecycle.forward.dequantize of the stored values and scales, float32."""
    torch = load("torch")
    scheme = _scheme("NVFP4A16")
    table = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    values = table[(codes & 7).long()] * torch.where(codes >= 8, -1.0, 1.0)
    levels = {"scale": scale.view(torch.float8_e4m3fn).float(), "global_scale": tensor.reshape(1), "dtype": torch.float32}
    return load("compressed_tensors.quantization.lifecycle.forward").dequantize(x_q=values, args=scheme.weights, **levels)


def mxfp4(x: Any) -> dict[str, Any]:
    """calculate_qparams of the MXFP4 preset, then MXFP4PackedCompressor.compress with the power of two as scale."""
    helpers = load("compressed_tensors.quantization.utils.helpers")
    scheme = _scheme("MXFP4A16")
    scale, _ = helpers.calculate_qparams(*_extremes(x, 32), scheme.weights)
    state = {"weight": x.clone(), "weight_scale": scale}
    found = load("compressed_tensors.compressors.mxfp4").MXFP4PackedCompressor.compress(state, scheme)
    return {"packed": found["weight_packed"], "scale": found["weight_scale"]}


def cast(x: Any) -> Any:
    """cast_to_fp4, then pack_fp4_to_uint8, unpacked again."""
    torch = load("torch")
    values = load("compressed_tensors.quantization.utils.fp4_utils").cast_to_fp4(x.clone())
    pairs = torch.stack([values, torch.zeros_like(values)], -1)
    return load("compressed_tensors.compressors.nvfp4").pack_fp4_to_uint8(pairs).reshape(-1) & 15


KERNELS = (
    Kernel(LIBRARY, "e2m1", "convert/e2m1/rne/gfloat_sat", cast, "fp4_utils.cast_to_fp4, pack_fp4_to_uint8", "nearest", options=_FP32),
    Kernel(
        LIBRARY,
        "nvfp4",
        "quantize/nvfp4_compressed_tensors",
        nvfp4,
        "generate_gparam, calculate_qparams, NVFP4PackedCompressor.compress",
        options={**_FP32, **_NV},
    ),
    Kernel(
        LIBRARY,
        "dequantize_nvfp4",
        "dequantize/nvfp4_compressed_tensors/compressed_tensors",
        nvfp4_values,
        "lifecycle.forward.dequantize",
        options=_FP32,
    ),
    Kernel(
        LIBRARY,
        "mxfp4",
        "quantize/mxfp4_torchao_even",
        mxfp4,
        "calculate_qparams, MXFP4PackedCompressor.compress",
        "nearest",
        options=_FP32,
    ),
)
