"""Datapaths of levels by the torch engine behind NumPy arrays: codes in, codes out. CPU only."""

from __future__ import annotations

import numpy as np

from emu.engines.torch import levels
from emu.engines.torch.arrays import Codes, maybe_tensor, tensor_of
from emu.engines.torch.can import can_levels
from emu.engines.torch.can import levels_fault as fault
from emu.spec.levels import LevelsPlan

__all__ = ["can_levels", "dot", "fault"]


def dot(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    flags: Codes | None = None,
) -> Codes:
    """Return dot products of rows in pairs. flags: uint8 [R], filled.   Raises: as levels.dot."""
    first, second, addend, words = (maybe_tensor(item) for item in (scale_a, scale_b, c, random))
    raised = None if flags is None else tensor_of(np.zeros(len(a), np.uint8))
    found: Codes = levels.dot(tensor_of(a), tensor_of(b), first, second, addend, words, plan, raised).numpy()
    if flags is not None and raised is not None:
        flags[:] = raised.numpy()
    return found
