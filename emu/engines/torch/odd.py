"""Round to odd into bf16: a code that is not on the bf16 grid goes to the neighbour with an odd last bit.

When a table of all bf16 codes then gives the same as the whole binary32 number, emu.spec.one_table says.
"""

from __future__ import annotations

import torch


def odd_index(bits: torch.Tensor) -> torch.Tensor:
    """Return the bf16 codes (round to odd) of binary32 codes. bits: int32, not changed.   Returns: int32 in [0, 65535]."""
    # A carry out of the low half marks what was cut; drawn in docs/how_it_works.md#one-table-and-rounding-to-odd
    sticky = bits & 0xFFFF
    sticky += 0xFFFF
    sticky |= bits
    sticky >>= 16
    sticky &= 0xFFFF
    return sticky


def take(table: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Return table[round to odd of binary32 codes]. table: [65536].   bits: int32, any shape."""
    return table.index_select(0, odd_index(bits).view(-1)).view(bits.shape)
