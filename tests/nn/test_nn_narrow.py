"""Rounding of operands to bf16 and fp16: every bf16 number with every kind of discarded part, against ml_dtypes, NumPy and `exact`."""

from __future__ import annotations

import importlib
import os

import ml_dtypes
import numpy as np
import pytest

from emu.engines.exact.arithmetic import round_result
from emu.engines.exact.decode import decode_code
from emu.spec import get

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
narrow = importlib.import_module("emu.nn.operand")
LOST = (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)


def every() -> np.ndarray:
    """binary32 codes: every upper half with every kind of lower half."""
    tops = np.arange(1 << 16, dtype=np.uint32) << 16
    return (tops[:, None] | np.array(LOST, np.uint32)).reshape(-1)


def test_bf16_is_what_ml_dtypes_rounds_to():
    codes = every()
    found = narrow.rounded(torch.from_numpy(codes.view(np.float32)), get("format", "bf16")).view(torch.int16).numpy().view(np.uint16)
    values = codes.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        want = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    nan = np.isnan(values)
    assert nan.any() and (found[nan] == 0x7FC0).all()
    np.testing.assert_array_equal(found[~nan], want[~nan])
    assert (found[~nan] != (codes >> 16)[~nan]).sum() > 1 << 16  # some go up


def test_fp16_is_what_numpy_rounds_to():
    codes = np.random.default_rng(5).integers(0, 1 << 32, 1 << 14, dtype=np.uint32)
    codes[::2] = codes[::2] % (1 << 29) + (98 << 23)  # most in the range of fp16
    values = codes.view(np.float32)
    found = narrow.rounded(torch.from_numpy(values), get("format", "fp16")).view(torch.int16).numpy().view(np.uint16)
    with np.errstate(over="ignore", invalid="ignore"):
        want = values.astype(np.float16).view(np.uint16)
    nan = np.isnan(values)
    assert (found[nan] == 0x7E00).all()
    np.testing.assert_array_equal(found[~nan], want[~nan])


def test_what_has_the_format_is_left_alone():
    x = torch.tensor([1.0, float("nan"), -0.0], dtype=torch.bfloat16)
    assert narrow.rounded(x, get("format", "bf16")) is x


def test_the_reference_model_rounds_alike():
    codes = every()[::1009]
    fp32, bf16, rne = get("format", "fp32"), get("format", "bf16"), get("rounding", "rne")
    found = narrow.rounded(torch.from_numpy(codes.view(np.float32)), bf16).view(torch.int16).numpy().view(np.uint16)
    for code, mine in zip(codes.tolist(), found.tolist(), strict=True):
        assert decode_code(mine, bf16) == round_result(decode_code(code, fp32), bf16, rne), hex(code)


def test_the_column_rounds_values_by_the_same_cut():
    arithmetic = importlib.import_module("emu.engines.torch.arithmetic")
    values, bf16, rne = torch.from_numpy(every().view(np.float32)), get("format", "bf16"), get("rounding", "rne")
    found = arithmetic.round_values(values, bf16, rne).view(torch.int32)
    assert torch.equal(found, arithmetic.round_number(arithmetic.number_of(values), bf16, rne).view(torch.int32))
