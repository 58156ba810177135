"""torchao on a CPU: casts, MXFP4 with four scale rules, NVFP4 with one and two levels, FP8 of rows and tensors, what they decode to."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("torchao", "torchao", ("torch",))
_KERNELS = "torchao.prototype.mx_formats.kernels"
_FP32 = {"takes": "torch.fp32"}


def cast(x: Any, name: str) -> Any:
    """float32 -> codes, one a byte."""
    return getattr(load(_KERNELS), name)(x)


def mxfp4(x: Any, rule: str) -> dict[str, Any]:
    """to_mx with a scale rule; codes packed."""
    mode = getattr(load("torchao.prototype.mx_formats.config").ScaleCalculationMode, rule)
    scale, packed = load("torchao.prototype.mx_formats.mx_tensor").to_mx(x, load("torch").float4_e2m1fn_x2, 32, mode)
    return {"packed": packed, "scale": scale}


def nvfp4(x: Any, *, tensor_amax: Any) -> dict[str, Any]:
    """nvfp4_quantize with the tensor factor that the library makes of a maximum."""
    module = load("torchao.prototype.mx_formats.nvfp4_tensor")
    factor = module.per_tensor_amax_to_scale(tensor_amax)
    scale, packed = module.nvfp4_quantize(x, 16, factor)
    return {"packed": packed, "scale": scale, "tensor": factor}


def nvfp4_1level(x: Any) -> dict[str, Any]:
    """nvfp4_quantize without a tensor factor."""
    scale, packed = load("torchao.prototype.mx_formats.nvfp4_tensor").nvfp4_quantize(x, 16)
    return {"packed": packed, "scale": scale}


def nvfp4_values(codes: Any, *, tensor: Any, scale: Any) -> Any:
    """NVFP4Tensor.dequantize to float32."""
    torch = load("torch")
    module = load("torchao.prototype.mx_formats.nvfp4_tensor")
    packed = load(_KERNELS).pack_uint4(codes)
    levels = (packed, scale.view(torch.float8_e4m3fn), 16, torch.float32, tensor)
    return module.NVFP4Tensor(*levels).dequantize(torch.float32)


def mxfp4_values(codes: Any, *, scale: Any) -> Any:
    """to_dtype: codes and scales to float32."""
    torch = load("torch")
    packed = load(_KERNELS).pack_uint4(codes)
    levels = (packed, scale.view(torch.float8_e8m0fnu), torch.float4_e2m1fn_x2, 32, torch.float32)
    return load("torchao.prototype.mx_formats.mx_tensor").to_dtype(*levels)


def fp8(x: Any, scale: Any) -> dict[str, Any]:
    """_quantize_affine_float8 under a scale."""
    torch = load("torch")
    codes = load("torchao.quantization.quant_primitives")._quantize_affine_float8(x, scale, torch.float8_e4m3fn)
    return {"codes": codes.view(torch.uint8), "scale": scale}


def fp8_row(x: Any) -> dict[str, Any]:
    """_choose_scale_float8 of each row, then the codes under it."""
    module = load("torchao.quantization.quant_primitives")
    return fp8(x, module._choose_scale_float8(x, [1, x.shape[1]], float8_dtype=load("torch").float8_e4m3fn))


def fp8_tensor(x: Any, *, tensor_amax: Any) -> dict[str, Any]:
    """_choose_scale_float8 of a tensor that has the maximum, then the codes under it."""
    module = load("torchao.quantization.quant_primitives")
    top = tensor_amax.reshape(1, 1)
    found = fp8(x, module._choose_scale_float8(top, [1, 1], float8_dtype=load("torch").float8_e4m3fn))
    return found | {"scale": found["scale"].reshape(())}


def decode(codes: Any) -> Any:
    """E2M1 codes to float32."""
    return load(_KERNELS).f4_unpacked_to_f32(codes)


def _elements() -> tuple[Kernel, ...]:
    names = {"e2m1": "f32_to_f4_unpacked", "e2m3": "f32_to_f6_e2m3_unpacked", "e3m2": "f32_to_f6_e3m2_unpacked"}
    return tuple(
        Kernel(LIBRARY, fmt, f"convert/{fmt}/rne/torchao", partial(cast, name=name), f"mx_formats.kernels.{name}", options=_FP32)
        for fmt, name in names.items()
    )


def _mxfp4() -> tuple[Kernel, ...]:
    rules = ("floor", "even", "ceil", "rceil")
    return tuple(
        Kernel(
            LIBRARY,
            f"mxfp4_{rule}",
            f"quantize/mxfp4_torchao_{rule}",
            partial(mxfp4, rule=rule.upper()),
            f"mx_tensor.to_mx(x, float4_e2m1fn_x2, 32, {rule.upper()})",
            options=_FP32,
        )
        for rule in rules
    )


KERNELS = (
    *_elements(),
    Kernel(LIBRARY, "decode_e2m1", "decode/e2m1", decode, "mx_formats.kernels.f4_unpacked_to_f32", options={"takes": "torch.bits"}),
    *_mxfp4(),
    Kernel(LIBRARY, "nvfp4", "quantize/nvfp4_torchao", nvfp4, "nvfp4_tensor.nvfp4_quantize(x, 16, per_tensor_scale)", options=_FP32),
    Kernel(LIBRARY, "nvfp4_1level", "quantize/nvfp4_torchao_1level", nvfp4_1level, "nvfp4_tensor.nvfp4_quantize(x, 16)", options=_FP32),
    Kernel(
        LIBRARY,
        "fp8_row",
        "quantize/e4m3_row_torchao",
        fp8_row,
        "quant_primitives._choose_scale_float8(x, [1, width]), _quantize_affine_float8",
        options=_FP32,
        multiple=(1, 2),  # a row of one element makes it raise
    ),
    Kernel(
        LIBRARY,
        "fp8_tensor",
        "quantize/e4m3_tensor_torchao",
        fp8_tensor,
        "quant_primitives._choose_scale_float8(x, [height, width]), _quantize_affine_float8",
        options=_FP32,
    ),
    Kernel(
        LIBRARY,
        "dequantize_nvfp4",
        "dequantize/nvfp4_torchao/torchao",
        nvfp4_values,
        "NVFP4Tensor.dequantize(float32)",
        options=_FP32,
    ),
    Kernel(
        LIBRARY,
        "dequantize_mxfp4",
        "dequantize/mxfp4_torchao_floor/torchao",
        mxfp4_values,
        "mx_tensor.to_dtype(..., float32)",
        options=_FP32,
    ),
)
