"""layout in torch: the place of every code from its digits, on the device of the codes; memory is written and read at those places."""

from __future__ import annotations

import torch

from emu.spec.models import Layout


def size(rows: int, codes: int, layout: Layout) -> int:
    """Return how many places a tensor takes, the padding included."""
    found, sides = 1, {"row": rows, "idx": codes}
    for digit in layout.facts.digits:
        found *= digit.count or -(-sides[digit.axis] // digit.step)
    return found


def places(rows: int, codes: int, layout: Layout, device: torch.device | None = None) -> torch.Tensor:
    """Return the place of every code of a tensor. int64 [rows, codes]."""
    at = {"row": torch.arange(rows, device=device)[:, None], "idx": torch.arange(codes, device=device)[None, :]}
    found, weight = torch.zeros(rows, codes, dtype=torch.int64, device=device), 1
    for digit in layout.facts.digits:
        value = at[digit.axis] // digit.step
        if digit.count is None:
            count = -(-(rows if digit.axis == "row" else codes) // digit.step)
        else:
            count = digit.count
            value = value % count
        found = found + (count - 1 - value if digit.order == "down" else value) * weight
        weight *= count
    return found


def to_memory(codes: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Write codes at their places, 0 into the padding. codes: uint8 [..., rows, codes]. Returns uint8 [..., bytes]."""
    rows, width = codes.shape[-2:]
    memory = torch.zeros(*codes.shape[:-2], size(rows, width, layout), dtype=torch.uint8, device=codes.device)
    memory[..., places(rows, width, layout, codes.device).reshape(-1)] = codes.reshape(*codes.shape[:-2], rows * width)
    return memory[..., 0::2] | memory[..., 1::2] << 4 if layout.facts.code_bits == 4 else memory


def from_memory(memory: torch.Tensor, layout: Layout, rows: int, codes: int) -> torch.Tensor:
    """Read codes at their places. memory: uint8 [..., bytes]. Returns uint8 [..., rows, codes]."""
    if layout.facts.code_bits == 4:
        memory = torch.stack([memory & 15, memory >> 4], -1).reshape(*memory.shape[:-1], -1)
    return memory[..., places(rows, codes, layout, memory.device)]
