"""Operands rounded to the operand format before they are quantized: on integer bits, nearest even."""

from __future__ import annotations

import torch

from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.torch import conversion
from emu.torch.numbers import signed_mask
from emu.torch.tensors import codes_of, float_dtype, to_int64


def rounded(x: torch.Tensor, to: Format) -> torch.Tensor:
    """Return values rounded to a float format that torch has, nearest even; beyond its maximum Inf, NaN its canonical NaN.

    x: a float tensor; one that has the format already is returned as it is.   Returns: the format's dtype, shape of x.
    Exactness: as a step of the spec's programs rounds, bit for bit.   Tests: tests/torch_nn/test_nn_narrow.py.
    """
    dtype = float_dtype(to.id)
    assert dtype is not None
    if x.dtype == dtype:
        return x
    codes, source = codes_of(x.contiguous(), "")
    if is_cut(source, to):
        return _cut(x.contiguous().view(torch.int32), source, to).view(dtype)
    entry = derive.arithmetic_entry(to)
    found = conversion.marked(to_int64(codes).view(-1), source, to, get("rounding", "rne"), entry)
    return found.to(torch.int16 if dtype.itemsize == 2 else torch.int32).view(x.shape).view(dtype)


def is_cut(source: Format, to: Format) -> bool:
    """Tell whether a format is binary32 with a shorter fraction that fills 16 bits."""
    wide, narrow = source.facts, to.facts
    if not isinstance(wide, FloatFacts) or not isinstance(narrow, FloatFacts):
        return False
    same = (wide.exp_bits, wide.bias, wide.signed, wide.subnormals) == (narrow.exp_bits, narrow.bias, narrow.signed, narrow.subnormals)
    return same and derive.codes(source).bits == 32 and derive.codes(to).bits == 16


def _cut(bits: torch.Tensor, source: Format, to: Format) -> torch.Tensor:
    """Return the int16 codes of binary32 codes: a carry into the exponent is the next binade, past the last one Inf."""
    wide, narrow = derive.codes(source), derive.codes(to)
    lost = wide.bits - narrow.bits
    out = bits >> lost
    out &= 1
    out += (1 << (lost - 1)) - 1
    out += bits
    out >>= lost
    assert wide.inf is not None
    nan = (bits & signed_mask(wide.magnitude_bits)) > wide.inf
    return torch.where(nan, narrow.nan[0], out).to(torch.int16)
