"""The decoding kernel against the reference model: every code, every pair of codes, every length, every form."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.native import convert as kernel
from emu.engines.native._kernels import lib
from emu.spec import derive, get, names

FORMS = range(kernel.BEST_FORM + 1)
FP32 = get("format", "fp32")
FOUR_BITS = [name for name in names("format") if derive.codes(get("format", name)).bits == 4]


def by_exact(fmt):
    return np.array([encode_value(decode_code(code, fmt), FP32) for code in range(16)], np.uint32)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FOUR_BITS)
def test_every_pair_of_codes(name, form):
    fmt = get("format", name)
    packed = np.arange(256, dtype=np.uint8)
    codes = np.stack([packed & 15, packed >> 4], axis=-1)
    wanted = by_exact(fmt)[codes]
    assert np.array_equal(kernel.decode(codes, fmt, FP32, form=form), wanted)
    assert np.array_equal(kernel.decode(packed, fmt, FP32, packed=True, form=form), wanted.reshape(-1))


@pytest.mark.parametrize("form", FORMS)
def test_every_length(form):
    fmt = get("format", "e2m1")
    codes = np.random.default_rng(46).integers(0, 16, 8200, dtype=np.uint8)
    pairs = codes[0::2] | codes[1::2] << 4
    wanted = by_exact(fmt)[codes]
    for count in (*range(70), 4095, 4096, 4097, 8191, 8200):
        assert np.array_equal(kernel.decode(codes[:count], fmt, FP32, form=form), wanted[:count])
        assert np.array_equal(kernel.decode(pairs, fmt, FP32, packed=True, count=count, form=form), wanted[:count])
        out = np.full(8300, 0xABCDABCD, np.uint32)
        table = by_exact(fmt)
        addresses = kernel.address(codes), count, 0, kernel.address(out)
        assert lib.emu_decode_4bit(form, kernel.address(table), *addresses) == 0
        assert (out[count:] == 0xABCDABCD).all()


def test_public_decode_keeps_shape_and_values():
    codes = np.random.default_rng(47).integers(0, 16, (3, 5, 7), dtype=np.uint8)
    for view in (codes, codes.T, codes[:, ::2, ::-1], codes.astype(np.uint64), codes[0, 0, 0], codes[:0]):
        wanted = by_exact(get("format", "int4"))[view].view(np.float32)
        assert np.array_equal(emu.decode(view, "int4"), wanted) and emu.decode(view, "int4").shape == view.shape


def test_what_the_kernel_cannot_decode_is_refused():
    codes = np.zeros(3, np.uint8)
    with pytest.raises(EngineError, match="not e4m3 to fp32"):
        kernel.decode(codes, get("format", "e4m3"), FP32)
    with pytest.raises(EngineError, match="not e2m1 to bf16"):
        kernel.decode(codes, get("format", "e2m1"), get("format", "bf16"))
    with pytest.raises(EngineError, match="7 packed codes need 4 bytes, not 3"):
        kernel.decode(codes, get("format", "e2m1"), FP32, packed=True, count=7)
    with pytest.raises(EngineError, match="lacks the instructions"):
        kernel.decode(codes, get("format", "e2m1"), FP32, form=lib.EMU_AVX512 + 1)
