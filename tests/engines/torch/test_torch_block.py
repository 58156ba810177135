"""quantize and dequantize of the torch engine: every recipe on directed blocks against the reference model, larger tensors, axes, tails."""

from __future__ import annotations

import importlib
import os

import ml_dtypes
import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.caches import Cache
from emu.base.errors import EmuError, OperandError, ShapeError
from emu.base.philox import words
from emu.spec import derive, get, names

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
block = importlib.import_module("emu.engines.torch.block")
lowering = importlib.import_module("emu.spec.programs.lowering")
SR = [name for name in names("recipe") if any(getattr(step, "random", None) for step in get("recipe", name).facts.steps)]


def operands(name, size):
    return {"random": (words(31, size) & 0xFF).astype(np.uint64)} if name in SR else {}


def directed(name):
    """fp32 codes: blocks whose maximum and elements sit at, and one ulp beside, decision points; zeros, subnormals, huge, wide."""
    facts = get("block", get("recipe", name).facts.block)
    rows, lanes = facts.facts.shape
    draw = words(77, 8 * rows * lanes).reshape(8, -1)
    sign = draw & np.uint32(0x80000000)
    element = facts.element_formats[0]
    points = [code for p in strategies.decision_points(element) for code in strategies.codes_near(p, "fp32", (-1, 0, 1))]
    kinds = np.empty(draw.shape, np.uint32)
    kinds[0] = np.array(points, np.uint32)[draw[0] % len(points)] | sign[0]
    kinds[1] = (draw[1] & 0x80FFFFFF) % 0x3000000 + 0x3E000000 | sign[1]
    kinds[2], kinds[3], kinds[4] = sign[2], draw[3] & 0x80000FFF, draw[4] & 0x807FFFFF | 0x7E800000
    kinds[5] = draw[5] & 0x8F800000 | 0x38000000
    kinds[6] = np.where(np.arange(draw.shape[1]) == 5, 0xBFC00000, 0)
    kinds[7] = np.where(draw[7] % 7 == 0, draw[7] & 0x9FFFFFFF, 0x3F800000)
    height = 4 if rows == 1 else 1
    return np.ascontiguousarray(kinds.reshape(height, 8 // height, rows, lanes).transpose(0, 2, 1, 3)).reshape(height * rows, -1)


def answer(x, name, engine, **more):
    try:
        q = emu.quantize(x, name, engine=engine, **more)
    except EmuError as error:
        return type(error)
    return [(array.dtype, array.shape, array.tobytes()) for array in (q.codes, *(level.codes for level in q.levels))]


def values(x, name, engine, profile, dtype):
    q = emu.quantize(x, name, **operands(name, x.size))
    found = q.dequantize(dtype, profile, engine=engine)
    return np.where(np.isnan(found), dtype(np.nan), found).tobytes()


@pytest.mark.parametrize("name", names("recipe"))
def test_every_recipe_on_directed_blocks(name):
    x = directed(name)
    special = x.copy()
    special.reshape(-1)[3::37] = np.resize(
        np.array([0x7FC00000, 0x7F800000, 0xFF800000, 0xFF800001], np.uint32), special.reshape(-1)[3::37].size
    )
    for codes in (x, special):
        more = {"source": "fp32", **operands(name, x.size)}
        assert answer(codes, name, "torch", **more) == answer(codes, name, "exact", **more)
    wanted = None if name in SR else answer(x.view(np.float32), name, "exact")
    assert wanted is None or answer(x.view(np.float32), name, "torch") == wanted


@pytest.mark.parametrize("name", names("recipe"))
def test_every_profile_reads_back(name):
    x = directed(name).view(np.float32)
    x = np.where(np.isfinite(x), x, np.float32(1))
    for profile in get("recipe", name).facts.dequantize:
        for dtype in (np.float32, ml_dtypes.bfloat16, np.float16):
            assert values(x, name, "torch", profile, dtype) == values(x, name, "exact", profile, dtype)


@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize(
    "name", ["nvfp4_te_ref", "mxfp4_torchao_floor", "nvufp4", "ufp4", "hif4", "nvfp4_te_4over6_mse_256", "nvfp4_te_2d_ref"]
)
def test_every_16_bit_source_code_against_the_numpy_column(name, source):
    """Chunks, tables and place arithmetic at size; the NumPy engine is judged by the reference model elsewhere."""
    every = words(53, 1 << 16).argsort(kind="stable").astype(np.uint16).reshape(256, 256)
    calm = every & np.uint16(0xBBFF)  # no Inf, no NaN
    for codes in (every, calm, calm.T, calm[::2, :128]):
        assert answer(codes, name, "torch", source=source) == answer(codes, name, "numpy", source=source)


@pytest.mark.parametrize("name", ["nvfp4_te_ref", "mxfp4_torchao_floor", "nvfp4_te_2d_ref"])
def test_axes_stacks_tails_and_tensor_maxima(name):
    x = (words(54, 2 * 32 * 80).view(np.int32) / np.float32(1 << 28)).astype(np.float32).reshape(2, 32, 80)
    for view, axis in ((x, -1), (x, 1), (x[0], 0), (x[1, 4], 0), (x[:, ::2, 16:], -1), (x[0, :, :-3], -1), (x[0, 1:, :], 0)):
        assert answer(view, name, "torch", axis=axis) == answer(view, name, "numpy", axis=axis)
    if any(getattr(step, "op", "") and "tensor_amax" in getattr(step, "args", ()) for step in get("recipe", name).facts.steps):
        for amax in (0.0, 1.5, float(np.float32(3e38)), np.inf, np.nan):
            assert answer(x[0], name, "torch", tensor_amax=amax) == answer(x[0], name, "numpy", tensor_amax=amax)


def test_chunk_size_never_matters(monkeypatch):
    x = (words(55, 64 * 96).view(np.int32) / np.float32(1 << 28)).astype(np.float32).reshape(64, 96)
    names_ = ("nvfp4_te_ref", "nvfp4_te_2d_ref", "hif4", "ufp4_sr")
    whole = [answer(np.resize(x, (64, 128)), name, "torch", **operands(name, 64 * 128)) for name in names_]
    monkeypatch.setattr(block, "CHUNK", 300)
    assert whole == [answer(np.resize(x, (64, 128)), name, "torch", **operands(name, 64 * 128)) for name in names_]


def test_chains_become_tables_and_give_what_the_steps_give(monkeypatch):
    recipe = get("recipe", "nvfp4_te_ref")
    made = lowering.lower(importlib.import_module("emu.spec.programs.program").quantize_program(recipe))
    assert any(step.head is not None and len(step.chain) > 1 for step in made.each)
    x = directed("nvfp4_te_ref")
    tabled = answer(x, "nvfp4_te_ref", "torch", source="fp32")
    monkeypatch.setattr(lowering, "_lowered", Cache("tests.lowered", 512))
    monkeypatch.setattr(lowering, "table_is_exact", lambda *_: False)
    assert answer(x, "nvfp4_te_ref", "torch", source="fp32") == tabled


def test_bad_operands_say_what_is_wrong():
    x = np.ones((2, 32), np.float32)
    with pytest.raises(ShapeError, match="no multiple"):
        emu.quantize(x[:, :10], "nvfp4_torchao", engine="torch")
    with pytest.raises(OperandError, match="cannot be negative"):
        emu.quantize(x, "nvfp4_te_ref", tensor_amax=-1.0, engine="torch")
    with pytest.raises(OperandError, match="reads no tensor_amax"):
        emu.quantize(x, "mxfp4_torchao_floor", tensor_amax=1.0, engine="torch")
    with pytest.raises(OperandError, match="needs random"):
        emu.quantize(x, "ufp4_sr", engine="torch")
    assert derive.codes(get("format", "e2m1")).bits == 4
