"""The random operand of recipes that draw, from Philox4x32-10 with a key and the name of the tensor."""

from __future__ import annotations

import math
from typing import Any

from emu.base.philox import draw, stream_of
from emu.spec import Recipe
from emu.spec.programs.program import quantize_program


def random_operand(recipe: Recipe, shape: tuple[int, ...], name: str, key: int | None) -> Any:
    """Return the random operand of one tensor: Philox words of its stream in row-major order; None for a recipe that draws none.

    shape: of the tensor; one integer per element, or one word for `lanes` elements along the last axis.   name: gives the stream.
    """
    rounding = quantize_program(recipe).drawing
    if rounding is None or key is None:
        return None
    lanes, bits = rounding.random_operand
    if lanes > 1:
        shape = (*shape[:-1], -(-shape[-1] // lanes))
    return draw(key, math.prod(shape), bits, stream_of(name)).reshape(shape)
