"""The dequantize kernel against `exact` (small) and the NumPy engine (larger): its profiles, every code, every form, both axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OpenError, ShapeError
from emu.engines.exact.block import dequantize as dequantize_exact
from emu.engines.native import convert as kernel
from emu.engines.native import dequantize as kernel_back
from emu.engines.native._kernels import ffi, lib
from emu.engines.numpy.block import dequantize as dequantize_numpy
from emu.spec import derive, get, load_spec, names
from emu.spec.programs.types import extent_of

FORMS = range(kernel.BEST_FORM + 1)
ABLE = [
    (name, profile)
    for name in names("recipe")
    for profile in get("recipe", name).facts.dequantize
    if kernel_back.can_dequantize(get("recipe", name), profile)
]


def drawn(recipe, rng, rows, blocks):
    """Random codes and levels, all codes of a level alike likely: NaN, zero, subnormal and Inf scales too."""
    block = get("block", recipe.facts.block)
    codes = rng.integers(0, 16, (rows, blocks * block.facts.shape[1]), dtype=np.uint8)
    levels = {}
    for level in block.facts.levels:
        bits = derive.codes(get("format", level.format)).bits
        each = extent_of(level.granularity, block).columns
        shape = (rows, codes.shape[1] // each) if each else (1, 1)
        levels[level.name] = rng.integers(0, 1 << bits, shape).astype(np.uint32 if bits > 8 else np.uint8)
    return codes, levels


def test_the_kernel_takes_these_profiles():
    taken = {name for name, _ in ABLE}
    assert taken >= {"ufp4", "nvufp4", "nve0m3", "nvfp4_te_ref", "nvfp4_torchao", "nvfp4_compressed_tensors", "mxfp4_torchao_rceil"}
    assert taken >= {"e2m1_fp32scale", "e1m2_fp32scale", "f46_nvint4", "nvfp4_f46_static_6", "nvfp4_te_4over6_mae_256"}
    assert "hif4" in taken and kernel_back.back_plan_of(get("recipe", "hif4"), None).lanes == 4  # its finest level, not its block of 64
    assert {"if4_mse", "if4_mae", "if4_abs_max"} <= taken and kernel_back.back_plan_of(get("recipe", "if4_mse"), None).flag == "flag"
    assert not {"nvfp4_te_2d_ref", "nvfp4_modelopt"} & taken


@pytest.mark.parametrize(("name", "profile"), ABLE)
def test_against_the_reference_model_and_the_numpy_engine(name, profile):
    recipe, rng, compared = get("recipe", name), np.random.default_rng(60), 0
    for rows, blocks, judge in ((1, 2, dequantize_exact), (37, 2, dequantize_numpy), (2, 301, dequantize_numpy)):  # just over lanes, bands
        codes, levels = drawn(recipe, rng, rows, blocks)
        if judge is dequantize_exact:
            plain = {name: level.tolist() for name, level in levels.items()}
            wanted = np.array(judge(recipe, codes.tolist(), plain, profile=profile), np.uint32)
        else:
            wanted = judge(recipe, codes, levels, profile=profile)
        for form in FORMS:
            for order in "CF":
                given = {name: np.asarray(level, order=order) for name, level in levels.items()}
                found = kernel_back.dequantize(recipe, np.asarray(codes, order=order), given, profile=profile, form=form)
                assert np.array_equal(found, wanted)
                compared += 1
    assert compared == 6 * len(FORMS)


def test_a_tail_that_was_cut_off_and_one_that_was_kept():
    x = np.random.default_rng(61).standard_normal((3, 21), dtype=np.float32)
    for name in ("nvfp4_te_ref", "ufp4"):
        q = emu.quantize(x, name)
        assert np.array_equal(q.dequantize(engine="native").view(np.uint32), q.dequantize(engine="exact").view(np.uint32))
        assert np.array_equal(q.dequantize(np.float16), q.dequantize(np.float16, engine="exact"))


def test_bad_input_is_refused():
    recipe = get("recipe", "nvfp4_te_ref")
    codes, levels = drawn(recipe, np.random.default_rng(62), 2, 2)
    with pytest.raises(ShapeError, match=r"level scale must have shape \(2, 2\)"):
        kernel_back.dequantize(recipe, codes, levels | {"scale": levels["scale"][:1]})
    with pytest.raises(OpenError, match="level scale: what a set bit 7 of ue4m3 means is open"):
        kernel_back.dequantize(recipe, codes, levels | {"scale": levels["scale"] | np.uint8(128)})
    with pytest.raises(EngineError, match="use engine='numpy'"):
        kernel_back.dequantize(get("recipe", "nvfp4_modelopt"), codes, levels)
    with pytest.raises(ShapeError, match="no multiple of the block of 16"):
        kernel_back.dequantize(get("recipe", "ufp4"), codes[:, :20], levels)


def test_steps_of_a_plan_are_checked_by_the_kernel(monkeypatch):
    """A step that does not exist is an error, not values without it."""
    recipe = get("recipe", "nvfp4_te_ref")
    codes, levels = drawn(recipe, np.random.default_rng(63), 2, 2)
    plan = kernel_back.back_plan_of(recipe, None)
    pointer = ffi.new("emu_back_plan *", plan.pointer[0])
    steps = ffi.new("emu_kernel_step[]", [plan.pointer.steps[number] for number in range(pointer.step_count)])
    pointer.steps = steps
    monkeypatch.setattr(kernel_back, "back_plan_of", lambda *_: replace(plan, pointer=pointer))
    assert np.array_equal(kernel_back.dequantize(recipe, codes, levels), dequantize_numpy(recipe, codes, levels))
    steps[0].operation = 99
    with pytest.raises(EngineError, match="error 1 of a kernel"):
        kernel_back.dequantize(recipe, codes, levels)


@pytest.mark.parametrize(
    ("field", "value"), [("block", 0), ("block", 1), ("block", 48), ("block", 512), ("register_count", 0), ("register_count", 65),
                         ("initial", ffi.NULL), ("values", ffi.NULL), ("level_count", -1), ("level_count", 5), ("count", -1), ("count", 5)],
)  # fmt: skip
def test_facts_of_a_plan_are_checked_by_the_kernel(field, value):
    """What no plan has is an error, and nothing is written; 48 is a whole number of elements, and no power of two."""
    shipped = kernel_back.back_plan_of(get("recipe", "ufp4"), None)
    plan = ffi.new("emu_back_plan *", shipped.pointer[0])
    codes, out = ffi.new("uint8_t[]", 1536), ffi.new("uint32_t[]", [7] * 1536)
    levels = ffi.new("void *[]", [codes] * 4)
    assert lib.emu_dequantize_4bit(0, plan, codes, 1, 1536, 0, levels, out) == lib.EMU_KERNEL_OK and 7 not in out
    out[0:1536] = [7] * 1536
    setattr(plan, field, value)
    for along_rows, shape in ((0, (1, 1536)), (1, (1536, 1))):
        assert lib.emu_dequantize_4bit(0, plan, codes, *shape, along_rows, levels, out) == lib.EMU_KERNEL_ARGUMENT
    assert set(out) == {7}


def write_changed(path, shipped, **words):
    """Write a shipped file of the spec under another id, without its examples, with words replaced that stand in it once."""
    text = shipped.read_text().replace(f'id: "{shipped.stem}"', f'id: "{path.stem}"')
    for old, new in words.items():
        assert text.count(old) == 1 or old == "uint1"
        text = text.replace(old, new)
    facts, open_points = text.partition("\nexpect:")[0], text.partition("\nopen:")[2]
    path.write_text(f"{facts}\nopen:{open_points}")


def test_flags_of_users(tmp_path, checkout):
    """A flag of the whole tensor is not the kernel's; one whose other code is the least number of binary32 is not zero."""
    write_changed(tmp_path / "tiny1.yaml", checkout / "spec/format/uint1.yaml", **{"unit_exp: 0": "unit_exp: -149"})
    for name, flag, granularity in (("if4_of_tensor", "uint1", "tensor"), ("if4_tiny", "tiny1", "block")):
        changed = {'"uint1", granularity: "block"': f'"{flag}", granularity: "{granularity}"'}
        write_changed(tmp_path / f"{name}_block.yaml", checkout / "spec/block/if4.yaml", **changed)
        changed = {'block: "if4"': f'block: "{name}_block"', "uint1": flag}
        changed['"lt", args: ["error_int", "error_float", "1", "0"]'] = '"zero", args: ["tensor_amax", "0", "1"]'  # one for all blocks
        write_changed(tmp_path / f"{name}.yaml", checkout / "spec/recipe/if4_mse.yaml", **changed)
    load_spec(tmp_path)
    for name, able in (("if4_of_tensor", False), ("if4_tiny", True)):
        recipe = get("recipe", name)
        assert kernel_back.can_dequantize(recipe, None) is able
        codes, levels = drawn(recipe, np.random.default_rng(64), 2, 4)
        for flag in (0, 1):
            levels["flag"] = np.full_like(levels["flag"], flag)
            wanted = dequantize_exact(recipe, codes.tolist(), {key: level.tolist() for key, level in levels.items()})
            assert dequantize_numpy(recipe, codes, levels).tolist() == wanted
            if able:
                assert kernel_back.dequantize(recipe, codes, levels).tolist() == wanted
