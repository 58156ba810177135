"""QPyTorch (qtorch): float_quantize with two exponent bits and one fraction bit."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import NOTE, Kernel, Library, codes_of, load

LIBRARY = Library("qtorch", "qtorch", ("torch",), compiles=True)
_FIELDS = {"e2m1": (2, 1), "e4m3": (4, 3)}


def cast(x: Any, fmt: str) -> Any:
    """float_quantize, rounding nearest."""
    return codes_of(load("qtorch.quant").float_quantize(x, *_FIELDS[fmt], rounding="nearest").numpy(), fmt)


KERNELS = (
    Kernel(
        LIBRARY,
        "e2m1",
        "convert/e2m1/rne/gfloat_sat",
        partial(cast, fmt="e2m1"),
        "float_quantize(x, 2, 1, nearest)",
        "nearest",
        NOTE,
        {"takes": "torch.fp32"},
    ),
    Kernel(
        LIBRARY,
        "e2m1_away",
        "convert/e2m1/rna/gfloat_sat",
        partial(cast, fmt="e2m1"),
        "float_quantize(x, 2, 1, nearest)",
        "nearest",
        NOTE,
        {"takes": "torch.fp32"},
    ),
)
