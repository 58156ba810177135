"""pychop, NumPy back end: fake-quantized MXFP4 blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("pychop", "pychop", ("torch",))


def mxfp4(x: Any) -> Any:
    """mx_quantize of mxfp4_e2m1, rows one after the other; values in float32."""
    with np.errstate(all="ignore"):
        return np.asarray(load("pychop.mx_formats").mx_quantize(x, "mxfp4_e2m1", backend="numpy"), np.float32)


KERNELS = (
    Kernel(LIBRARY, "mxfp4", "quantize/mxfp4_torchao_floor", mxfp4, "mx_quantize(x, mxfp4_e2m1)", "nearest",
           options={"takes": "numpy.fp32"}, multiple=(1, 32)),
)  # fmt: skip
