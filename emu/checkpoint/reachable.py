"""Which pairs of scale code and largest magnitude code a recipe can write at all: a block outside of them was made by another.

For a recipe whose scale and largest code follow from the block's maximum alone, both grow with it; so the pairs are found from a grid of
maxima, refined by halving wherever two neighbours differ, down to neighbouring binary32 numbers: nothing between equal neighbours is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded
from emu.base.errors import EmuError
from emu.checkpoint.candidates import chooses, has_tensor_level
from emu.checkpoint.facts import element_bits
from emu.ops.functions import quantize
from emu.spec import get
from emu.spec.models import Block, Recipe

BINADES = 32  # below the tensor maximum that are looked at closely: a scale of 7 bits spans 18, an element 3
TOP = 0x7F7FFFFF  # largest finite binary32 number
Pairs = NDArray[np.bool_]


@bounded(512, names=True)
def reachable(recipe_id: str, tensor_amax: int | None) -> Pairs | str:
    """Return which (scale code, largest magnitude code) a recipe writes. bool [256, magnitudes]; or why nobody can say.

    tensor_amax: binary32 bits; None for a recipe without a number for the tensor.   Raises: SpecError (unknown recipe).
    """
    recipe: Recipe = get("recipe", recipe_id)
    if chooses(recipe):
        return "it chooses a block's scale by all of its elements"
    if has_tensor_level(recipe) != (tensor_amax is not None):
        return "the tensor's maximum is not known"
    top = TOP if tensor_amax is None else tensor_amax
    if not 0 < top <= TOP:
        return "the tensor's maximum is no positive number"
    try:
        return _pairs(recipe, top, tensor_amax)
    except EmuError as error:
        return f"the recipe is open there: {error}"


def _pairs(recipe: Recipe, top: int, tensor_amax: int | None) -> Pairs:
    low = 0 if tensor_amax is None else max(top - (BINADES << 23), 0)
    grid = np.unique(np.concatenate([[0, 1], np.arange(0, low, 1 << 23), np.arange(low & ~0xFFFF, top, 1 << 16), [top]])).astype(np.int64)
    found = np.zeros((256, _magnitudes(recipe)), bool)
    results = _results(recipe, grid, tensor_amax)
    found.reshape(-1)[results] = True
    below, above, at_below, at_above = grid[:-1], grid[1:], results[:-1], results[1:]
    while True:
        wide = (at_below != at_above) & (above - below > 1)
        if not wide.any():
            return found
        below, above, at_below, at_above = below[wide], above[wide], at_below[wide], at_above[wide]
        middle = (below + above) // 2
        results = _results(recipe, middle, tensor_amax)
        found.reshape(-1)[results] = True
        below, above = np.concatenate([below, middle]), np.concatenate([middle, above])
        at_below, at_above = np.concatenate([at_below, results]), np.concatenate([results, at_above])


def _results(recipe: Recipe, maxima: NDArray[np.int64], tensor_amax: int | None) -> NDArray[np.int64]:
    """Return scale * magnitudes + magnitude code of blocks whose only element is the maximum."""
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    x = np.zeros((len(maxima) * rows, columns), np.uint32)
    x[::rows, 0] = maxima
    amax = None if tensor_amax is None else np.array(tensor_amax, np.uint32).view(np.float32)[()]
    found = quantize(x, recipe, source="fp32", tensor_amax=amax)
    magnitudes = _magnitudes(recipe)
    codes = found.codes.reshape(len(maxima), -1)[:, 0] & magnitudes - 1
    return found.scales.reshape(len(maxima), -1)[:, 0].astype(np.int64) * magnitudes + codes


def _magnitudes(recipe: Recipe) -> int:
    """Return how many magnitude codes an element of a recipe's block has."""
    block: Block = get("block", recipe.facts.block)
    return 1 << element_bits(block) - 1
