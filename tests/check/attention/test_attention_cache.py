"""Writers of a paged cache: each code and scale where it must be, nothing else touched."""

import pytest
from support.attention_kernels import WRONG_WRITERS, writer

from emu.base.errors import OperandError
from emu.testing import check_cache

LAYOUT = {"v_scale_layout": "kv_v_scale_4token", "tokens": (1, 18)}
RECIPE = "nvfp4_torchao_1level"


@pytest.mark.parametrize("order", ["HND", "NHD"])
@pytest.mark.parametrize("source", ["fp32", "bf16"])
def test_right_writers_pass(order, source):
    assert check_cache(writer(order=order), RECIPE, order=order, source=source, **LAYOUT).compared > 10000


def test_a_writer_of_blocks_of_32_passes():
    mx = "mxfp4_torchao_floor"
    assert check_cache(writer(mx, layout="row_major"), mx, tokens=(3,)).verdict == "pass"


@pytest.mark.parametrize("name", WRONG_WRITERS)
def test_wrong_writers_fail(name):
    report = check_cache(WRONG_WRITERS[name], RECIPE, **LAYOUT, raises=False)
    assert report.verdict == "differs" and report.message


def test_a_touched_slot_is_named():
    with pytest.raises(AssertionError, match="a slot that was not named"):
        check_cache(WRONG_WRITERS["zeroes"], RECIPE, **LAYOUT)


@pytest.mark.parametrize(
    "words", [{"order": "DHN"}, {"v_scale_layout": "sf128x4"}, {"page_size": 6, "v_scale_layout": "kv_v_scale_4token"}, {"dim": 40}]
)
def test_unknown_layouts_are_refused(words):
    with pytest.raises(OperandError):
        check_cache(writer(), RECIPE, **words)
