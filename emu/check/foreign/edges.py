"""Blocks whose maximum lies a few ulps beside the places where a power-of-two scale changes: there a float32 logarithm is wrong.

Inputs of 16 bits never come so near, so they are binary32 and belong to no other suite.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.check.form import Form
from emu.check.model import Question
from emu.spec import get
from emu.spec.models import Block, Recipe

OFFSETS: Final = (*range(-4, 5), *(sign * far for far in (8, 16, 22, 32, 44, 64) for sign in (-1, 1)))
PLACES: Final = (1 << 23, 3 << 22, 7 << 21)  # 1, 1.5 and 1.75 as significands: rules of floor, of A / 6, of even
EXPONENTS: Final = range(1, 255)
LADDER: Final = (1, 3, 5, 7, 10, 14, 20)  # ties of E2M1 in quarters


def edges(form: Form) -> Question | None:
    """Return the blocks as one question; None for an operation without E8M0 scales or with another source than binary32."""
    if form.op != "quantize" or form.operands["x"] is None or form.operands["x"].id != "fp32":
        return None
    recipe: Recipe = get("recipe", form.contract.parts[0])
    block: Block = get("block", recipe.facts.block)
    if [level.format for level in block.facts.levels] != ["e8m0"]:
        return None
    tops = [((exp - 1) << 23) + place + off for exp in EXPONENTS for place in PLACES for off in OFFSETS]
    x = np.zeros((len(tops), block.facts.shape[1]), np.uint32)
    x[:, 0] = tops
    with np.errstate(over="ignore"):
        unit = (x[:, 0] & np.uint32(0x7F800000)).view(np.float32)
        for lane, tie in enumerate(LADDER, 1):
            value = (unit * np.float32(tie / 16)).view(np.uint32)
            x[:, lane] = np.minimum(value, x[:, 0])
            x[:, lane + len(LADDER)] = x[:, lane] | np.uint32(0x80000000)
    return Question({"x": x}, ("scale_edge",))
