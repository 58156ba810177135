"""What a tensor's bytes exclude without the original: recipes that cannot write a pair of scale and largest code that is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.checkpoint.amax import Maximum, converted, maxima
from emu.checkpoint.candidates import candidates, has_tensor_level, owns
from emu.checkpoint.reachable import reachable
from emu.checkpoint.read import StoredTensor
from emu.checkpoint.scan import Scan
from emu.spec import derive, get
from emu.spec.models import Recipe

# Words of identification; "identified": every byte is what the recipe gives.
SEPARATED, OPEN, UNSEEN = "separated", "not separated", "unobservable"


class Finding(NamedTuple):
    """What the bytes of a tensor say of one recipe. verdict: separated (it is not this one), not separated, unobservable, identified."""

    recipe: str
    verdict: str
    why: str


def passive_findings(tensor: StoredTensor, scan: Scan) -> list[Finding]:
    """Return a finding for every recipe that the store could hold."""
    return [_finding(recipe, tensor, scan) for recipe in candidates(tensor.store)]


def _finding(recipe: Recipe, tensor: StoredTensor, scan: Scan) -> Finding:
    if derive.codes(tensor.scale_format).bits > 8:
        return Finding(recipe.id, UNSEEN, "its scales are numbers of more than 8 bits, and any may stand there: give the original")
    tiled = get("block", recipe.facts.block).facts.shape[0] > 1
    if tiled and not scan.tiled:
        return Finding(recipe.id, SEPARATED, "its scales are equal over tiles of rows, the file's are not")
    tops: tuple[int | None, ...] = (None,)
    if has_tensor_level(recipe):
        behind = _behind(recipe, tensor)
        if isinstance(behind, Finding):
            return behind
        tops = tuple(dict.fromkeys((behind.low, behind.bits, behind.high)))
    if tensor.store.facts.high_bit == "flag":
        return Finding(recipe.id, UNSEEN, "the flag of a block depends on all of its elements: give the original")
    if tiled:
        return Finding(recipe.id, OPEN, f"scales are equal over tiles of rows ({scan.blocks} blocks)")
    found = [reachable(recipe.id, top) for top in tops]
    unsaid = next((item for item in found if isinstance(item, str)), None)
    if unsaid is not None:
        return Finding(recipe.id, UNSEEN, f"{unsaid}: give the original")
    possible = np.logical_or.reduce([item for item in found if not isinstance(item, str)])
    outside = np.argwhere((scan.pairs > 0) & ~possible).tolist()
    if outside:
        count = int(scan.pairs[~possible].sum())
        scale, size = outside[0]
        row, block = scan.first[scale, size]
        why = f"{count} of {scan.blocks} blocks are none of it: row {row} block {block} has scale {scale:02X} and largest code {size}"
        return Finding(recipe.id, SEPARATED, why)
    return Finding(recipe.id, OPEN, f"it can write all {scan.blocks} blocks")


def _behind(recipe: Recipe, tensor: StoredTensor) -> Maximum | Finding:
    """Return the tensor maxima that a recipe may have seen, or why there are none."""
    bits = tensor.tensor_bits
    if bits is None:
        return Finding(recipe.id, UNSEEN, "the file keeps no tensor factor: give the original")
    if owns(tensor.store, recipe):
        found = maxima(recipe, bits)
        return found or Finding(recipe.id, SEPARATED, f"no tensor maximum gives the tensor factor {bits:08X}")
    guess = converted(recipe, tensor.block, bits)
    return guess or Finding(recipe.id, UNSEEN, "the tensor factor is no number it could have made")
