"""The kernels on arrays just beyond a chunk, a register of lanes or a whole number of blocks, against `exact`; and what they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dots import Operands, changed, code_dtype, draw_operands, exact_codes

from emu.engines.exact.block import dequantize as dequantize_exact
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.exact.convert import convert_code
from emu.engines.exact.transform import transform_codes
from emu.engines.native import block as kernel_block
from emu.engines.native import convert as kernel
from emu.engines.native import datapath as kernel_datapath
from emu.engines.native import dequantize as kernel_back
from emu.engines.native import transform as kernel_transform
from emu.engines.native._kernels import lib
from emu.engines.native.program import plan_of
from emu.spec import derive, get
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.models import Recipe
from emu.spec.models.levels import EpilogueFacts
from emu.spec.training import derived_recipe

FORMS = range(kernel.BEST_FORM + 1)
FP32 = get("format", "fp32")
CHUNK = 8192  # EMU_CHUNK of kernels.h
WIDE = lib.EMU_LANES + 3
NVFP4 = resolve("blackwell_mxf4nvf4_b16_ue4m3")


def memory_order(codes: Any) -> Any:
    """A matrix whose blocks lie down the columns in memory, as those of a tensor that is quantized along axis 0."""
    return np.asfortranarray(codes)


def quantized(recipe: Recipe, codes: Any, source: Any, random: Any = None) -> tuple[Any, dict[str, Any]]:
    """Codes and levels by the reference model."""
    drawn = None if random is None else random.tolist()
    found = quantize_exact(recipe, codes.tolist(), source, random=drawn)
    return found.codes, found.levels


def check_quantize(recipe: Recipe, codes: Any, source: Any, random: Any = None) -> None:
    """Compare every form with the reference model, blocks along the rows in memory and down the columns."""
    wanted, levels = quantized(recipe, codes, source, random)
    for form in FORMS:
        for given in (np.ascontiguousarray(codes), memory_order(codes)):
            found, scales = kernel_block.quantize(recipe, given, source, random=random, form=form)
            assert found.tolist() == wanted
            assert {name: level.tolist() for name, level in scales.items()} == levels


@pytest.mark.parametrize("source", ["bf16", "fp16"])
def test_packed_codes_of_16_bit_sources_beyond_a_chunk(source: str) -> None:
    fmt, e2m1, rne, policy = (get(*name.split("/")) for name in (f"format/{source}", "format/e2m1", "rounding/rne", "policy/nvidia"))
    rng = np.random.default_rng(70)
    few = rng.integers(0, 1 << 16, 400)
    table = np.array([convert_code(int(code), fmt, e2m1, rne, policy) for code in few], np.uint8)
    places = rng.integers(0, few.size, 2 * CHUNK + 7)
    for count in (CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 7):
        codes, wanted = few[places[:count]].astype(np.uint16), np.append(table[places[:count]], np.zeros(count % 2, np.uint8))
        for form in FORMS:
            found = kernel.convert_packed(codes, fmt, e2m1, rne, policy, form=form)
            assert found.tolist() == (wanted[0::2] | wanted[1::2] << 4).tolist()


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["nvfp4_te_ref", "f46_nvint4"])
def test_dequantize_down_the_columns_beyond_a_register_of_lanes(name: str) -> None:
    recipe, rng = get("recipe", name), np.random.default_rng(71)
    block = get("block", recipe.facts.block)
    codes = rng.integers(0, 16, (WIDE, 2 * block.facts.shape[1]), dtype=np.uint8)
    levels = {}
    for level in block.facts.levels:
        shape = (WIDE, 2) if level.granularity == "block" else (1, 1)
        bits = derive.codes(get("format", level.format)).bits
        levels[level.name] = rng.integers(1, 100, shape).astype(np.uint8) if bits <= 8 else np.full(shape, 0x3F4CCCCD, np.uint32)
    wanted = dequantize_exact(recipe, codes.tolist(), {key: level.tolist() for key, level in levels.items()})
    for form in FORMS:
        for given in (codes, memory_order(codes)):
            assert kernel_back.dequantize(recipe, given, levels, form=form).tolist() == wanted


@pytest.mark.parametrize("mode", ["sr_add8", "sr_te_fma8"])
def test_drawn_elements_beyond_a_quarter_of_a_chunk(mode: str) -> None:
    """300 blocks of 16: the kernel takes 256 at a time, and draws for 64 of them."""
    rng = np.random.default_rng(72)
    codes = rng.standard_normal((3, 1600), dtype=np.float32).view(np.uint32)
    check_quantize(derived_recipe("e2m1_fp32scale", mode), codes, FP32, rng.integers(0, 256, codes.shape, dtype=np.uint8))


@pytest.mark.cases(1)
@pytest.mark.parametrize("mode", ["sr_add8", "sr_te_fma8"])
def test_drawn_elements_down_the_columns_beyond_a_register_of_lanes(mode: str) -> None:
    rng = np.random.default_rng(73)
    codes = rng.standard_normal((WIDE, 32), dtype=np.float32).view(np.uint32)
    check_quantize(derived_recipe("nve0m3", mode), codes, FP32, rng.integers(0, 256, codes.shape, dtype=np.uint8))


@pytest.mark.cases(1)
@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.exhaustive
def test_16_bit_sources_down_the_columns_beyond_a_register_of_lanes(source: str) -> None:
    rng = np.random.default_rng(74)
    codes = rng.integers(0, 1 << 16, (WIDE, 32), dtype=np.uint16) & np.uint16(0xBBFF)  # no Inf, no NaN
    for name in ("e2m1_fp32scale", "ufp4"):
        check_quantize(get("recipe", name), codes, get("format", source))


def test_an_exact_rotation_one_exponent_beyond_binary64() -> None:
    """14 terms make 21 * 2^k, half a unit in the last place of the result, and two more leave 2^(k - 49): 54 bits in all."""
    chosen, own = get("transform", "rht16_exact"), int(get("transform", "rht16_exact").facts.signs, 16)
    for lowest, up in ((2.0**-25, True), (2.0**-26, True), (2.0**-27, True), (0.0, False)):
        terms = np.full(16, 1.5, np.float32)
        terms[15] += np.float32(2.0**-20)
        terms[:2] = np.float32(lowest * (1 + 2.0**-23)), np.float32(-lowest)
        signs = np.uint32(own) >> np.arange(16, dtype=np.uint32) & np.uint32(1)
        codes = np.array([terms], np.float32).view(np.uint32) ^ signs << np.uint32(31)
        wanted = transform_codes(codes[0].tolist(), FP32, chosen)
        assert wanted[0] == np.float32(21 / 4 + up * 2.0**-21).view(np.uint32)
        for form in FORMS:
            assert kernel_transform.transform(codes, FP32, chosen, form=form).tolist() == [wanted]


@pytest.mark.parametrize(("c", "wanted"), [(0x0D800000, 0x3F801001), (0x8D800000, 0x3F801000), (0x00000000, 0x3F801000)])
def test_a_fused_epilogue_sees_what_binary64_lost(c: int, wanted: int) -> None:
    """(1 + 2^-12)^2 is a tie of binary32: 2^-100 more or less decides."""
    facts = EpilogueFacts(alpha="rne", d="rne", c_place="after", fused="yes")
    found = kernel_datapath.epilogue(np.array([0x3F800800], np.uint32), 0x3F800800, np.array([c], np.uint32), facts, NVFP4)
    assert found.tolist() == [wanted]


def test_a_dot_product_whose_k_ends_within_a_chunk() -> None:
    rng = np.random.default_rng(75)
    found = draw_operands(rng, NVFP4, 2, kernel_datapath.CHUNK + NVFP4.facts.k)
    found.a[:], found.b[:] = rng.integers(0, 8, found.a.shape), rng.integers(0, 8, found.b.shape)
    found.scale_a[:], found.scale_b[:], found.c[:] = 0x38, 0x38, 0
    found.a[:, -1], found.b[:, -1] = 7, 7
    assert kernel_datapath.dot(*found, NVFP4).tolist() == exact_codes(found, NVFP4)


def one_row(plan: DatapathPlan, a: int, b: int, scale: int, c: int) -> Operands:
    """One product of the first elements; all others are zero."""
    dtypes = code_dtype(plan.a), code_dtype(plan.b)
    x, y = (np.zeros((1, plan.facts.k), dtype) for dtype in dtypes)
    x[0, 0], y[0, 0] = a, b
    scales = None if plan.scale is None else np.full((1, plan.facts.k // plan.block), scale, code_dtype(plan.scale))
    return Operands(x, y, scales, scales, np.array([c], code_dtype(plan.c)))


@pytest.mark.parametrize("form", FORMS)
def test_a_group_of_32_is_added_whole(form: int) -> None:
    plan = changed(resolve("blackwell_mxf4_b32_ue8m0"), group=32)
    assert kernel_datapath.can_dot(plan) and plan.group == 32
    for place in (0, 15, 16, 31, 32, 63):
        found = one_row(plan, 0, 0, 127, 0)
        found.a[0, place], found.b[0, place] = 2, 5  # 1 * 3
        assert kernel_datapath.dot(*found, plan, form=form).tolist() == [0x40400000]
    rng = np.random.default_rng(78)
    for _ in range(12):
        found = draw_operands(rng, plan, 4, plan.facts.k)
        assert kernel_datapath.dot(*found, plan, form=form).tolist() == exact_codes(found, plan)


def test_a_subnormal_c_has_the_exponent_of_the_smallest_normal_number() -> None:
    """C = 2^-139, one product of -2^-170: 35 bits below 2^-126 it is cut; below 2^-139 it would be kept, and take a unit of C."""
    plan = resolve("blackwell_mxf4_b32_ue8m0")
    found = one_row(plan, 2, 10, 127 - 85, 0x400)
    assert kernel_datapath.dot(*found, plan).tolist() == [0x400] == exact_codes(found, plan)


def test_the_largest_number_beside_a_nan_stays_finite() -> None:
    parts = [one_row(NVFP4, 0, 0, 0x38, c) for c in (0x7F7FFFFF, 0x7FC00000, 0xFF7FFFFF, 0x7F800000)]
    rows = Operands(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    assert kernel_datapath.dot(*rows, NVFP4).tolist() == [0x7F7FFFFF, 0x7FFFFFFF, 0xFF7FFFFF, 0x7F800000]


@pytest.mark.parametrize(("a", "b", "wanted"), [(0x7C, 0x38, 0), (0xFC, 0x38, 1), (0x7C, 0xB8, 1), (0xFC, 0xB8, 0)])
def test_an_infinite_product_has_the_sign_of_both(a: int, b: int, wanted: int) -> None:
    """E5M2 infinity times one of E4M3."""
    plan = resolve("blackwell_mxf8f6f4", "e5m2", "e4m3")
    assert kernel_datapath.dot(*one_row(plan, a, b, 127, 0x3F800000), plan).tolist() == [0x7F800000 | wanted << 31]
    assert kernel_datapath.dot(*one_row(plan, a, 0, 127, 0x3F800000), plan).tolist() == [plan.nan_code]


def test_recipes_of_one_name_and_other_facts_have_plans_of_their_own() -> None:
    rng = np.random.default_rng(76)
    x = rng.standard_normal((2, 64), dtype=np.float32).view(np.uint32)
    for name, other in (("mxfp4_torchao_floor", "mxfp4_torchao_ceil"), ("e1m2_fp32scale", "mxe1m2_floor")):
        facts = get("recipe", other).model_dump(by_alias=True, exclude_none=True)
        for recipe in (get("recipe", name), Recipe.model_validate({**facts, "id": name, "aliases": ()})):
            assert plan_of(recipe) is not None
            codes, levels = kernel_block.quantize(recipe, x, FP32)
            wanted, scales = quantized(recipe, x, FP32)
            assert (codes.tolist(), {key: level.tolist() for key, level in levels.items()}) == (wanted, scales)
            assert kernel_back.dequantize(recipe, codes, levels).tolist() == dequantize_exact(recipe, wanted, scales)


def test_datapaths_of_one_name_and_other_facts_have_plans_of_their_own() -> None:
    """2^n - 1 under an adder of F fraction bits: with n = F the 1 takes a unit of the result, with n = F + 1 it is cut."""
    for bits in (26, 30, 27, 35, 28) * 2:
        plan = changed(NVFP4, align={"fraction_bits": bits})
        assert plan.name == NVFP4.name
        kept, cut = (one_row(plan, 2, 10, 0x38, 127 + power << 23) for power in (bits, bits + 1))
        assert kernel_datapath.dot(*kept, plan).tolist() == [(127 + bits << 23) - 1] == exact_codes(kept, plan)
        assert kernel_datapath.dot(*cut, plan).tolist() == [128 + bits << 23] == exact_codes(cut, plan)
