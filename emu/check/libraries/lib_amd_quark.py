"""amd-quark on a CPU: the element operation of its C++ extension, MXFP4 with its two scale rules, and unsigned E5M3."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import NOTE, Kernel, Library, codes_of, e8m0_of, load

LIBRARY = Library(
    "amd_quark",
    "amd-quark",
    ("torch", "transformers"),
    "pip install -c constraints.txt torch transformers scipy psutil onnx onnxslim zstandard "
    "&& pip install -c constraints.txt --no-deps amd-quark",
    compiles=True,
)
_FP32 = {"takes": "torch.fp32"}
_FORMATS = {"e2m1": (2, 1, 6.0), "e2m3": (2, 3, 7.5), "e3m2": (3, 2, 28.0)}


def cast(x: Any, fmt: str) -> Any:
    """The operation fake_quantize_to_low_precision_fp, round_mode 0."""
    load("quark.torch.kernel.hw_emulation.hw_emulation_interface")
    exp, frac, top = _FORMATS[fmt]
    values = load("torch").ops.quark.fake_quantize_to_low_precision_fp(x.clone(), exp, frac, top, 0)
    return codes_of(values.numpy(), fmt)


def mxfp4_even(x: Any) -> dict[str, Any]:
    """even_round of the block maxima, then real_quantize_fp4_fp6_per_group."""
    interface = load("quark.torch.kernel.hw_emulation.hw_emulation_interface")
    scale = load("quark.torch.quantization.utils").even_round(x.reshape(x.shape[0], -1, 32).abs().amax(-1), "fp4")
    values = interface.real_quantize_fp4_fp6_per_group(x, scale, -1, 32, "fp4")
    return {"codes": codes_of(values.float().contiguous().numpy(), "e2m1"), "scale": e8m0_of(scale.numpy())}


def mxfp4_floor(x: Any) -> dict[str, Any]:
    """real_quantize_mxfp: each block is its scale and 32 values."""
    interface = load("quark.torch.kernel.hw_emulation.hw_emulation_interface")
    found = interface.real_quantize_mxfp(x, "fp4", -1, 32).reshape(x.shape[0], -1, 33)
    values = found[..., 1:].reshape(x.shape).contiguous()
    return {"codes": codes_of(values.numpy(), "e2m1"), "scale": e8m0_of(found[..., 0].numpy())}


def ue5m3(x: Any) -> Any:
    """convert_fp32_to_e5m3_bits of the clamped input, as the library calls it."""
    torch = load("torch")
    limits = load("quark.common.data_type").BaseFP8_E5M3
    return load("quark.torch.kernel.float8_e5m3.reference").reference_convert_fp32_to_e5m3_bits(
        torch.clamp(x, limits.min_value, limits.max_value)
    )


def decode_ue5m3(codes: Any) -> Any:
    """The lookup table of E5M3."""
    return load("quark.torch.kernel.float8_e5m3.reference").reference_dequantize_float8_e5m3(codes)


KERNELS = (
    *(
        Kernel(
            LIBRARY,
            fmt,
            f"convert/{fmt}/rne/gfloat_sat",
            partial(cast, fmt=fmt),
            "quark.fake_quantize_to_low_precision_fp, round_mode 0",
            "nearest",
            NOTE,
            _FP32,
        )
        for fmt in _FORMATS
    ),
    Kernel(
        LIBRARY,
        "mxfp4_even",
        "quantize/mxfp4_torchao_even",
        mxfp4_even,
        "even_round, real_quantize_fp4_fp6_per_group",
        "nearest",
        NOTE,
        _FP32,
    ),
    Kernel(LIBRARY, "mxfp4_floor", "quantize/mxfp4_torchao_floor", mxfp4_floor, "real_quantize_mxfp", "nearest", NOTE, _FP32),
    Kernel(
        LIBRARY,
        "ue5m3",
        "convert/ue5m3/rne/nvidia",
        ue5m3,
        "float8_e5m3.reference: clamp, convert_fp32_to_e5m3_bits",
        "nearest",
        options=_FP32,
    ),
    Kernel(LIBRARY, "decode_ue5m3", "decode/ue5m3", decode_ue5m3, "float8_e5m3.reference: lookup table", options={"takes": "torch.bits"}),
)
