"""microxcaling (not on the package index): element rounding and fake-quantized MXFP4 and MXINT4 blocks, in its Python path."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import NOTE, Kernel, Library, codes_of, load

LIBRARY = Library(
    "microxcaling",
    "mx",
    ("torch",),
    "MICROXCALING=DIR .ci/foreign        # DIR: a git checkout of github.com/microsoft/microxcaling with commit 7bc41952de39",
)
_FP32 = {"takes": "torch.fp32"}
_FORMATS = {"e2m1": "fp4", "e2m3": "fp6_e2m3", "e3m2": "fp6_e3m2", "e4m3": "fp8_e4m3"}


def cast(x: Any, fmt: str, rounding: str) -> Any:
    """_quantize_elemwise_core with saturation."""
    exp, frac, _, top, _ = load("mx.formats")._get_format_params(_FORMATS[fmt])
    values = load("mx.elemwise_ops")._quantize_elemwise_core(x.clone(), frac, exp, top, rounding, saturate_normals=True)
    return codes_of(values.numpy(), fmt)


def block(x: Any, elements: str, rounding: str) -> Any:
    """_quantize_mx: values back in float32."""
    return load("mx.mx_ops")._quantize_mx(x.clone(), 8, elements, "max", [-1], 32, rounding)


KERNELS = (
    *(
        Kernel(LIBRARY, f"{fmt}_{word}", f"convert/{fmt}/{mode}/gfloat_sat", partial(cast, fmt=fmt, rounding=word),
               f"_quantize_elemwise_core({_FORMATS[fmt]}, round={word})", "nearest", NOTE, _FP32)
        for fmt in _FORMATS
        for word, mode in (("even", "rne"), ("nearest", "rna"))
        if word == "even" or fmt == "e2m1"
    ),
    Kernel(LIBRARY, "mxfp4_even", "quantize/mxfp4_torchao_floor", partial(block, elements="fp4_e2m1", rounding="even"),
           "_quantize_mx(x, 8, fp4, max, block 32, even)", "nearest", options=_FP32),
    Kernel(LIBRARY, "mxint4_even", "quantize/mxe1m2_floor", partial(block, elements="int4", rounding="even"),
           "_quantize_mx(x, 8, int4, max, block 32, even)", options=_FP32),
)  # fmt: skip
