"""The block kernel against the exact engine (small) and the NumPy engine (larger): recipes, sources, axes, tails, specials, every form."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.errors import EmuError, EngineError, OpenError, OperandError, ShapeError
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.native import block as kernel_block
from emu.engines.native import convert as kernel
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.program import plan_of
from emu.engines.numpy.block import amax_bits as amax_numpy
from emu.engines.numpy.block import quantize as quantize_numpy
from emu.spec import get, load_spec, names
from emu.spec.models import Recipe

FORMS = range(kernel.BEST_FORM + 1)
FP32 = get("format", "fp32")
PLANS = {name: plan for name in names("recipe") if (plan := plan_of(get("recipe", name))) is not None}
ABLE = [name for name, plan in PLANS.items() if plan.rounding is None]  # those that draw: test_native_stochastic.py
LANES = {name: get("block", get("recipe", name).facts.block).facts.shape[1] for name in ABLE}


def tensors(rng, shape):
    """Yield tensors whose blocks meet ties, zeros, subnormals, the ends of binary32, equal maxima and specials."""
    normal = rng.standard_normal(shape, dtype=np.float32)
    yield normal
    yield np.where(rng.random(shape) < 0.4, np.float32(0), -normal)
    yield np.zeros(shape, np.float32)
    yield np.full(shape, -0.0, np.float32)
    yield (rng.integers(-12, 13, shape) / np.float32(2)).astype(np.float32)
    yield normal * np.float32(2.0**-140)
    yield np.ldexp(normal, 125).clip(np.float32(-3e38), np.float32(3e38)).astype(np.float32)
    yield np.ldexp(rng.choice([-7, -6, -5, 4, 5, 6, 7], shape), rng.integers(-149, 125, shape)).astype(np.float32)
    yield rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
    special = normal.copy()
    special[rng.random(shape) < 0.01] = np.nan
    special[rng.random(shape) < 0.01] = -np.inf
    yield special


def answer(work):
    """Return codes and levels with shape and dtype, or the class and text of what was raised."""
    try:
        codes, levels = work()
    except EmuError as error:
        return type(error), str(error)
    arrays = {"codes": codes, **levels}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def test_the_kernel_takes_these_recipes():
    assert set(ABLE) >= {"nvfp4_te_ref", "nvfp4_te_cuda", "nvfp4_torchao", "nvfp4_modelopt", "nvfp4_compressed_tensors", "nvufp4", "nve0m3"}
    assert "f46_nvint4" in ABLE  # a closed gate: a zero scale gives zero elements
    assert set(ABLE) >= {"mxfp4_torchao_floor", "mxfp4_torchao_rceil", "mxfp4_te_pow2", "mxe1m2_floor", "e1m2_fp32scale", "e2m1_fp32scale"}
    assert not {"hif4", "nvfp4_te_2d_ref", "if4_mse", "nvfp4_te_4over6_mse_256"} & set(ABLE)


@pytest.mark.parametrize("name", ABLE)
def test_small_tensors_against_the_reference_model(name):
    recipe, rng, compared = get("recipe", name), np.random.default_rng(50), 0
    for x in tensors(rng, (2, 2 * LANES[name])):
        codes = x.view(np.uint32)
        wanted = answer(lambda c=codes: exact_arrays(recipe, c))
        for form in FORMS:
            assert answer(lambda c=codes, f=form: kernel_block.quantize(recipe, c, FP32, form=f)) == wanted
            compared += 1
    assert compared == 10 * len(FORMS)


def exact_arrays(recipe, codes):
    found = quantize_exact(recipe, codes.tolist(), FP32)
    block = get("block", recipe.facts.block)
    widths = {level.name: np.uint32 if level.format == "fp32" else np.uint8 for level in block.facts.levels}
    return np.array(found.codes, np.uint8), {name: np.array(rows, widths[name]) for name, rows in found.levels.items()}


@pytest.mark.cases(30)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABLE)
def test_larger_tensors_against_the_numpy_engine(name, form):
    recipe, rng, lanes = get("recipe", name), np.random.default_rng(51), LANES[name]
    reads = plan_of(recipe).program.reads("tensor_amax")
    for x in tensors(rng, (37, 17 * lanes)):
        for codes in (x.view(np.uint32), x.view(np.uint32)[:, ::-1], np.ascontiguousarray(x).view(np.uint32)[:, : 2 * lanes]):
            for amax in (None, 0x40400000, 0, 1, 0x7F7FFFFF, 0x7F800000, 0x7FC00001) if reads else (None,):
                wanted = answer(lambda c=codes, a=amax: quantize_numpy(recipe, c, FP32, tensor_amax=a))
                assert answer(lambda c=codes, a=amax: kernel_block.quantize(recipe, c, FP32, tensor_amax=a, form=form)) == wanted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABLE)
def test_blocks_along_the_rows_in_memory(name, form):
    recipe, rng, lanes = get("recipe", name), np.random.default_rng(52), LANES[name]
    for x in tensors(rng, (3 * lanes, 300)):
        codes = x.view(np.uint32).T
        wanted = answer(lambda c=codes: quantize_numpy(recipe, c, FP32))
        found = answer(lambda c=codes: kernel_block.quantize(recipe, c, FP32, form=form))
        assert found == wanted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", ["bf16", "fp16"])
def test_every_16_bit_source_code(source, form):
    rng, fmt = np.random.default_rng(53), get("format", source)
    every = rng.permutation(np.arange(1 << 16, dtype=np.uint16)).reshape(256, 256)
    calm = every & np.uint16(0xBBFF)  # no Inf, no NaN
    endless = np.where(np.arange(256) % 48 == 5, np.uint16(0x7C00 if source == "fp16" else 0x7F80), calm)
    for name in ABLE:
        recipe = get("recipe", name)
        for codes in (every, calm, calm.T, endless):
            wanted = answer(lambda c=codes, r=recipe: quantize_numpy(r, c, fmt))
            assert answer(lambda c=codes, r=recipe: kernel_block.quantize(r, c, fmt, form=form)) == wanted
    for codes in (every, calm, calm[3:4, 5:9], every[:, ::3]):
        assert kernel_block.amax_bits(codes, fmt, form) == amax_numpy(codes, fmt)


@pytest.mark.parametrize("engine", ["native", "auto"])
@pytest.mark.parametrize("name", ABLE)
def test_public_quantize_tails_stacks_and_axes(name, engine):
    rng, lanes = np.random.default_rng(54), LANES[name]
    x = rng.standard_normal((3, 2 * lanes, 5 * lanes), dtype=np.float32)
    views = [(x, -1), (x, 1), (x[0], 0), (x[1, 4], 0), (x[:, ::2, lanes:], -1), (x[0, :, :-3], -1), (x[0, 1:, :], 0), (x[0], -1)]
    views += [(x.astype(ml_dtypes.bfloat16), -1), (x.astype(np.float16)[0], 0)]
    for view, axis in views:
        if view.shape[axis] % lanes and get("recipe", name).facts.tail == "error":
            said = [answer(lambda v=view, a=axis, e=e: (emu.quantize(v, name, axis=a, engine=e).codes, {})) for e in ("numpy", engine)]
            assert said[0] == said[1] and said[0][0] is ShapeError
            continue
        wanted = emu.quantize(view, name, axis=axis, engine="numpy")
        found = emu.quantize(view, name, axis=axis, engine=engine)
        assert np.array_equal(found.codes, wanted.codes) and found.codes.shape == wanted.codes.shape and not found.codes.flags.writeable
        for mine, other in zip(found.levels, wanted.levels, strict=True):
            assert (
                np.array_equal(mine.codes, other.codes) and mine.codes.shape == other.codes.shape and mine.codes.dtype == other.codes.dtype
            )
        assert np.array_equal(found.pack(), wanted.pack())
        assert np.array_equal(found.dequantize().view(np.uint32), wanted.dequantize().view(np.uint32))


def test_open_results_and_bad_operands():
    x = np.ones((2, 32), np.float32)
    x[1, 20] = np.nan
    with pytest.raises(OpenError, match=r"^quantize/nvfp4_torchao: this input has results that the sources leave open"):
        emu.quantize(x, "nvfp4_torchao", engine="native")
    with pytest.raises(OpenError, match="leave open"):
        emu.quantize(x, "nvfp4_compressed_tensors", engine="native")
    x[1, 20] = 0
    with pytest.raises(OpenError, match="leave open"):
        emu.quantize(x, "nvfp4_torchao", tensor_amax=np.float32(1e-37), engine="native")
    with pytest.raises(OperandError, match="cannot be negative"):
        emu.quantize(x, "nvfp4_te_ref", tensor_amax=np.float32(-1), engine="native")
    with pytest.raises(OperandError, match="reads no tensor_amax"):
        emu.quantize(x, "mxe1m2_floor", tensor_amax=np.float32(1), engine="native")
    with pytest.raises(OperandError, match="draws no random bits"):
        emu.quantize(x, "nvfp4_te_ref", random=np.zeros((2, 32), np.uint8), engine="native")
    with pytest.raises(EngineError, match="engine native cannot quantize this: use numpy or exact"):
        emu.quantize(np.ones((1, 64), np.float32), "nf4_bnb", engine="native")
    with pytest.raises(EngineError, match="engine native cannot quantize this: use numpy or exact"):
        emu.quantize(x.astype(np.float64), "nvfp4_te_ref", engine="native")
    with pytest.raises(EngineError, match="lacks the instructions"):
        kernel_block.quantize(get("recipe", "nvfp4_te_ref"), x.view(np.uint32), FP32, form=lib.EMU_AVX512 + 1)


@pytest.mark.parametrize("form", FORMS)
def test_amax_of_any_length_and_order(form):
    """The largest code without its sign; beyond infinity the canonical NaN. The largest one at each place of each length."""
    rng = np.random.default_rng(55)

    def by_hand(codes):
        largest = max(int(code) & 0x7FFFFFFF for code in codes.reshape(-1))
        return largest if largest <= 0x7F800000 else 0x7FC00000

    for count in (1, 2, 15, 16, 17, 63, 64, 65, 1000):
        codes = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        for part in (codes, codes & np.uint32(0xBFFFFFFF), codes[::-1]):
            assert kernel_block.amax_bits(part, FP32, form) == by_hand(part)
        for place in {*range(min(count, 130)), count - 1}:
            alone = np.arange(1, count + 1, dtype=np.uint32)
            alone[place] = 0xC0000000  # -2
            assert kernel_block.amax_bits(alone, FP32, form) == 0x40000000
    square = rng.standard_normal((40, 50), dtype=np.float32).view(np.uint32)
    for view in (square, square.T, square[:, ::-1], square[::3, 7:]):
        assert kernel_block.amax_bits(view, FP32, form) == by_hand(view)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "top"), [("e2m1_fp32scale", 6), ("e1m2_fp32scale", 1.75)])
def test_factors_beside_a_power_of_two_divide(name, top, form):
    recipe, ties = get("recipe", name), np.array([0.125, 0.25, 0.375, 0.75, 1.25, 1.375, 1.625, 1.75, 2.5, 3.5, 5, 6], np.float32)
    rows = []
    for scale in (0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x3FC00000, 0x00800000, 0x00400000, 0x7F000000):
        factor = np.array(scale, np.uint32).view(np.float32)
        with np.errstate(over="ignore"):
            points, largest = (ties[ties <= top] * factor).view(np.uint32), (np.float32(top) * factor).view(np.uint32)
        near = np.concatenate([points + np.uint32(step) for step in (0, 1, 2)] + [points - np.uint32(step) for step in (1, 2)])
        near = np.resize(near[near < largest], 15 * 6).reshape(-1, 15)
        rows += [np.concatenate([[largest + np.uint32(step)], part]) for part in near for step in (0, 1)]
    for row in rows:  # one factor in a chunk, then all of them together
        codes = row.astype(np.uint32).reshape(1, 16)
        assert answer(lambda c=codes: kernel_block.quantize(recipe, c, FP32, form=form)) == answer(
            lambda c=codes: quantize_numpy(recipe, c, FP32)
        )
    codes = np.array(rows, np.uint32)
    assert answer(lambda: kernel_block.quantize(recipe, codes, FP32, form=form)) == answer(lambda: quantize_numpy(recipe, codes, FP32))


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32, 64, 128, 256])
def test_blocks_of_every_size_that_the_kernel_takes(tmp_path, checkout, size):
    """A user's block: each place in it holds the maximum once, and the elements beside it are others in each block."""
    name, shipped = f"blocks_of_{size}", "e2m1_fp32scale"
    for kind in ("block", "recipe"):
        facts = (checkout / f"spec/{kind}/{shipped}.yaml").read_text().partition("\nexpect:")[0].replace(f'"{shipped}"', f'"{name}"')
        path = tmp_path / kind / f"{name}.yaml"
        path.parent.mkdir()
        path.write_text(facts.replace("shape: [1, 16]", f"shape: [1, {size}]") + "\nexpect: []\nopen: []\nsources: []\n")
    load_spec(tmp_path)
    recipe = get("recipe", name)
    x = np.random.default_rng(87).standard_normal((size, size), dtype=np.float32).clip(-2, 2)
    x[np.arange(size), np.arange(size)] = np.linspace(2.5, 9, size)
    wanted = answer(lambda: quantize_numpy(recipe, x.view(np.uint32), FP32))
    assert "codes" in wanted and wanted["scale"][1] == (size, 1)
    for form in FORMS:
        for codes in (x.view(np.uint32), np.ascontiguousarray(x.view(np.uint32).T).T):
            assert answer(lambda c=codes, form=form: kernel_block.quantize(recipe, c, FP32, form=form)) == wanted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["nvfp4_te_ref", "mxfp4_te_pow2"])
