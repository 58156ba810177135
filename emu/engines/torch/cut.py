"""binary32 to the format that has its exponents and a shorter fraction (bf16), nearest even, by a carry on integer bits."""

from __future__ import annotations

import torch

from emu.engines.torch.numbers import signed_mask
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts


def is_cut(source: Format, to: Format) -> bool:
    """Tell whether a format is binary32 with a shorter fraction that fills 16 bits."""
    wide, narrow = source.facts, to.facts
    if not isinstance(wide, FloatFacts) or not isinstance(narrow, FloatFacts):
        return False
    same = (wide.exp_bits, wide.bias, wide.signed, wide.subnormals) == (narrow.exp_bits, narrow.bias, narrow.signed, narrow.subnormals)
    return same and derive.codes(source).bits == 32 and derive.codes(to).bits == 16


def cut(bits: torch.Tensor, source: Format, to: Format) -> torch.Tensor:
    """Return int32 tensors of the codes of `to`, sign-extended, of int32 binary32 codes; NaN canonical, beyond the maximum Inf."""
    wide, narrow = derive.codes(source), derive.codes(to)
    lost = wide.bits - narrow.bits
    out = bits >> lost
    out &= 1
    out += (1 << (lost - 1)) - 1
    out += bits
    out >>= lost
    assert wide.inf is not None
    nan = (bits & signed_mask(wide.magnitude_bits)) > wide.inf
    return torch.where(nan, narrow.nan[0], out)
