"""What the inputs of a check reached, decision by decision: a pass says something only of the decisions that were asked about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LEAST: Final = 8  # changes of a scale or choice


@dataclass
class Reach:
    """Counts of one question, or of all.

    tensors: tensor maxima.   blocks: blocks.   codes: element codes that came.   magnitudes: how many they are without sign.
    changes: the upper of two adjacent magnitudes -> how many pairs of adjacent inputs lie on both sides of the change from one to the
    other.   most_changes: how many such changes the element format has.
    ties: elements that are exactly half way when they are rounded.   scales: codes of a narrow scale that came.
    scale_changes: pairs of tiles, one input code apart, whose levels differ.   of_tensor: the scale is the tensor's, and each tensor
    maximum makes another.
    """

    tensors: int = 0
    blocks: int = 0
    codes: set[int] = field(default_factory=set)
    magnitudes: int = 0
    changes: dict[int, int] = field(default_factory=dict)
    most_changes: int = 0
    ties: int = 0
    scales: set[int] = field(default_factory=set)
    scale_changes: int = 0
    of_tensor: bool = False

    def add(self, other: Reach) -> None:
        """Add the counts of a question."""
        self.tensors += other.tensors
        self.blocks += other.blocks
        self.codes |= other.codes
        for code, count in other.changes.items():
            self.changes[code] = self.changes.get(code, 0) + count
        self.magnitudes = max(self.magnitudes, other.magnitudes)
        self.most_changes = max(self.most_changes, other.most_changes)
        self.ties += other.ties
        self.scales |= other.scales
        self.scale_changes += other.scale_changes
        self.of_tensor |= other.of_tensor

    def data(self) -> dict[str, int]:
        """Return the counts as plain data."""
        return {
            "tensor_maxima": self.tensors, "blocks": self.blocks, "element_codes": len(self.codes),
            "element_changes": len(self.changes), "element_changes_of_format": self.most_changes,
            "least_of_each_change": min(self.changes.values(), default=0), "exact_ties": self.ties, "scale_codes": len(self.scales),
            "scale_changes": self.scale_changes,
        }  # fmt: skip

    @staticmethod
    def line(data: dict[str, int]) -> str:
        """Return the counts as a line of the report."""
        told = [f"{data['tensor_maxima']} tensor maxima"] if data["tensor_maxima"] else []
        told += [f"{data['blocks']} blocks", f"{data['element_codes']} element codes"]
        each = f"each from both sides {data['least_of_each_change']} times or more"
        told += [f"{data['element_changes']} of {data['element_changes_of_format']} changes between them, {each}"]
        told += [f"{data['exact_ties']} exact ties"]
        told += [f"{data['scale_codes']} scale codes"] if data["scale_codes"] else []
        return ", ".join([*told, f"{data['scale_changes']} changes of a scale or choice"])

    def lacks(self) -> str:
        """Return what was reached too little to pass a quantizer; "" when enough was."""
        if not self.blocks:
            return "no input beside a change of a scale or of an element code can be found for this source or recipe"
        if 2 * len(self.changes) < self.magnitudes - 1:  # a code that the largest element of a block alone can have has no other side
            return f"inputs on both sides of {len(self.changes)} changes between element codes only, of {self.magnitudes - 1}"
        if self.of_tensor:
            return "" if self.tensors >= LEAST else f"tensor maxima: {self.tensors}, {LEAST} are the least"
        if self.scale_changes < LEAST:
            return f"inputs on both sides of a change of a scale: {self.scale_changes}, {LEAST} are the least"
        return ""
