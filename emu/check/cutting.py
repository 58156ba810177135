"""The smallest part of a question that an answer depends on: an element, a group, a row, a tile with what joins it to the tensor."""

from __future__ import annotations

import numpy as np

from emu.contracts.form import Arrays, Bits, Form, integer_dtype
from emu.engines.run import run_amax


def cut(form: Form, operands: Arrays, name: str, index: tuple[int, ...]) -> tuple[dict[str, Bits], tuple[int, ...]]:
    """Return the operands of one tile, row or element, and the place of the answer among its answers.

    The tensor maximum of the whole goes along as an operand where the contract reads one.
    """
    if form.by_row:
        out, first = _rows(form, operands, index[0])
        return out, (index[0] - first, *index[1:])
    if not index:
        return dict(operands), ()
    tall, wide = form.together(form.shapes(operands).get("codes", operands[form.main].shape))
    row, column = form.first_element(operands, name, index)
    top, left = row // tall * tall, column // wide * wide
    out = rectangle(form, operands, (top, top + tall), (left, left + wide))
    down, across = form.elements_of(operands, name)
    return out, ((row - top) // down, (column - left) // across)


def _rows(form: Form, operands: Arrays, row: int) -> tuple[dict[str, Bits], int]:
    """Return the rows that share random words with one, and the first of them."""
    lanes = form.draws.random_operand[0] if form.draws is not None else 1
    first = row // lanes * lanes
    out = {}
    for name, array in operands.items():
        part = slice(first // lanes, first // lanes + 1) if name == "random" and lanes > 1 else slice(first, first + lanes)
        out[name] = array[part]
    return out, first


def rectangle(form: Form, operands: Arrays, rows: tuple[int, int], columns: tuple[int, int]) -> dict[str, Bits]:
    """Return the operands of a rectangle of whole tiles."""
    main = form.main
    shape = operands[main].shape
    place = (slice(*rows), slice(*columns))
    out: dict[str, Bits] = {main: operands[main][place]}
    for name, array in operands.items():
        if name == main:
            continue
        if not array.shape:
            out[name] = array
        elif array.shape == shape:
            out[name] = array[place]
        elif name == "random":
            assert form.draws is not None
            lanes, bits = form.draws.random_operand
            out[name] = np.zeros((1, -(-out[main].size // lanes)), integer_dtype(None, bits))
        else:
            tall, wide = -(-shape[0] // array.shape[0]), -(-shape[1] // array.shape[1])
            out[name] = array[rows[0] // tall : -(-rows[1] // tall), columns[0] // wide : -(-columns[1] // wide)]
    if "tensor_amax" in form.extras and "tensor_amax" not in out:
        source = form.operands["x"]
        assert source is not None
        out["tensor_amax"] = np.array(run_amax(operands[main], source), "u4")
    return out
