"""Which tensor maximum stands behind a stored tensor factor: every binary32 number that a recipe turns into those bits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from emu.checkpoint.candidates import tensor_code
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models import Block, Recipe

ONE = 0x3F800000  # 1, binary32
NEAR = 8  # binary32 steps around the quotient: two roundings move it by fewer


@dataclass(frozen=True)
class Maximum:
    """bits: binary32 of the maximum, a bf16 number where short says so.   low, high: the range of maxima that give the stored factor."""

    bits: int
    low: int
    high: int
    short: bool


def maxima(recipe: Recipe, stored: int) -> Maximum | None:
    """Return the tensor maximum behind a stored factor under a recipe; a bf16 number where one of them is; None without any.

    stored: binary32 bits.   The recipe's own program is asked for each number near the quotient: nothing is inverted.
    """
    block: Block = get("block", recipe.facts.block)
    level = next(item for item in block.facts.levels if item.granularity == "tensor")
    start = _near(recipe, stored, level.meaning == "divide")
    found = [bits for bits in range(max(start - NEAR, 1), start + NEAR + 1) if tensor_code(recipe.id, bits) == stored]
    if not found:
        return None
    short = [bits for bits in found if bits & 0xFFFF == 0]
    return Maximum(short[0] if short else found[len(found) // 2], found[0], found[-1], bool(short))


def converted(recipe: Recipe, store: Block, stored: int) -> Maximum | None:
    """Return the maxima that a recipe may have seen when its tensor factor was written in the terms of another block; None without any.

    store: block whose tensor level `stored` is.   Both factors are taken as multipliers; the conversion's own rounding is a few steps.
    """
    unit = tensor_code(recipe.id, ONE)
    mine, theirs = (
        None if bits is None else multiplier(block, bits) for block, bits in ((get("block", recipe.facts.block), unit), (store, stored))
    )
    if not mine or not theirs:
        return None
    with np.errstate(all="ignore"):
        bits = int(np.array(float(theirs / mine)).astype(np.float32).view(np.uint32))
    return Maximum(bits, max(bits - NEAR, 1), bits + NEAR, False) if NEAR < bits < 0x7F000000 else None


def multiplier(block: Block, bits: int) -> Fraction | None:
    """Return what a stored tensor level multiplies elements and scales by, the block's factor included; None where it is no number."""
    level = next(item for item in block.facts.levels if item.granularity == "tensor")
    value, factor = decode_code(bits, get("format", level.format)), derive.parse_exact(block.facts.factor)
    if value.kind != "finite" or value.sign or not value.magnitude:
        return None
    return factor / value.magnitude if level.meaning == "divide" else factor * value.magnitude


def _near(recipe: Recipe, stored: int, divides: bool) -> int:
    """Return a first guess from what the maximum 1 gives; the numbers around it are tried, so the guess's own roundings do not matter."""
    unit = tensor_code(recipe.id, ONE)
    if unit is None:
        return 0
    one, value = np.array([unit, stored], np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        guess = np.array(one / value if divides else value / one).astype(np.float32)
    return int(guess.view(np.uint32))
