"""Writers of a paged cache: each code and scale where it must be, nothing else touched."""

import numpy as np
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


def test_rows_to_write_have_seven_magnitudes():
    """Each row of a head: integers of 12 bits in one unit, 2^-10 to 2^-4; of two rows of a token not always the same one."""
    units, differ = set(), 0

    def seen(k, v, *caches):
        nonlocal differ
        for x in (k, v):
            fraction, exponent = np.frexp(x.astype(np.float64))
            whole = np.ldexp(fraction, 24).astype(np.int64)
            lowest = np.where(whole == 0, 1 << 20, np.frexp((whole & -whole).astype(np.float64))[1] - 25 + exponent)
            unit = lowest.min(axis=-1)
            assert (np.abs(x) <= np.ldexp(2048.0, unit)[..., None]).all() and (x < 0).any() and (x > 0).any()
            units.update(unit.ravel().tolist())
            differ += int((unit[:, 0] != unit[:, 1]).sum())
        writer()(k, v, *caches)

    assert check_cache(seen, RECIPE, **LAYOUT).verdict == "pass"
    assert units == set(range(-10, -3)) and differ


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
