"""Which tensor maximum stands behind a stored tensor factor: every binary32 number that a recipe turns into those bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.checkpoint.candidates import tensor_code
from emu.spec import derive, get
from emu.spec.models import Block, Recipe

NEAR = 8  # binary32 steps around the quotient: two roundings move it by fewer


@dataclass(frozen=True)
class Maximum:
    """bits: binary32 of the maximum.   count: how many maxima give the stored factor.   short: is bits a bf16 number."""

    bits: int
    count: int
    short: bool


def maxima(recipe: Recipe, stored: int) -> Maximum | None:
    """Return the tensor maximum behind a stored factor under a recipe; a bf16 number where one of them is; None without any.

    stored: binary32 bits.   The recipe's own program is asked for each number near the quotient: nothing is inverted.
    """
    block: Block = get("block", recipe.facts.block)
    level = next(item for item in block.facts.levels if item.granularity == "tensor")
    start = _near(stored, derive.parse_exact(block.facts.factor) != 1, level.meaning == "divide")
    found = [bits for bits in range(max(start - NEAR, 1), start + NEAR + 1) if tensor_code(recipe.id, bits) == stored]
    if not found:
        return None
    short = [bits for bits in found if bits & 0xFFFF == 0]
    return Maximum(short[0] if short else found[len(found) // 2], len(found), bool(short))


def _near(stored: int, is_amax: bool, divides: bool) -> int:
    """Return a first guess; the numbers around it are tried, so its own roundings do not matter."""
    if is_amax:
        return stored
    value = np.array(stored, np.uint32).view(np.float32).astype(np.float64)
    top = _largest()
    with np.errstate(all="ignore"):
        guess = np.array(top / value if divides else value * top).astype(np.float32)
    return int(guess.view(np.uint32))


def _largest() -> float:
    """Return largest element times largest scale of the two-level formats, as the registry has them."""
    element, scale = (derive.codes(get("format", name)) for name in ("e2m1", "ue4m3"))
    from emu.exact.decode import decode_code

    pair = [decode_code(item.max_code, get("format", name)).magnitude for item, name in ((element, "e2m1"), (scale, "ue4m3"))]
    return float(pair[0] * pair[1])
