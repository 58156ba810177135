"""Recipes that draw, by the block kernel: recipes that it takes, with the roundings it knows, against `exact`; every form, both axes."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError
from emu.base.philox import draw
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.native import block as kernel_block
from emu.engines.native import convert as kernel
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.program import plan_of
from emu.engines.native.stochastic import stochastic_of
from emu.spec import get, names
from emu.spec.training import derived_recipe


def sibling(name):
    """A test module of this folder, for what it shares."""
    spec = spec_from_file_location(f"shared_{name}", Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHARED = sibling("test_native_quantize")
FP32 = get("format", "fp32")
MODES = ("sr_add8", "sr_te_fma8")
ABLE = [name for name in names("recipe") if plan_of(get("recipe", name)) is not None]


def exact_arrays(recipe, codes, random):
    found = quantize_exact(recipe, codes.tolist(), FP32, random=random.tolist())
    block = get("block", recipe.facts.block)
    widths = {level.name: np.uint32 if level.format == "fp32" else np.uint8 for level in block.facts.levels}
    return np.array(found.codes, np.uint8), {name: np.array(rows, widths[name]) for name, rows in found.levels.items()}


FEW = {("ufp4", "sr_add8"), ("e2m1_fp32scale", "sr_add8"), ("nvfp4_te_ref", "sr_te_fma8"), ("nve0m3", "sr_add8"), ("f46_nvint4", "sr_add8")}
FEW |= {("mxfp4_torchao_rceil", "sr_add8"), ("nvufp4", "sr_te_fma8")}
HEAVY = pytest.mark.exhaustive


@pytest.mark.parametrize(("name", "mode"), [pytest.param(n, m, marks=() if (n, m) in FEW else HEAVY) for n in ABLE for m in MODES])
def test_small_tensors_against_the_reference_model(name, mode):
    recipe, rng, compared = derived_recipe(name, mode), np.random.default_rng(51), 0
    assert plan_of(recipe) is not None
    lanes = get("block", recipe.facts.block).facts.shape[1]
    for x in SHARED.tensors(rng, (1, 2 * lanes)):
        codes, random = x.view(np.uint32), rng.integers(0, 256, x.shape, dtype=np.uint8)
        wanted = SHARED.answer(lambda c=codes, r=random: exact_arrays(recipe, c, r))
        for form in SHARED.FORMS:
            for order in "CF":
                given = np.asarray(codes, order=order)
                got = SHARED.answer(lambda c=given, r=random, f=form: contiguous(kernel_block.quantize(recipe, c, FP32, random=r, form=f)))
                assert got == wanted
                compared += 1
    assert compared == 20 * len(SHARED.FORMS)


def contiguous(found):
    codes, levels = found
    return np.ascontiguousarray(codes), {name: np.ascontiguousarray(level) for name, level in levels.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", ["e2m1", "e1m2", "e0m3", "int4"])
def test_every_random_integer_at_every_place_of_the_grid(fmt, mode):
    """Values one unit in the last place around each 256th part of each ulp, both signs, all 256 integers: against the rounding itself."""
    policy, top = get("policy", "nvidia"), {"e2m1": 6, "e1m2": 1.75, "e0m3": 7, "int4": 7}[fmt]
    recipe = derived_recipe({"e2m1": "e2m1_fp32scale", "e1m2": "e1m2_fp32scale", "e0m3": "nve0m3", "int4": "nve0m3"}[fmt], mode)
    assert plan_of(recipe) is not None
    assert stochastic_of(get("format", fmt), get("rounding", mode)) is not None
    if fmt in ("e0m3", "int4"):
        return
    parts = np.arange(0, int(top * 1024) + 1, dtype=np.float32) / np.float32(1024)
    values = np.concatenate([parts, np.nextafter(parts, np.float32(9)), np.nextafter(parts, np.float32(-9))])
    values = np.concatenate([values, -values])[: 15 * (2 * values.size // 15)].clip(np.float32(-top), np.float32(top))
    rows = np.concatenate([np.full((values.size // 15, 1), top, np.float32), values.reshape(-1, 15)], axis=1)
    for number in (0, 1, 2, 64, 127, 128, 129, 200, 254, 255):
        random = np.full(rows.shape, number, np.uint8)
        wanted = emu.convert(rows, fmt, mode, policy, random=random, engine="numpy")
        assert np.array_equal(kernel_block.quantize(recipe, rows.view(np.uint32), FP32, random=random)[0], wanted)


def test_the_random_operand_is_checked():
    recipe, x = get("recipe", "ufp4_sr"), np.ones((2, 32), np.float32).view(np.uint32)
    with pytest.raises(OperandError, match="give random, 8 bits"):
        kernel_block.quantize(recipe, x, FP32)
    with pytest.raises(OperandError, match="random has 3 integers"):
        kernel_block.quantize(recipe, x, FP32, random=np.zeros(3, np.uint8))
    with pytest.raises(OperandError, match="does not fit the 8 bits"):
        kernel_block.quantize(recipe, x, FP32, random=np.full((2, 32), 256, np.uint16))
    with pytest.raises(OperandError, match="leave random out"):
        kernel_block.quantize(get("recipe", "ufp4"), x, FP32, random=np.zeros((2, 32), np.uint8))


def test_roundings_the_kernel_leaves_to_others():
    for mode in ("sr_add16", "sr_te_sw8", "sr_half8", "sr_cmp8"):
        assert stochastic_of(get("format", "e2m1"), get("rounding", mode)) is None
        assert plan_of(derived_recipe("ufp4", mode)) is None
    assert stochastic_of(get("format", "nf4"), get("rounding", "sr_add8")) is None


@pytest.mark.parametrize("bits", [1, 5, 8])
@pytest.mark.parametrize("form", range(kernel.BEST_FORM + 1))
def test_random_bytes_are_the_words_of_philox(form, bits):
    for key, stream, groups in ((0, 0, 1), (7, 1 << 37 | 5, 63), ((1 << 64) - 1, (1 << 64) - 3, 65), (12345, 6789, 200)):
        out = np.empty(4 * groups, np.uint8)
        assert not lib.emu_random_bytes(form, key, stream, groups, (1 << bits) - 1, ffi.from_buffer("uint8_t[]", out))
        assert np.array_equal(out, draw(key, 4 * groups, bits, stream))
