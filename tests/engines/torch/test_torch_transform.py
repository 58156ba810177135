"""transform of the torch engine: every rotation against the reference model, on groups where the order of additions and every bit count."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OperandError, ShapeError
from emu.base.philox import words
from emu.spec import get, names

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
rotation = importlib.import_module("emu.engines.torch.transform")


def groups():
    """fp32 codes [24, 16]: wide and close exponents, cancellation, zeros of both signs, subnormals, huge, NaN and Inf."""
    draw = words(2026, 24 * 16).reshape(24, 16)
    sign = draw & np.uint32(0x80000000)
    out = draw.copy()
    out[:8] = (draw[:8] & 0x807FFFFF) | ((120 + draw[:8] % 16) << np.uint32(23))
    out[8], out[9], out[10] = sign[8], np.uint32(0x80000000), draw[10] & 0x800000FF
    out[11] = draw[11] & 0x807FFFFF | 0x7F000000
    out[12] = np.where(np.arange(16) % 2, 0x3F800000, 0xBF800000)
    out[13] = np.where(np.arange(16) < 2, np.array([0x4B800000, 0xCB800000] * 8, np.uint32), 0x00000001)
    out[14], out[15] = 0x7F7FFFFF, np.where(np.arange(16) == 3, 0x33800000, 0x3F800000)
    out[20, 5], out[21, 2], out[22, 3], out[22, 9] = 0x7FC00000, 0xFF800000, 0x7F800000, 0x7F800000
    out[16:20] = np.where((draw[16:20] & 0x7F800000) == 0x7F800000, 0x3F800000, draw[16:20])
    return out


def answer(x, name, engine, **more):
    return emu.transform(x, name, engine=engine, **more).tobytes()


@pytest.mark.parametrize("name", names("transform"))
def test_every_rotation_against_the_reference_model(name):
    x = groups()
    assert answer(x, name, "torch", source="fp32") == answer(x, name, "exact", source="fp32")
    low = (x >> np.uint32(16)).astype(np.uint16)
    for source in ("bf16", "fp16"):
        assert answer(low, name, "torch", source=source) == answer(low, name, "exact", source=source)
    if get("transform", name).facts.signs_operand == "yes":
        for signs in (0, 0xFFFF, 0x5A01):
            assert answer(x, name, "torch", source="fp32", signs=signs) == answer(x, name, "exact", source="fp32", signs=signs)


@pytest.mark.parametrize("fault", ["order", "sign", "scale"])
def test_a_wrong_step_is_seen(monkeypatch, fault):
    """Each fault changes a code of the groups above."""
    name = "rht16_te_fp32"
    facts = get("transform", name).facts
    wanted = answer(groups(), name, "exact", source="fp32")
    if fault == "order":
        wrong = rotation._sequential if facts.sum == "butterfly" else rotation._butterfly
        monkeypatch.setattr(rotation, "_butterfly" if facts.sum == "butterfly" else "_sequential", wrong)
        monkeypatch.setattr(rotation, "_exact", lambda rows, _: wrong(rows))
    elif fault == "sign":
        real = rotation.sign_mask
        monkeypatch.setattr(rotation, "sign_mask", lambda *given: real(*given) ^ 4)
    else:
        monkeypatch.setattr(rotation.derive, "parse_exact", lambda text: importlib.import_module("fractions").Fraction(1, 2))
    assert answer(groups(), name, "torch", source="fp32") != wanted


def test_bad_operands_say_what_is_wrong():
    x = np.ones((2, 32), np.float32)
    with pytest.raises(ShapeError, match="multiple"):
        emu.transform(x[:, :20], "rht16_te", engine="torch")
    with pytest.raises(EngineError, match="torch cannot transform"):
        emu.transform(x.astype(np.float64), "rht16_te", engine="torch")
    fixed = [name for name in names("transform") if get("transform", name).facts.signs_operand == "no"]
    for name in fixed:
        with pytest.raises(OperandError, match="fixed signs"):
            emu.transform(x, name, signs=1, engine="torch")
