"""Round to odd into bf16, and when a table of all bf16 codes then gives the same as the whole binary32 number.

A code that is not on the bf16 grid goes to the neighbour with an odd last bit. So a function of binary32 numbers that is constant between
neighbouring bf16 numbers of even last bit (those points themselves may have values of their own) is a function of that code alone.
"""

from __future__ import annotations

import torch

from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts, IntegerFacts

_EVEN_BITS = 0x1FFFF  # a binary32 code is a bf16 number of even last bit when these are clear
_EVEN_FRAC_BITS = 6
_LEAST_EXP = -126  # of a normal bf16 number


def odd_index(bits: torch.Tensor) -> torch.Tensor:
    """Return the bf16 codes (round to odd) of binary32 codes. bits: int32, not changed.   Returns: int32 in [0, 65535]."""
    # A carry out of the low half marks what was cut; drawn in docs/how_it_works.md#one-table-and-rounding-to-odd
    sticky = bits & 0xFFFF
    sticky += 0xFFFF
    sticky |= bits
    sticky >>= 16
    sticky &= 0xFFFF
    return sticky


def is_even_bf16(bits: int) -> bool:
    """Tell whether a binary32 code is a bf16 number of even last bit."""
    return bits & _EVEN_BITS == 0


def thresholds_are_even(fmt: Format, rounding: Rounding) -> bool:
    """Tell whether a conversion of binary32 numbers changes only at bf16 numbers of even last bit.

    They are the grid points and the points half way between: one fraction bit more than the format, nothing below the normal bf16 numbers.
    """
    facts = fmt.facts
    if rounding.random_bits:
        return False
    if isinstance(facts, IntegerFacts):
        return derive.codes(fmt).bits <= _EVEN_FRAC_BITS and _LEAST_EXP < facts.unit_exp <= 0
    if not isinstance(facts, FloatFacts):
        return False
    finest = -facts.bias - facts.frac_bits  # half of the smallest spacing, or less
    highest = (1 << facts.exp_bits) - facts.bias
    return facts.frac_bits < _EVEN_FRAC_BITS and finest >= _LEAST_EXP and highest < -_LEAST_EXP


def take(table: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Return table[round to odd of binary32 codes]. table: [65536].   bits: int32, any shape."""
    return table.index_select(0, odd_index(bits).view(-1)).view(bits.shape)
