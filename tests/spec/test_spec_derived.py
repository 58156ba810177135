"""Derived recipes: another rounding of the element cast, the same program otherwise, for every column."""

from __future__ import annotations

import os
from importlib.util import find_spec

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, SpecError
from emu.base.philox import words
from emu.engines.exact.block import quantize as quantize_exact
from emu.spec import digest, get, names
from emu.spec.training import derived_recipe, element_cast

FP32 = get("format", "fp32")
ENGINES = ["numpy", "c_ref", "native", *(["torch"] if os.environ.get("EMU_NEED_TORCH") or find_spec("torch") else [])]


def test_ufp4_with_random_bits_is_ufp4_sr():
    found = derived_recipe("ufp4", "sr_add8")
    assert found.facts == emu.spec.get("recipe", "ufp4_sr").facts and digest(found) == digest(emu.spec.get("recipe", "ufp4_sr"))
    x = np.random.default_rng(1).standard_normal((4, 32), dtype=np.float32)
    random = (words(3, x.size) & 255).reshape(x.shape)
    first, second = (emu.quantize(x, recipe, random=random, signs=0x1234) for recipe in (found, "ufp4_sr"))
    assert np.array_equal(first.codes, second.codes)
    assert np.array_equal(first.levels[0].codes, second.levels[0].codes)


def test_a_rounding_that_is_there_already_changes_nothing():
    assert derived_recipe("ufp4", "rne") is emu.spec.get("recipe", "ufp4")
    assert derived_recipe("ufp4_sr", "sr_add8") is emu.spec.get("recipe", "ufp4_sr")
    assert derived_recipe("ufp4_sr", "rne").facts == emu.spec.get("recipe", "ufp4").facts


@pytest.mark.parametrize("name", names("recipe"))
def test_every_recipe_differs_in_one_step_or_is_refused(name):
    base = emu.spec.get("recipe", name)
    casts = [step for step in base.facts.steps if step.op == "cast" and step.out == base.facts.steps[-1].codes]
    if not casts:
        with pytest.raises(SpecError, match="chooses among several element casts"):
            element_cast(base)
        return
    number = element_cast(base)
    found = derived_recipe(name, "sr_add8")
    changed = [i for i, (a, b) in enumerate(zip(base.facts.steps, found.facts.steps, strict=True)) if a != b]
    assert changed in ([number], []) and found.facts.dequantize == base.facts.dequantize
    assert found.facts.steps[number].round == "sr_add8" and found.facts.steps[number].random == "random"


def directed(lanes):
    """Blocks with ties, values beside ties, zeros of both signs, subnormals, equal maxima and the ends of binary32."""
    draw = np.random.default_rng(9)
    ties = draw.integers(-14, 15, lanes).astype(np.float32) / np.float32(8)
    rows = [ties, np.nextafter(ties, np.float32(9)), np.nextafter(ties, np.float32(-9)), np.zeros(lanes, np.float32)]
    rows += [np.full(lanes, -0.0, np.float32), ties * np.float32(2.0**-140), ties * np.float32(2.0**124)]
    rows.append(draw.standard_normal(lanes).astype(np.float32))
    return np.stack(rows)


@pytest.mark.cases(11)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "mode"),
    [("ufp4", "sr_add8"), ("e2m1_fp32scale", "sr_add8"), ("nvfp4_te_ref", "sr_te_fma8"), ("nvufp4", "sr_add16"), ("nve0m3", "rz"),
     ("mxfp4_torchao_rceil", "sr_half8"), ("nvfp4_te_2d_ref", "sr_add8"), ("mxe1m2_floor", "ru")],
)  # fmt: skip
def test_every_engine_equals_the_reference_model(name, mode, engine):
    recipe = derived_recipe(name, mode)
    bits = get("rounding", mode).random_bits
    for x in directed(32):
        row = x.reshape(1, -1)
        random = (words(7, row.size) & np.uint32((1 << bits) - 1)).reshape(row.shape) if bits else None
        given = None if random is None else random.tolist()
        wanted = quantize_exact(recipe, row.view(np.uint32).tolist(), FP32, random=given)
        if engine == "native":
            from emu.engines.native.program import plan_of

            if plan_of(recipe) is None:
                return
        found = emu.quantize(row, recipe, random=random, engine=engine)
        assert found.codes.tolist() == wanted.codes
        assert all(
            level.codes.reshape(-1).tolist() == [code for row in wanted.levels[level.name] for code in row] for level in found.levels
        )


def test_bad_wishes_are_one_line():
    with pytest.raises(SpecError, match="if4_mse chooses among several element casts: its rounding cannot be replaced"):
        derived_recipe("if4_mse", "sr_add8")
    with pytest.raises(SpecError, match="did you mean sr_add8"):
        derived_recipe("ufp4", "sr_ad8")
    with pytest.raises(OperandError, match="random"):
        emu.quantize(np.ones((1, 16), np.float32), derived_recipe("ufp4", "sr_add8"), engine="numpy")
