"""fouroversix, its PyTorch back end: MXFP4, NVFP4 static and adaptive, NVINT4, IF4, and the element cast."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library(
    "fouroversix",
    "fouroversix",
    ("torch",),
    "SKIP_CUDA_BUILD=1 pip install -c constraints.txt --no-build-isolation torch fouroversix",
)
_FP32 = {"takes": "torch.fp32"}
_REFERENCE = "fouroversix.quantize.pytorch.reference"


def _stored(x: Any, dtype: str, rule: str, amax: Any) -> tuple[Any, Any, Any]:
    words = load("fouroversix.utils")
    options = {"fp4_format": words.DataType(dtype), "scale_rule": words.ScaleRule(rule), "use_blackwell_scale_layout": False}
    return load(_REFERENCE).quantize_to_fp4(x, amax, **options)  # type: ignore[no-any-return]


def two_level(x: Any, *, tensor_amax: Any, dtype: str, rule: str) -> dict[str, Any]:
    """quantize_to_fp4 with a tensor maximum; scales in rows."""
    packed, scale, top = _stored(x, dtype, rule, tensor_amax)
    return {"packed": packed, "scale": scale.reshape(x.shape[0], -1), "tensor": top}


def if4(x: Any, *, tensor_amax: Any, rule: str) -> dict[str, Any]:
    """quantize_to_fp4 of IF4; bit 7 of a scale byte is the flag."""
    torch = load("torch")
    packed, scale, top = _stored(x, "if4", rule, tensor_amax)
    byte = scale.view(torch.uint8).reshape(x.shape[0], -1)
    return {"packed": packed, "scale": byte & 127, "flag": byte >> 7, "tensor": top}


def mxfp4(x: Any, rule: str) -> dict[str, Any]:
    """quantize_to_fp4 of MXFP4; scales in rows."""
    packed, scale, _ = _stored(x, "mxfp4", rule, None)
    return {"packed": packed, "scale": scale.reshape(x.shape[0], -1)}


def cast(x: Any) -> Any:
    """fake_quantize_to_e2m1, then quantize_bf16_to_unpacked_fp4."""
    module = load(_REFERENCE)
    return module.quantize_bf16_to_unpacked_fp4(module.fake_quantize_to_e2m1(x).bfloat16()) & 15


def _two_level(name: str, recipe: str, dtype: str, rule: str) -> Kernel:
    what = f"quantize_to_fp4(x, amax, {dtype}, {rule})"
    return Kernel(LIBRARY, name, f"quantize/{recipe}", partial(two_level, dtype=dtype, rule=rule), what, options=_FP32, multiple=(1, 16))


KERNELS = (
    Kernel(
        LIBRARY,
        "e2m1",
        "convert/e2m1/rne/gfloat_sat",
        cast,
        "fake_quantize_to_e2m1, quantize_bf16_to_unpacked_fp4",
        "nearest",
        options=_FP32,
    ),
    *(_two_level(f"nvfp4_{rule}", f"nvfp4_f46_{rule}", "nvfp4", rule) for rule in ("static_6", "static_4", "mse", "mae", "abs_max")),
    *(
        Kernel(
            LIBRARY,
            f"mxfp4_{rule}",
            f"quantize/mxfp4_f46_{rule}",
            partial(mxfp4, rule=rule),
            f"quantize_to_fp4(x, mxfp4, {rule})",
            options=_FP32,
            multiple=(1, 32),
        )
        for rule in ("static_6", "static_4")
    ),
    _two_level("nvint4", "f46_nvint4", "nvint4", "static_6"),
    *(
        Kernel(
            LIBRARY,
            f"if4_{rule}",
            f"quantize/if4_{rule}",
            partial(if4, rule=rule),
            f"quantize_to_fp4(x, amax, if4, {rule})",
            options=_FP32,
            multiple=(1, 16),
        )
        for rule in ("mse", "mae", "abs_max")
    ),
)
