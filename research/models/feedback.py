"""Weights rounded one input channel after the other, each error made up for by the channels that follow, as GPTQ does it.

A channel's error is spread over the rest by the second moments X^T X of inputs that were kept for this: the rounding that harms the
product least, channel by channel. Not here: which texts the inputs come from (study).
Source: Frantar et al., GPTQ (arXiv 2210.17323), algorithm 1: channels in their order, the scale of a block
taken as it is reached.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

import emu
from emu.spec.models import Block, Recipe
from research.models.quantizers import SIZE, hadamard, rotated, signs_of, turned_back

Array = NDArray[np.float32]
DAMPING: Final = 0.01  # share of the mean second moment that is added to each


def with_feedback(w: Array, second: NDArray[np.float64], recipe: str, mask: int | None = None) -> Array:
    """Return weights quantized along their last axis with feedback, in their own basis, binary32.

    w: [N, K], K a multiple of 16.   second: X^T X of the inputs, [K, K].   recipe: blocks of 16 of one element format with a binary32
    scale.   mask: rotate with these signs first, and back afterwards.   Raises: as emu.quantize.
    """
    import torch

    if mask is not None:
        w, second = rotated(w, mask).astype(np.float32), _rotated_moments(second, mask)
    spread, rest = _spread(second), np.array(w.T, np.float32, order="C")  # a row of rest is an input channel
    found = np.empty_like(rest)
    for start in range(0, len(rest), SIZE):
        stop = start + SIZE
        own, inner = rest[start:stop], spread[start:stop, start:stop]
        errors = np.empty_like(own)
        rounder = Rounder(own.T, recipe)
        for place in range(SIZE):
            found[start + place] = rounder.rounded(own[place])
            errors[place] = (own[place] - found[start + place]) / inner[place, place]
            own[place + 1 :] -= np.outer(inner[place, place + 1 :], errors[place])
        torch.from_numpy(rest[stop:]).addmm_(torch.from_numpy(spread[start:stop, stop:]).T, torch.from_numpy(errors), alpha=-1)
    kept = np.ascontiguousarray(found.T)
    return kept if mask is None else turned_back(kept, mask)


class Rounder:
    """Rounds to the element format of a recipe under scales that one block of each row sets."""

    def __init__(self, block: Array, recipe: str) -> None:
        chosen: Recipe = emu.spec.get("recipe", recipe)
        facts: Block = emu.spec.get("block", chosen.facts.block)
        [self.format] = facts.element_formats
        self.values: Array = emu.decode(np.arange(16, dtype=np.uint8), self.format, np.float32)
        [level] = emu.quantize(np.ascontiguousarray(block), chosen).levels
        self.scales: Array = np.asarray(level.codes).view(np.float32)[:, 0]

    def rounded(self, column: Array) -> Array:
        """Return one value a row, rounded; the recipe's own division, cast and product."""
        found: Array = self.values[emu.convert(column / self.scales, self.format)] * self.scales
        return found


def _spread(second: NDArray[np.float64]) -> Array:
    """Return the upper triangular U with U^T U the inverse of the damped moments: how an error in a channel goes to those after it."""
    import torch

    damped = torch.from_numpy(second + DAMPING * np.trace(second) / len(second) * np.eye(len(second)))
    root = torch.linalg.cholesky(damped.flip(0, 1)).flip(0, 1)  # upper, root root^T is damped
    found = torch.linalg.solve_triangular(root, torch.eye(len(second), dtype=torch.float64), upper=True)
    return np.asarray(found.numpy(), np.float32)


def _rotated_moments(second: NDArray[np.float64], mask: int) -> NDArray[np.float64]:
    turn = signs_of(mask)[:, None] * hadamard().astype(np.float64)  # a block of 16 inputs x becomes x @ turn
    count = len(second) // SIZE
    blocks = second.reshape(count, SIZE, count, SIZE)
    found: NDArray[np.float64] = np.einsum("aibj,ik,jl->akbl", blocks, turn, turn, optimize=True).reshape(second.shape)
    return found
