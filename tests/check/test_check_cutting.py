"""What an answer depends on: the block of a scale, also behind a tail that zeros fill up, and the link of that block."""

from types import SimpleNamespace
from urllib.parse import parse_qs

import numpy as np
import pytest

from emu.check.cutting import cut
from emu.check.report.findings import example_of
from emu.check.shrink import Shrunk
from emu.contracts import parse
from emu.contracts.form import Expected
from emu.spec import get

SCALES = [  # contract, shape of the elements, place of a scale -> the first element of its block, rows and columns of the block there
    ("quantize/nvfp4_te_ref", (2, 40), (1, 2), (1, 32), (1, 8)),  # 40 are filled up to 48
    ("quantize/nvfp4_te_ref", (2, 40), (0, 1), (0, 16), (1, 16)),
    ("quantize/nvfp4_te_ref", (1, 5), (0, 0), (0, 0), (1, 5)),
    ("quantize/mxfp4_torchao_floor", (3, 96), (2, 2), (2, 64), (1, 32)),
    ("quantize/e4m3_tile128_transformers", (130, 300), (1, 2), (128, 256), (2, 44)),
    ("quantize/e4m3_row_torchao", (3, 20), (2, 0), (2, 0), (1, 20)),
]


@pytest.mark.parametrize(("name", "shape", "place", "first", "size"), SCALES)
def test_a_scale_has_the_elements_of_its_block(name, shape, place, first, size):
    form = parse(name).form(get("format", "fp32"))
    x = np.arange(shape[0] * shape[1], dtype=np.uint32).reshape(shape)
    operands = {"x": x} | ({"tensor_amax": np.array(0x40000000, np.uint32)} if "tensor_amax" in form.extras else {})
    assert form.first_element(operands, "scale", place) == first and form.first_element(operands, "codes", place) == place
    part, at = cut(form, operands, "scale", place)
    assert at == (0, 0) and part["x"].shape == size and part["x"][0, 0] == x[first]


def test_the_steps_of_a_scale_are_those_of_its_block():
    """40 elements are filled up to 48: the third scale begins at element 32, not at two thirds of 40."""
    form = parse("quantize/nvfp4_te_ref").form(get("format", "fp32"))
    operands = {"x": np.arange(40, dtype=np.uint32).reshape(1, 40) + 0x3F800000, "tensor_amax": np.array(0x40000000, np.uint32)}
    assert form.steps(operands, (0, 2), "scale")[0].startswith("x[0, 32] = ")


def test_a_value_behind_a_tail_that_stays_keeps_its_place():
    """Codes are filled up to 32, values are not: the last value of the part is the last of the whole."""
    form = parse("quantize/nvfp4_f46_abs_max").form(get("format", "fp32"))
    x = np.arange(20, dtype=np.uint32).reshape(1, 20) + 0x3F800000
    part, at = cut(
        form, {"x": x} | ({"tensor_amax": np.array(0x40000000, np.uint32)} if "tensor_amax" in form.extras else {}), "values", (0, 19)
    )
    assert part["x"][at] == x[0, 19]


def test_the_link_of_a_scale_opens_its_tile():
    form = parse("quantize/e4m3_tile128_transformers").form(get("format", "fp32"))
    x = np.arange(130 * 300, dtype=np.uint32).reshape(130, 300) + 0x3F800000
    scale = np.ones((2, 3), np.uint32)
    shrunk = Shrunk({"x": x}, Expected({"scale": scale}, ()), {"scale": scale + 1}, (1, 2), "chosen", 0, True)
    made = example_of(SimpleNamespace(form=form, profile=None), shrunk, "scale", "scale")
    given = [int(code, 16) for code in parse_qs(made.link)["x"][0].split()]
    assert (
        given == [*x[128, 256:].tolist(), *x[129, 256:].tolist()] and made.part == "row 0 of its tile, and row 1, which holds its maximum"
    )
