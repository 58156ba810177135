"""One step of the torch engine made wrong at a time: the directed rows see every one."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.caches import Cache
from emu.base.errors import EmuError
from emu.base.philox import words

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
arithmetic = importlib.import_module("emu.engines.torch.arithmetic")
codebook = importlib.import_module("emu.engines.torch.codebook")
conversion = importlib.import_module("emu.engines.torch.convert")
odd = importlib.import_module("emu.engines.torch.odd")
program = importlib.import_module("emu.engines.torch.program")
rounding = importlib.import_module("emu.engines.torch.round")


def around(name):
    """fp32 codes of the decision points of a format and their neighbours, both signs, zeros, NaN, Inf."""
    points = strategies.decision_points(name)
    near = [code for point in points for code in strategies.codes_near(point, "fp32", (-1, 0, 1))]
    return np.array([*near, *(code | 0x80000000 for code in near), 0, 0x80000000, 0x7FC00000, 0xFFC00000, 0x7F800000], np.uint32)


def blocks():
    """fp32 [8, 32]: elements near the decision points of E2M1 under scales of several binades; zeros of both signs."""
    near = np.resize(around("e2m1")[:-3], 256).reshape(8, 32)
    return (near.view(np.float32) * (np.float32(2) ** np.arange(-3, 5, dtype=np.float32))[:, None]) + (words(3, 256) % 3).reshape(8, 32)


def fresh(monkeypatch):
    """Empty tables, so that a fault gets into them and none stays behind."""
    for module in (conversion, arithmetic):
        monkeypatch.setattr(module, "_tables", {})
    monkeypatch.setattr(program, "_chains", Cache("tests.fresh", 512))
    monkeypatch.setattr(codebook, "_known", {})


def ties_down(place, sign, mode, random):
    half = torch.ones_like(place.rest) << (place.shift - 1).clamp(max=62)
    return REAL["goes_up"](place, sign, mode, random) & (place.rest != half)


def answer(work):
    """What the work gives, or the class of what it raises."""
    try:
        return work()
    except EmuError as error:
        return type(error)


REAL = {"goes_up": rounding.goes_up, "attach_sign": rounding.attach_sign, "by_sign": rounding.by_sign, "beyond": rounding._beyond}
CONVERT = {
    "ties go down": (rounding, "goes_up", ties_down),
    "sticky bit lost": (odd, "odd_index", lambda bits: bits >> 16 & 0xFFFF),
    "minus zero lost": (rounding, "attach_sign", lambda code, sign, fmt: REAL["attach_sign"](code, sign & (code != 0), fmt)),
    "NaN by the other sign": (rounding, "by_sign", lambda pair, sign: REAL["by_sign"](pair, ~sign)),
    "overflow of the other sign": (rounding, "_beyond", lambda inf, sign, *rest: REAL["beyond"](inf, ~sign, *rest)),
}


@pytest.mark.parametrize("fault", list(CONVERT))
def test_a_wrong_step_of_convert_is_seen(monkeypatch, fault):
    def run(engine):
        cases = [
            (to, mode, policy)
            for to in ("e2m1", "e5m2")
            for mode in ("rne", "rz", "ru")
            for policy in ("nvidia", "ocp_saturate", "ml_dtypes")
        ]

        def one(to, mode, policy, x):
            return answer(lambda: emu.convert(x, to, mode, policy, source="fp32", engine=engine).tolist())

        return [one(*case, x) for case in cases for x in (around(case[0])[:-3], around(case[0]))]

    wanted = run("exact")
    fresh(monkeypatch)
    assert run("torch") == wanted
    fresh(monkeypatch)
    monkeypatch.setattr(*CONVERT[fault])
    assert run("torch") != wanted


STEPS = {
    "division by the reciprocal": (
        "binary",
        lambda op, a, b, *r: a * (torch.ones_like(b) / b) if op == "div" else arithmetic_binary(op, a, b, *r),
    ),
    "maximum of the signed values": ("amax", lambda values, axes, nan: values.amax(axes, keepdim=True)),
    "scale one code up": ("decoded", lambda codes, fmt: arithmetic_decoded(codes.to(torch.int64) ^ (fmt.id == "ue4m3"), fmt)),
}
arithmetic_binary, arithmetic_decoded = arithmetic.binary, arithmetic.decoded


@pytest.mark.parametrize("fault", list(STEPS))
def test_a_wrong_step_of_a_program_is_seen(monkeypatch, fault):
    names = ("nvfp4_te_ref", "nvfp4_torchao", "nvfp4_compressed_tensors", "nvfp4_modelopt", "e2m1_fp32scale")

    def run(engine):
        def one(name):
            q = emu.quantize(blocks().astype(np.float32), name, engine=engine)
            return q.codes.tolist(), q.scales.tolist(), q.dequantize(engine=engine).view(np.uint32).tolist()

        return [answer(lambda: one(name)) for name in names]  # noqa: B023

    wanted = run("exact")
    fresh(monkeypatch)
    assert run("torch") == wanted
    fresh(monkeypatch)
    monkeypatch.setattr(arithmetic, *STEPS[fault])
    assert run("torch") != wanted
