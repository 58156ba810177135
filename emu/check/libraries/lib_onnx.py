"""onnx: Cast of the reference evaluator, and decoding through it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("onnx", "onnx")
_TYPES = {
    "e2m1": "FLOAT4E2M1", "e4m3": "FLOAT8E4M3FN", "e5m2": "FLOAT8E5M2", "e4m3fnuz": "FLOAT8E4M3FNUZ", "e5m2fnuz": "FLOAT8E5M2FNUZ",
    "e8m0": "FLOAT8E8M0", "int4": "INT4",
}  # fmt: skip


def cast(x: Any, to: str, saturate: bool, round_mode: str = "nearest") -> Any:
    """op_cast.cast_to, as raw bits."""
    onnx = load("onnx")
    with np.errstate(all="ignore"):
        found = load("onnx.reference.ops.op_cast").cast_to(x, getattr(onnx.TensorProto, to), saturate, round_mode)
    return found.astype(np.int8).view(np.uint8) & 15 if to == "INT4" else found.view(np.uint8)


def decode(codes: Any, to: str) -> Any:
    """Codes seen as an ONNX type, cast to FLOAT."""
    onnx = load("onnx")
    kind = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, to))
    return load("onnx.reference.ops.op_cast").cast_to(codes.astype(np.uint8).view(kind), onnx.TensorProto.FLOAT, True)


def _kernel(
    fmt: str, name: str, policy: str, *, saturate: bool = True, mode: str = "nearest", rounding: str = "rne", claim: str = "same"
) -> Kernel:
    tail = f", saturate={int(saturate)}" + (f", round_mode={mode}" if fmt == "e8m0" else "")
    return Kernel(
        LIBRARY, name, f"convert/{fmt}/{rounding}/{policy}", partial(cast, to=_TYPES[fmt], saturate=saturate, round_mode=mode),
        f"reference Cast(to={_TYPES[fmt]}{tail})", claim, options={"takes": "numpy.fp32"},
    )  # fmt: skip


KERNELS = (
    _kernel("e2m1", "e2m1", "onnx_spec"),
    _kernel("e2m1", "e2m1_as_run", "onnx_reference_sat"),
    *(_kernel(fmt, f"{fmt}_sat", "onnx_reference_sat") for fmt in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")),
    *(_kernel(fmt, f"{fmt}_nosat", "onnx_reference_nosat", saturate=False) for fmt in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")),
    _kernel("e8m0", "e8m0_nearest", "nvidia", rounding="rna", claim="nearest"),
    _kernel("e8m0", "e8m0_up", "nvidia", mode="up", rounding="ru", claim="nearest"),
    _kernel("e8m0", "e8m0_down", "nvidia", mode="down", rounding="rz", claim="nearest"),
    _kernel("int4", "int4", "ocp_saturate", claim="nearest"),
    Kernel(
        LIBRARY, "decode_e2m1", "decode/e2m1", partial(decode, to="FLOAT4E2M1"), "reference Cast(to=FLOAT)", options={"takes": "numpy.bits"}
    ),
)
