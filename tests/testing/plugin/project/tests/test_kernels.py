"""Each kernel against its contract: declared on the kernel, and called inside a test; properties with the strategies of emu."""

import mykernels
import numpy as np
import pytest
from hypothesis import given, settings

import emu
import emu.testing
from emu import strategies


@emu.testing.conforms("quantize/mxfp4_torchao_floor")
def right(x):
    return mykernels.quantize(x)


@emu.testing.conforms("quantize/mxfp4_torchao_floor")
def wrong(x):
    return mykernels.quantize_wrong(x)


@pytest.mark.skip(reason="has no bf16 kernel yet")
@emu.testing.conforms("quantize/mxfp4_torchao_even")
@emu.testing.conforms("quantize/mxfp4_torchao_ceil")
def later(x):
    return mykernels.quantize(x)


def test_inside_a_test():
    report = emu.testing.check(mykernels.quantize, "quantize/mxfp4_torchao_floor", suites=["directed"])
    assert report.compared > 1000


@settings(max_examples=50, deadline=None, derandomize=True)
@given(strategies.tensors("mxfp4_torchao_floor"))
def test_property(tensor):
    x = tensor.x.view(np.float32)
    codes, scale = mykernels.quantize(x)
    wanted = emu.quantize(x, "mxfp4_torchao_floor")
    assert (codes == wanted.codes).all()
    assert (scale == wanted.levels[0].codes).all()
