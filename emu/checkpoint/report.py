"""What was found in a checkpoint: plain data. Its text is text.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from emu.checkpoint.passive import Finding

FINE, DEPARTS, NOTHING = 0, 1, 3


@dataclass
class TensorReport:
    """One weight. recipes, profiles: findings, the best first.   damage: text -> first places.   notes: what else its bytes say."""

    name: str
    store: str
    shape: tuple[int, ...] = ()
    block: str = ""
    layout: str = ""
    layout_verdict: str = ""
    layout_why: str = ""
    blocks: int = 0
    also_fits: tuple[str, ...] = ()
    tensor_factor: str | None = None
    recipes: list[Finding] = field(default_factory=list)
    profiles: list[Finding] = field(default_factory=list)
    damage: list[tuple[str, int, list[str]]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def identified(self) -> list[str]:
        """Recipes that give every byte."""
        return [item.recipe for item in self.recipes if item.verdict == "identified"]

    @property
    def possible(self) -> list[str]:
        """Recipes that nothing excludes."""
        return [item.recipe for item in self.recipes if item.verdict != "separated"]


@dataclass
class CheckpointReport:
    """Findings over all weights of a checkpoint.

    declared: what the file says of itself, by store.   fused: weights that share a tensor factor.   others: tensors that are not quantized.
    """

    path: Path
    original: Path | None
    dequantized: Path | None
    tensors: list[TensorReport]
    declared: dict[str, str] = field(default_factory=dict)
    fused: list[tuple[str, ...]] = field(default_factory=list)
    others: int = 0

    @property
    def stores(self) -> dict[str, int]:
        """Store -> number of weights."""
        found: dict[str, int] = {}
        for tensor in self.tensors:
            found[tensor.store] = found.get(tensor.store, 0) + 1
        return found

    @property
    def damaged(self) -> list[TensorReport]:
        """Weights whose bytes no writer leaves, and no recipe explains."""
        return [tensor for tensor in self.tensors if tensor.damage and not tensor.identified]

    @property
    def departing(self) -> list[TensorReport]:
        """Weights that no recipe writes, or that another writes than the rest."""
        common = self.recipes
        return [
            tensor
            for tensor in self.tensors
            if tensor.recipes and (not tensor.possible or (self.original is not None and not set(common) & set(tensor.identified)))
        ]

    @property
    def recipes(self) -> list[str]:
        """Recipes that explain most weights: with the original those that give every byte, without it those that nothing excludes."""
        votes: dict[str, int] = {}
        wanted = "identified" if self.original is not None else "not separated"
        for tensor in self.tensors:
            for item in tensor.recipes:
                if item.verdict == wanted:
                    votes[item.recipe] = votes.get(item.recipe, 0) + 1
        return [name for name, count in votes.items() if count == max(votes.values())]

    @property
    def exit_code(self) -> int:
        """0 fine, 1 something departs or is damaged, 3 nothing is quantized."""
        if not self.tensors:
            return NOTHING
        unread = any(item.verdict == "separated" for tensor in self.tensors for item in tensor.profiles[:1])
        return DEPARTS if self.damaged or self.departing or unread else FINE

    def text(self) -> str:
        """Return the report for a reader."""
        from emu.checkpoint.text import report_text

        return report_text(self)

    def json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "path": str(self.path),
            "original": None if self.original is None else str(self.original),
            "dequantized": None if self.dequantized is None else str(self.dequantized),
            "stores": self.stores,
            "declared": self.declared,
            "recipes": self.recipes,
            "damaged": [tensor.name for tensor in self.damaged],
            "departing": [tensor.name for tensor in self.departing],
            "fused": [list(group) for group in self.fused],
            "not_quantized": self.others,
            "exit_code": self.exit_code,
            "tensors": [_plain(tensor) for tensor in self.tensors],
        }


def _plain(tensor: TensorReport) -> dict[str, Any]:
    data = asdict(tensor)
    data["recipes"] = [item._asdict() for item in tensor.recipes]
    data["profiles"] = [item._asdict() for item in tensor.profiles]
    data["damage"] = [{"what": what, "count": count, "first": places} for what, count, places in tensor.damage]
    return data
