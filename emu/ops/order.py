"""The order of the instructions along K: results depend on it, so it is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from emu.arrays.values import whole_number
from emu.base.errors import OperandError, ShapeError

_WORDS = {
    "parts": ("consecutive", "interleaved"),
    "direction": ("ascending", "descending"),
    "combine": ("ascending", "pairwise"),
    "tail": ("error", "zero_pad"),
}


@dataclass(frozen=True)
class Order:
    """How the instructions along K are chained.

    split_k: number of chains; each is as long as the others or one instruction longer, and the first starts at C, the others at +0.
    parts: chain i takes a run of neighbours (consecutive), or every split_k-th instruction (interleaved).
    direction: of the instructions in a chain.   combine: D0 + D1 + ... from the left (ascending), or neighbours in pairs until one is
    left (pairwise); each addition is rounded to nearest even in the result format.
    tail: error, or zero_pad: K is filled up with zero codes to a whole instruction.
    """

    split_k: int = 1
    parts: Literal["consecutive", "interleaved"] = "consecutive"
    direction: Literal["ascending", "descending"] = "ascending"
    combine: Literal["ascending", "pairwise"] = "ascending"
    tail: Literal["error", "zero_pad"] = "error"

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing. Raises: OperandError."""
        if whole_number(self.split_k, "order: split_k") < 1:
            raise OperandError(f"order: split_k must be at least 1, not {self.split_k}")
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise OperandError(f"order: {name} {getattr(self, name)!r} is unknown: one of {', '.join(words)}")

    def chains(self, instructions: int) -> list[list[int]]:
        """Return the numbers of the instructions of each chain, in the order in which they run. Raises: ShapeError (too few)."""
        if self.split_k > instructions:
            raise ShapeError(f"order: split_k {self.split_k} is more than the {instructions} instructions along K")
        # Other chains round other sums: docs/how_it_works.md#order-along-k
        if self.parts == "interleaved":
            found = [list(range(part, instructions, self.split_k)) for part in range(self.split_k)]
        else:
            edges = [part * instructions // self.split_k for part in range(self.split_k + 1)]
            found = [list(range(*pair)) for pair in pairwise(edges)]
        return [chain[::-1] for chain in found] if self.direction == "descending" else found


ASCENDING = Order()
