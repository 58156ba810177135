"""Domains of recipes: below which tensor maximum the libraries' answers are unknown, derived here by fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from emu.engines.exact.block import quantize
from emu.spec.registry import get, names

FP32 = get("format", "fp32")
OPEN = -1


def fp32_value(code: int) -> Fraction:
    """Value of a positive finite binary32 code."""
    field, fraction = code >> 23, code & 0x7FFFFF
    return (fraction + (0x800000 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)


def finite_quotient(numerator: int, code: int) -> bool:
    """Is fl(numerator / value) finite in binary32? The tie 2^128 - 2^103 goes to Inf."""
    return numerator / fp32_value(code) < Fraction(2) ** 128 - Fraction(2) ** 103


TINY = {"nvfp4_f46_static_6": 2688, "nvfp4_f46_static_4": 1792, "nvfp4_f46_mse": 1536, "nvfp4_f46_mae": 1536, "nvfp4_f46_abs_max": 1536}
TINY |= dict.fromkeys(("nvfp4_auto_round", "nvfp4_flashinfer_strict", "nvfp4_vllm_emulation"), 2688)
ZERO_IS_OPEN = ("nvfp4_auto_round", "nvfp4_vllm_emulation")  # the factor of a tensor of zeros is Inf: 0 * Inf has no code
TINY |= {"f46_nvint4": 3136, "if4_mse": 2688, "if4_mae": 2688, "if4_abs_max": 2688}


def test_domains_are_the_listed_ones() -> None:
    bounded = {name for name in names("recipe") if get("recipe", name).facts.domain.tensor_amax_min}
    assert bounded == set(TINY) | {"nvfp4_torchao", "nvfp4_modelopt"}
    closed = {name for name in names("recipe") if get("recipe", name).facts.domain.non_finite == "no"}
    of = {name: get("recipe", name) for name in closed}
    assert closed >= set(TINY) and {"nvfp4_modelopt", "nvfp4_compressed_tensors", "mxfp4_f46_static_6", "hif4", "nf4_bnb"} <= closed
    assert not {"nvfp4_te_ref", "nvfp4_torchao", "mxfp4_torchao_floor", "mxfp4_te_pow2", "ufp4", "nve0m3"} & closed
    assert all(any("NaN and Inf" in point.what for point in recipe.open) for recipe in of.values()), "what is refused is told"


@pytest.mark.parametrize("name", TINY)
def test_tiny_tensor_maximum_is_open_below_the_first_finite_reciprocal(name: str) -> None:
    recipe = get("recipe", name)
    least = int(recipe.facts.domain.tensor_amax_min, 16)
    assert finite_quotient(TINY[name], least) and not finite_quotient(TINY[name], least - 1)
    for amax, is_open in ((least, False), (least - 1, True), (0, name in ZERO_IS_OPEN)):
        codes = quantize(recipe, [[amax] + [0] * 15], FP32, tensor_amax=amax, masked=True).codes[0]
        assert (set(codes) == {OPEN}) is is_open


def quotient_units(code: int) -> int:
    """fl(value / 2688) in units of 2^-149, for results below 2^-126."""
    units = fp32_value(code) / 2688 * Fraction(2) ** 149
    return round(units)  # ties to even


def test_tiny_tensor_maximum_of_torchao_is_open_below_the_first_finite_reciprocal() -> None:
    least = int(get("recipe", "nvfp4_torchao").facts.domain.tensor_amax_min, 16)
    assert [quotient_units(code) > 1 << 21 for code in (least - 1, least)] == [False, True]  # 1 / 2^-128 is Inf


@pytest.mark.exhaustive
def test_tiny_tensor_maximum_of_modelopt_is_open_while_a_scale_may_exceed_448() -> None:
    least = int(get("recipe", "nvfp4_modelopt").facts.domain.tensor_amax_min, 16)
    ratio = {code: Fraction(code, 6 * quotient_units(code)) for code in range(least - 96, 4 * least)}
    assert [code for code in ratio if ratio[code] > 464][-1] == least - 1
