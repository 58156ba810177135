"""Maxima a few codes beside a change of the scale; exponents by a float32 logarithm are seen by every check."""

import numpy as np
import pytest

from emu.contracts import form_of
from emu.contracts.form import expect
from emu.identify.scale_steps import beside_scale_steps
from emu.testing import check

FLOOR, RCEIL = "mxfp4_torchao_floor", "mxfp4_te_pow2"


def scales(x, recipe, exponent):
    """A recipe, but the scales of ordinary blocks have an exponent that comes from a function of the float32 maximum."""
    found = expect(form_of(f"quantize/{recipe}"), {"x": x.view(np.uint32)}, "auto").arrays
    top = np.abs(np.pad(x, ((0, 0), (0, -x.shape[1] % 32)))).reshape(len(x), -1, 32).max(-1)
    plain = np.isfinite(top) & (top >= np.float32(2.0**-120)) & (top < np.float32(2.0**127))
    with np.errstate(all="ignore"):
        faulty = np.nan_to_num(exponent(top)).clip(-127, 127).astype(np.int64) + 127
    return found["codes"], np.where(plain, faulty, found["scale"]).astype(np.uint8)


KERNELS = {
    "floor_of_log2": (FLOOR, lambda top: np.floor(np.log2(top)) - 2, True),
    "ceil_of_log2": (RCEIL, lambda top: np.ceil(np.log2(top / np.float32(6))), True),
    "floor_of_frexp": (FLOOR, lambda top: np.frexp(top)[1] - 3, False),
    "ceil_of_frexp": (RCEIL, lambda top: np.frexp(top / np.float32(6))[1] - (np.frexp(top / np.float32(6))[0] == 0.5), False),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("suite", ["directed", "decisions"])
def test_an_exponent_by_logarithm_is_seen(name, suite):
    recipe, exponent, wrong = KERNELS[name]
    report = check(lambda x: scales(x, recipe, exponent), f"quantize/{recipe}", suites=(suite,), raises=False)
    assert report.verdict == ("differs" if wrong else "pass"), report.text()
    assert all(failure.stage == "scale" for failure in report.failures)


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
def test_edges_are_blocks_under_their_maximum(source):
    question = beside_scale_steps(form_of(f"quantize/{RCEIL}", source))
    most = {
        "fp32": {0x3E400002, 0x40FFFFFF, 0x40C00001}, "bf16": {0x3E42, 0x40C1, 0x40FF}, "fp16": {0x3201, 0x47FF, 0x4601},
    }[source]  # fmt: skip
    x = question.operands["x"]
    sign = x.dtype.type(1 << x.dtype.itemsize * 8 - 1)
    assert x.shape[1] == 32 and np.array_equal((x & ~sign).max(1), x[:, 0]) and question.why == ("scale_edge",)
    assert most <= set(x[:, 0].tolist())


@pytest.mark.parametrize("contract", ["quantize/nvfp4_te_ref", "convert/e2m1/rne/nvidia", "quantize/e2m1_fp32scale"])
def test_other_scales_have_no_such_edges(contract):
    assert beside_scale_steps(form_of(contract)) is None
