"""Datapaths of levels by the torch engine behind NumPy arrays: codes in, codes out. CPU only."""

from __future__ import annotations

from emu.engines.torch import levels
from emu.engines.torch.arrays import Codes, maybe_tensor, tensor_of
from emu.engines.torch.can import levels_fault as fault
from emu.spec.levels import LevelsPlan

__all__ = ["dot", "fault"]


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, random: Codes | None, plan: LevelsPlan) -> Codes:
    """Return dot products of rows in pairs. Raises: as levels.dot."""
    first, second, addend, words = (maybe_tensor(item) for item in (scale_a, scale_b, c, random))
    found: Codes = levels.dot(tensor_of(a), tensor_of(b), first, second, addend, words, plan).numpy()
    return found
