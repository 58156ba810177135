"""Operands rounded to the operand format before they are quantized: on integer bits, nearest even."""

from __future__ import annotations

import torch

from emu.engines.torch import convert as conversion
from emu.engines.torch.cut import cut, is_cut
from emu.engines.torch.tensors import codes_of, float_dtype, to_int64
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.registry import get


def rounded(x: torch.Tensor, to: Format) -> torch.Tensor:
    """Return values rounded to a float format that torch has, nearest even; beyond its maximum Inf, NaN its canonical NaN.

    x: a float tensor; one that has the format already is returned as it is.   Returns: the format's dtype, shape of x.
    Exactness: as a step of the spec's programs rounds, bit for bit.   Tests: tests/nn/test_nn_narrow.py.
    """
    dtype = float_dtype(to)
    assert dtype is not None
    if x.dtype == dtype:
        return x
    codes, source = codes_of(x.contiguous(), "")
    if is_cut(source, to):
        return cut(x.contiguous().view(torch.int32), source, to).to(torch.int16).view(dtype)
    entry = derive.arithmetic_entry(to)
    found = conversion.marked(to_int64(codes).view(-1), source, to, get("rounding", "rne"), entry)
    return found.to(torch.int16 if dtype.itemsize == 2 else torch.int32).view(x.shape).view(dtype)
