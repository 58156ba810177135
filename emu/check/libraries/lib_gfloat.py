"""gfloat: round_ndarray and encode_ndarray, with and without saturation, and decode_ndarray."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("gfloat", "gfloat")
_FORMATS = {
    "e2m1": "format_info_ocp_e2m1", "e2m3": "format_info_ocp_e2m3", "e3m2": "format_info_ocp_e3m2", "e4m3": "format_info_ocp_e4m3",
    "e5m2": "format_info_ocp_e5m2", "e8m0": "format_info_ocp_e8m0",
}  # fmt: skip
_NAN = "NaN to a format without one raises: those elements are answered as 0x0 and not compared"


def cast(x: Any, name: str, sat: bool) -> Any:
    """round_ndarray, then encode_ndarray; NaN is kept away from formats that have none."""
    gfloat, info = load("gfloat"), getattr(load("gfloat.formats"), name)
    values = x.astype(np.float64)
    if not info.num_nans:
        values = np.where(np.isnan(values), 0.0, values)
    rounded = gfloat.round_ndarray(info, values, gfloat.RoundMode.TiesToEven, sat)
    return gfloat.encode_ndarray(info, rounded).astype(np.uint8)


def decode(codes: Any, name: str) -> Any:
    """decode_ndarray, to float32."""
    found = load("gfloat").decode_ndarray(getattr(load("gfloat.formats"), name), codes.astype(np.uint8))
    return np.asarray(found).astype(np.float32)


def _kernel(fmt: str, sat: bool) -> Kernel:
    word = "sat" if sat else "nosat"
    policy, claim = ("nvidia", "nearest") if fmt == "e8m0" else (f"gfloat_{word}", "same")
    return Kernel(
        LIBRARY,
        f"{fmt}_{word}",
        f"convert/{fmt}/rne/{policy}",
        partial(cast, name=_FORMATS[fmt], sat=sat),
        f"round_ndarray({_FORMATS[fmt]}, x, TiesToEven, sat={sat}), encode_ndarray",
        claim,
        note=_NAN if fmt in ("e2m1", "e2m3", "e3m2") else "",
        options={"takes": "numpy.fp32"},
    )


KERNELS = (
    *(_kernel(fmt, True) for fmt in _FORMATS),
    *(_kernel(fmt, False) for fmt in ("e4m3", "e5m2")),
    *(
        Kernel(LIBRARY, f"decode_{fmt}", f"decode/{fmt}", partial(decode, name=name), f"decode_ndarray({name}, codes)",
               options={"takes": "numpy.bits"})
        for fmt, name in _FORMATS.items()
    ),
)  # fmt: skip
