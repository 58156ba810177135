"""Operands that a quantize kernel may not follow: the tensor maximum and the signs of a rotation. Not here: random integers (an axis)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from emu.check.model import Target
from emu.contracts.form import takes_signs
from emu.contracts.quantize.variants import Variant
from emu.engines.c_ref.call import code_dtype
from emu.engines.exact.encode import code_of_one
from emu.identify.cases import MASKS, plain
from emu.identify.layout import Found
from emu.identify.model import Axis
from emu.identify.quantize_calls import ask
from emu.identify.rows import Tile, calls
from emu.spec.models import Format

IGNORED: Final = "signs handed in are ignored: nothing negated"
NOT_TAKEN: Final = "not taken by this kernel: nothing negated"
FOLLOWED: Final = "followed"


def takes_own_maximum(target: Target, source: Format, layout: Found) -> bool:
    """Tell whether the tensor maximum that is handed in changes nothing. Raises: TargetError."""
    assert layout.block is not None
    x = np.full((layout.block[0], layout.block[1]), code_of_one(source), code_dtype(source))
    random = np.zeros(x.shape, np.uint32)
    shown = []
    for amax in (0x3F800000, 0x41A00000):
        found = ask(target, x, amax, random, layout.views.size)
        shown.append([found[name].tobytes() for name in sorted(found) if name in ("codes", "scale")])
    return shown[0] == shown[1]


def ignores_signs(target: Target, source: Format, shape: tuple[int, int], size: tuple[int, int]) -> bool:
    """Tell whether signs that are handed in change nothing of random blocks.

    shape: of a tile.   size: rows and columns are padded to multiples.   Raises: TargetError.
    """
    call = calls(plain(shape), shape, source)[0]
    random = np.zeros(call.x.shape, np.uint32)
    shown = []
    for mask in MASKS[:2]:
        found = ask(target, call.x, call.amax, random, size, mask)
        shown.append([found[name].tobytes() for name in sorted(found)])
    return shown[0] == shown[1]


def without_signs(rows: Iterable[Tile]) -> tuple[Tile, ...]:
    """Return rows with nothing negated."""
    return tuple(replace(row, signs=0) for row in rows)


def told_of_signs(target: Target, items: Sequence[Variant]) -> list[Variant]:
    """Return what fits a kernel that answers as without signs: documented, or a variant where the kernel takes signs and ignores them."""
    if "signs" not in (getattr(target, "wants", None) or ()):
        return list(items)
    told = [replace(item, changes=(*item.changes, ("signs", IGNORED))) if takes_signs(item.recipe) else item for item in items]
    return [item for item in told if item.is_documented] or told


def signs_axis(item: Variant, unsigned: bool) -> list[Axis]:
    """Return what is said of the signs of a recipe that takes them. unsigned: they change nothing of the kernel's answers."""
    if not takes_signs(item.recipe) or any(axis == "signs" for axis, _ in item.changes):
        return []
    return [Axis("rotation", "signs operand", NOT_TAKEN if unsigned else FOLLOWED)]
