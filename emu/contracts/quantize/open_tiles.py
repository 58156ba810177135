"""Which blocks of a question a recipe leaves open because of what is in them, so that only they are masked and not the whole tensor."""

from __future__ import annotations

import numpy as np

from emu.contracts.form import Arrays, Bits, Form
from emu.spec import derive, get
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import padded_size, quantize_program


def open_tiles(form: Form, operands: Arrays) -> Bits | None:
    """Return which elements lie in blocks with NaN or Inf, where the recipe's domain has neither; None where blocks cannot be told apart.

    Blocks cannot be told apart when none or all are open, or when the tensor maximum comes from the tensor itself.
    Returns: bool, the padded shape of x.   Tests: tests/check/test_check_open.py.
    """
    recipe: Recipe = get("recipe", form.contract.parts[0])
    source, x = form.operands[form.main], operands[form.main]
    assert source is not None and form.block is not None
    if recipe.facts.domain.non_finite != "no":
        return None
    if quantize_program(recipe).reads("tensor_amax") and "tensor_amax" not in operands:
        return None
    bad = not_finite(x, source)
    if not bad.any():
        return None
    height, width = padded_size(recipe, *x.shape)
    tall, wide = form.block.facts.shape
    grid = np.zeros((height, width), bool)
    grid[: x.shape[0], : x.shape[1]] = bad
    tiles = grid.reshape(height // tall, tall, width // wide, wide).any((1, 3))
    return None if tiles.all() else tiles.repeat(tall, axis=0).repeat(wide, axis=1)


def not_finite(codes: Bits, source: Format) -> Bits:
    """Return where codes are NaN or Inf."""
    derived = derive.codes(source)
    return np.asarray(codes & ~codes.dtype.type(derived.sign_bit) > derived.max_code)


def without(operands: Arrays, tiles: Bits) -> dict[str, Bits]:
    """Return the operands with the open blocks as zeros."""
    x = operands["x"]
    return {**operands, "x": np.where(tiles[: x.shape[0], : x.shape[1]], 0, x).astype(x.dtype)}


def shut(arrays: Arrays, known: Arrays, tiles: Bits) -> dict[str, Bits]:
    """Return masks that hold the open blocks too.

    arrays: codes and levels, whose parts tile the padded tensor.   known: their masks as far as there are any.   A level of the whole
    tensor follows from the tensor maximum alone and stays known.
    """
    out = dict(known)
    for name, array in arrays.items():
        if not array.shape:
            continue
        if name == "codes":
            here = tiles[: array.shape[0], : array.shape[1]]
        else:
            rows, columns = array.shape
            here = np.asarray(tiles.reshape(rows, tiles.shape[0] // rows, columns, tiles.shape[1] // columns).any((1, 3)))
        out[name] = np.asarray(known.get(name, True) & ~here)
    return out
