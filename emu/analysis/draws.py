"""The random operand of recipes that draw, from Philox4x32-10 with a key and the name of the tensor."""

from __future__ import annotations

import math
from typing import Any

from emu.base.philox import draw, stream_of
from emu.spec import Recipe, Rounding
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program


def drawing_rounding(recipe: Recipe) -> Rounding | None:
    """Return the rounding of a recipe that draws random bits, or None."""
    found = (item.rounding for item in quantize_program(recipe).instructions if item.rounding is not None)
    return next((rounding for rounding in found if rounding.random_bits), None)


def random_operand(recipe: Recipe, shape: tuple[int, ...], name: str, key: int | None) -> Any:
    """Return the random operand of one tensor: Philox words of its stream in row-major order; None for a recipe that draws none.

    shape: of the tensor; one integer per element, or one word for `lanes` elements along the last axis.   name: gives the stream.
    """
    rounding = drawing_rounding(recipe)
    if rounding is None or key is None:
        return None
    source, bits = rounding.facts.random, rounding.random_bits
    if isinstance(source, Word):
        shape, bits = (*shape[:-1], -(-shape[-1] // source.lanes)), source.word
    return draw(key, math.prod(shape), bits, stream_of(name)).reshape(shape)
