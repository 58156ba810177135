"""APyTypes: APyFloatArray of given exponent and fraction bits; its formats are IEEE-like, the top exponent is Inf and NaN."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("apytypes", "apytypes")
_F = {"takes": "numpy.fp32"}


def cast(x: Any, exp: int, frac: int) -> Any:
    """APyFloatArray.from_float, as raw bits."""
    found = load("apytypes").APyFloatArray.from_float(x.astype(np.float64), exp, frac)
    return np.asarray(found.to_bits(numpy=True))


KERNELS = (
    Kernel(
        LIBRARY,
        "e2m1",
        "convert/e2m1/rne/gfloat_sat",
        partial(cast, exp=2, frac=1),
        "APyFloatArray.from_float(x, 2, 1)",
        "nearest",
        options=_F,
    ),
    Kernel(
        LIBRARY,
        "e5m2",
        "convert/e5m2/rne/ml_dtypes",
        partial(cast, exp=5, frac=2),
        "APyFloatArray.from_float(x, 5, 2)",
        "nearest",
        options=_F,
    ),
    Kernel(LIBRARY, "fp16", "convert/fp16/rne/ieee", partial(cast, exp=5, frac=10), "APyFloatArray.from_float(x, 5, 10)", options=_F),
    Kernel(LIBRARY, "bf16", "convert/bf16/rne/ieee", partial(cast, exp=8, frac=7), "APyFloatArray.from_float(x, 8, 7)", options=_F),
)
