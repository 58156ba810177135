"""Tensor maxima beside the end of a recipe's domain: every engine answers the same ones and calls the others open."""

import numpy as np
import pytest

import emu
from emu.base.errors import OpenError
from emu.spec import get, names

BOUNDED = [name for name in names("recipe") if get("recipe", name).facts.domain.tensor_amax_min]


def is_open(x, recipe, engine):
    try:
        emu.quantize(x, recipe, engine=engine)
    except OpenError:
        return True
    return False


@pytest.mark.parametrize("engine", ["c_ref", "numpy", "native"])
@pytest.mark.parametrize("recipe", BOUNDED)
def test_the_least_maximum_has_an_answer_and_the_number_below_has_none(recipe, engine):
    least = int(get("recipe", recipe).facts.domain.tensor_amax_min, 16)
    for amax in (least - 1, least, 0):
        x = np.zeros(get("block", get("recipe", recipe).facts.block).facts.shape, np.uint32)
        x[0, 0] = amax
        assert is_open(x.view(np.float32), recipe, engine) is is_open(x.view(np.float32), recipe, "exact")
        assert not amax or is_open(x.view(np.float32), recipe, engine) is (amax < least)
