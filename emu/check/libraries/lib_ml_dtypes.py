"""ml_dtypes: astype from float32 and float64, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("ml_dtypes", "ml_dtypes")
_DTYPES = {
    "e2m1": "float4_e2m1fn", "e2m3": "float6_e2m3fn", "e3m2": "float6_e3m2fn", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz", "e8m0": "float8_e8m0fnu", "bf16": "bfloat16",
}  # fmt: skip
_POLICIES = {"e8m0": "nvidia", "bf16": "ieee"}


def cast(x: Any, dtype: str) -> Any:
    """x.astype(dtype), as raw bits."""
    with np.errstate(all="ignore"):
        found = x.astype(getattr(load("ml_dtypes"), dtype))
    return found.view(f"u{found.dtype.itemsize}")


def int4(x: Any) -> Any:
    """x.astype(int4), two's complement."""
    with np.errstate(all="ignore"):
        return x.astype(load("ml_dtypes").int4).astype(np.int8).view(np.uint8) & 15


def decode(codes: Any, dtype: str) -> Any:
    """Codes seen as dtype, to float32."""
    kind = np.dtype(getattr(load("ml_dtypes"), dtype))
    return codes.astype(f"u{kind.itemsize}").view(kind).astype(np.float32)


def _kernel(fmt: str, source: str) -> Kernel:
    claim = "nearest" if fmt == "e8m0" else "same"
    tail, takes = ("", "numpy.fp32") if source == "fp32" else (f"_from_{source}", "numpy.bits")
    dtype = _DTYPES[fmt]
    call = partial(cast, dtype=dtype) if source == "fp32" else partial(_cast_double, dtype=dtype)
    what = f"x.astype(ml_dtypes.{dtype}), x of {source}"
    contract = f"convert/{fmt}/{'rna' if fmt == 'e8m0' else 'rne'}/{_POLICIES.get(fmt, 'ml_dtypes')}"
    return Kernel(LIBRARY, f"{fmt}{tail}", contract, call, what, claim, options={"takes": takes, "source": source})


def _cast_double(x: Any, dtype: str) -> Any:
    return cast(x.view(np.float64), dtype)


KERNELS = (
    *(_kernel(fmt, "fp32") for fmt in _DTYPES),
    *(_kernel(fmt, "fp64") for fmt in ("e2m1", "e4m3")),
    Kernel(LIBRARY, "int4", "convert/int4/rne/ocp_saturate", int4, "x.astype(ml_dtypes.int4)", "nearest", options={"takes": "numpy.fp32"}),
    *(
        Kernel(
            LIBRARY,
            f"decode_{fmt}",
            f"decode/{fmt}",
            partial(decode, dtype=dtype),
            f"codes.view(ml_dtypes.{dtype}).astype(float32)",
            options={"takes": "numpy.bits"},
        )
        for fmt, dtype in _DTYPES.items()
    ),
)
