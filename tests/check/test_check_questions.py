"""What is asked is the same in every version: digests of the operands of products and of attention.

A change here is a change of what every kernel is judged by. Who means it writes the new digests, and says so in CHANGELOG.md.
"""

import hashlib

import numpy as np
import pytest

from emu.check.attention.contract import attention_of
from emu.check.attention.sets import default_shapes, random_question, strict_question
from emu.check.matmul.numbers import Draws
from emu.check.matmul.pair import pair_of
from emu.check.matmul.sets import every_set, limits_of

SHAPES = [(5, 4, 96), (3, 9, 160), (2, 2, 32), (7, 3, 64), (4, 6, 128), (1, 5, 288)]  # the centres of all windows take their turn
THREE = ("nvfp4_torchao_1level",) * 3


def digest(arrays):
    found = hashlib.sha256()
    for array in arrays:
        found.update(b"none" if array is None else f"{array.dtype.str} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


PRODUCTS = {
    ("nvfp4/nvfp4", "fp32"): "ccd7e25979ef6d32",
    ("mxfp4/nvint4", 14): "e2767143a793e724",
    ("mxfp4/mxfp4", "fp32"): "ef3c485b34c84746",
    ("ufp4/ufp4", "fp32"): "933c7f2f923d773f",
}


@pytest.mark.parametrize(("name", "bits"), PRODUCTS)
def test_operands_of_products(name, bits):
    asked = every_set(pair_of(f"matmul/{name}/fp32"), SHAPES, limits_of(bits, "exact", "fp32"), 7, [], given=True)
    arrays = [array for one in asked for array in (one.a, one.sa, one.b, one.sb, one.sums, one.room)]
    assert len(arrays) > 60 and digest(arrays) == PRODUCTS[name, bits]


def test_operands_of_attention():
    contract = attention_of(*THREE, "fp32", "none", "whole row", 0, None, 1.0, 24, "dim", "values", 24)
    shapes = default_shapes(contract)
    assert [tuple(shape) for shape in shapes] == [
        (2, 2, 2, 9, 37, 64), (1, 4, 2, 16, 64, 128), (2, 4, 1, 5, 130, 64), (2, 2, 2, 1, 160, 64), (1, 2, 1, 37, 37, 64),
        (1, 1, 1, 2, 1030, 64),
    ]  # fmt: skip
    draws = Draws(5, "kept")
    asked = [
        strict_question(contract, shapes[0], 0.125, draws, dict.fromkeys("qkv", 0)),
        random_question(contract, shapes[3], 0.125, draws),
    ]
    assert digest([array for one in asked for name in "qkv" for array in (one.codes[name], one.scales[name])]) == "a0a7b31e9c39842c"
