"""One dot product of plain integers by the C reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.engines.c_ref import datapath as native
from emu.engines.c_ref.call import code_dtype
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format


def row_of(codes: list[int], fmt: Format | None) -> Any:
    """Return codes as an array of one row, None without format."""
    return None if fmt is None else np.array([codes], code_dtype(fmt)).reshape(1, -1)


def in_c(operands: tuple[Any, ...], plan: DatapathPlan) -> int:
    """Return the result of the C reference for one row."""
    a, b, scale_a, scale_b, c = operands
    rows = row_of(a, plan.a), row_of(b, plan.b), row_of(scale_a, plan.scale), row_of(scale_b, plan.scale)
    return int(native.dot(*rows, np.array([c], code_dtype(plan.c)), plan)[0])