def test_a_maximum_that_drops_nan(name, form):
    facts = get("recipe", name).model_dump(by_alias=True, exclude_none=True)
    (amax,) = (step for step in facts["facts"]["steps"] if step["op"] == "amax")
    amax["nan"] = "drop"
    recipe = Recipe.model_validate({**facts, "id": "dropping", "aliases": ()})
    assert plan_of(recipe).pointer.drops == lib.EMU_NAN_DROPS
    rng = np.random.default_rng(56)
    x = rng.standard_normal((8, 128), dtype=np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[3, :64], x[4, :64:2] = np.nan, np.inf
    for codes in (x.view(np.uint32), np.ascontiguousarray(x.view(np.uint32).T).T):
        wanted = answer(lambda c=codes: quantize_numpy(recipe, c, FP32, **amax_of(recipe)))
        assert answer(lambda c=codes: kernel_block.quantize(recipe, c, FP32, **amax_of(recipe), form=form)) == wanted
        assert "codes" in wanted


def amax_of(recipe):
    return {"tensor_amax": 0x40800000} if plan_of(recipe).program.reads("tensor_amax") else {}


def test_scales_are_computed_where_that_gives_the_whole_table():
    for name in ("nvfp4_te_ref", "nvfp4_torchao", "nvufp4"):
        plan = plan_of(get("recipe", name)).pointer
        operations = {plan.steps[number].operation for number in range(plan.step_count)}
        assert {lib.EMU_STEP_CAST_FLOAT, lib.EMU_STEP_DECODE_FLOAT} <= operations
    plan = plan_of(get("recipe", "mxfp4_te_pow2")).pointer
    assert {plan.steps[number].operation for number in range(plan.step_count)} >= {lib.EMU_STEP_CAST, lib.EMU_STEP_DECODE}


def test_thresholds_of_a_plan_are_checked_by_the_kernel(monkeypatch):
    """A chain of no thresholds has one code for all numbers; one of less than none, or of more than the memory holds, is an error."""
    recipe, x = get("recipe", "ufp4"), np.random.default_rng(77).standard_normal((3, 64), dtype=np.float32).view(np.uint32)
    plan = plan_of(recipe)
    pointer, thresholds = ffi.new("emu_kernel_plan *", plan.pointer[0]), ffi.new("emu_thresholds *", plan.pointer.thresholds[0])
    pointer.thresholds = thresholds
    monkeypatch.setattr(kernel_block, "plan_of", lambda _: replace(plan, pointer=pointer))
    right = kernel_block.quantize(recipe, x, FP32)[0]
    assert np.array_equal(right, quantize_numpy(recipe, x, FP32)[0])
    thresholds.count = 0
    assert set(np.unique(kernel_block.quantize(recipe, x, FP32)[0] & 7)) == {thresholds.codes[0] & 7}
    for count in (-1, 25):
        thresholds.count = count
        with pytest.raises(EngineError, match="error 1 of a kernel"):
            kernel_block.quantize(recipe, x, FP32)
