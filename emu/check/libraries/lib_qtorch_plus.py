"""QPyTorch+ (qtorch_plus): float_quantize with two exponent bits and one fraction bit. Its first call compiles an extension."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import NOTE, Kernel, Library, codes_of, load

LIBRARY = Library("qtorch_plus", "qtorch-plus", ("torch", "ninja"), compiles=True)
_FP32 = {"takes": "torch.fp32"}
_TABLE = (-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def cast(x: Any) -> Any:
    """float_quantize, rounding nearest."""
    return codes_of(load("qtorch_plus.quant").float_quantize(x, 2, 1, rounding="nearest").numpy(), "e2m1")


def table(x: Any) -> Any:
    """configurable_table_quantize with the values of E2M1."""
    values = load("torch").tensor(_TABLE)
    return codes_of(load("qtorch_plus.quant").configurable_table_quantize(x, values, rounding="nearest").numpy(), "e2m1")


KERNELS = (
    Kernel(LIBRARY, "e2m1", "convert/e2m1/rne/gfloat_sat", partial(cast), "float_quantize(x, 2, 1, nearest)", "nearest", NOTE, _FP32),
    Kernel(
        LIBRARY,
        "e2m1_table",
        "convert/e2m1/rne/gfloat_sat",
        partial(table),
        "configurable_table_quantize(x, E2M1 values)",
        "nearest",
        NOTE,
        _FP32,
    ),
)
