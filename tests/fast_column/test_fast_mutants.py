"""Seeded faults: each mutant of the oracle or of the NumPy column is killed by a check that is named after what it broke."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import emu
import emu.quantized
from emu.exact import convert as exact_convert
from emu.exact import overflow as exact_overflow
from emu.exact import round as exact_round
from emu.exact.block import dequantize as exact_dequantize
from emu.exact.value import Value
from emu.fast import arithmetic, block, integer, odd, plan, program, reduce, tables, transform
from emu.fast import convert as fast
from emu.spec import derive
from emu.spec.registry import get

Patch = pytest.MonkeyPatch
Seed = Callable[[Patch], None]
Check = Callable[[], bool]
TIES = [0x3E800000, 0x3F400000, 0x3FA00000, 0x3FE00000, 0x40200000, 0x40600000, 0x40A00000]  # .25 .75 1.25 1.75 2.5 3.5 5
BESIDE = [0x3E800001, 0x3F3FFFFF, 0x3FA00001, 0x3FDFFFFF, 0x40200001, 0x405FFFFF, 0x40A00001]


def codes(bits: list[int], to: str, mode: str = "rne", source: str = "fp32", policy: str = "nvidia", engine: str = "fast") -> list[int]:
    array = np.array(bits, {"fp32": np.uint32, "bf16": np.uint16, "fp64": np.uint64, "e4m3": np.uint8}[source])
    found: list[int] = emu.convert(array, to, rounding=mode, policy=policy, source=source, engine=engine).tolist()
    return found


# Checks: typed by hand from the documents, True when the code under test is right.
def ties_go_to_the_even_code(engine: str = "fast") -> bool:
    return codes(TIES, "e2m1", engine=engine) == [0, 2, 2, 4, 4, 6, 6]


def ties_of_integers() -> bool:
    return codes([0x3FC00000, 0x40200000, 0x42810000], "int8") == [2, 2, 64]


def a_sticky_bit_breaks_a_tie() -> bool:
    return codes(BESIDE, "e2m1") == [1, 1, 3, 3, 5, 5, 7]


def a_sticky_bit_far_below_breaks_a_tie() -> bool:
    return codes([0x3FD0000000000001, 0x3FD0000000000000], "e2m1", source="fp64") == [1, 0]


def a_carry_reaches_the_exponent() -> bool:
    return codes([0x3FFFFFFF, 0x477FEFFF, 0x387FFFFF], "fp16", policy="ieee") == [0x4000, 0x7BFF, 0x0400]


def overflow_saturates() -> bool:
    return codes([0x43480000, 0xC3480000, 0x42FF0000], "int8") == [127, 128, 127]


def overflow_saturates_in_the_oracle() -> bool:
    return codes([0x40E00000, 0x41400000, 0xC1400000], "e2m1", engine="exact") == [7, 7, 15]


def minus_zero_is_kept() -> bool:
    return codes([0x80000000, 0x80000001, 0xBE800000], "e2m1") == [8, 8, 8]


def minus_zero_is_kept_in_wide_formats() -> bool:
    return codes([0x80000000, 0x80000001], "bf16", policy="ieee") == [0x8000, 0x8000]


def nan_keeps_no_sign() -> bool:
    return codes([0x7FC00000, 0xFFC00000, 0x7F800001], "e2m1") == [7, 7, 7]


def a_nan_scale_spreads(engine: str = "fast") -> bool:
    levels = {"tensor": np.array([[0x45280000]], np.uint32), "scale": np.array([[0x7F]], np.uint8)}
    recipe = get("recipe", "nvfp4_te_ref")
    if engine == "exact":
        rows = {name: level.tolist() for name, level in levels.items()}
        return exact_dequantize(recipe, [[0, 7] * 8], rows) == [[0x7FC00000] * 16]
    return bool((block.dequantize(recipe, np.array([[0, 7] * 8], np.uint8), levels) == 0x7FC00000).all())


def quantized(x: list[int], amax: int | None = None, recipe: str = "nvfp4_te_ref") -> tuple[list[int], int]:
    found = block.quantize(get("recipe", recipe), np.array([x], np.uint32), get("format", "fp32"), tensor_amax=amax)
    return found.codes[0].tolist(), int(found.levels["scale"][0, 0])


def a_nan_in_the_block_reaches_the_scale() -> bool:
    return quantized([0x3F800000] * 5 + [0x7FC00000] + [0x3F800000] * 10, 0x45280000) == ([0] * 16, 0x7F)


TINY = "800077FC 8000C626 80002529 00003EE8 0000A9F9 0000106A 800052B0 8000756B 00007007 0000F498 000028D0 8000B888 80008F60 0000EF65"
ORDER = "BD6FF7EF BDC6263D BC94A378 3CFBA063 3DA9F968 3C035039 BD255F87 BD6AD614 3D600DA6 3DF49840 3CA33EE3 BDB8878E BD8F5FF0 3DEF64B5"


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def subnormals_count() -> bool:
    return quantized(words(TINY + " 00001E5B 80010329"), 0x500) == (words(" ".join("8880008800088008")), 3)


def products_are_nearest() -> bool:
    return quantized(words(ORDER + " 3C72D736 BE019489"), 0x40556D1D) == (words(" ".join("DEA361CD472ED71F")), 0x59)


def minus_zero_becomes_plus_zero_where_the_recipe_says_so() -> bool:
    return quantized([0x80000000, 0x40C00000] + [0] * 14, 0x45280000)[0][:2] == [0, 7]


def the_low_nibble_comes_first() -> bool:
    return emu.quantized.pack_nibbles(np.array([1, 2, 15, 0], np.uint8)).tolist() == [0x21, 0x0F]


def sums_are_sequential() -> bool:
    terms = np.array([2.0**24, 1, 1, 1] + [0] * 12, np.float32)
    total = reduce.sum_lanes(terms, 16, "sequential", get("format", "fp32"), get("rounding", "rne"))
    return total.tolist() == [2.0**24]


def an_exact_sum_is_rounded_once() -> bool:
    row = np.array([[0x4B800000, 0x3F800000, 0x3F800000, 0x4B800000] + [0] * 12], np.uint32)
    return transform.transform(row, get("format", "fp32"), get("transform", "rht16_exact"))[0, :2].tolist() == [0x3F000000, 0x4B000000]


def quotients_are_rounded_once() -> bool:
    """8421375 / 8388607 is 2^-31 above the bf16 tie 257/256, so it goes up."""
    a, b = np.array([1, 8421375], np.float32), np.array([1.25, 8388607], np.float32)
    found = arithmetic.binary("div", a, b, get("format", "bf16"), get("rounding", "rne"))
    return (found.view(np.uint32) >> 16).tolist() == [0x3F4D, 0x3F81]


def a_draw_of_zero_cuts() -> bool:
    found = emu.convert(np.array([0x3FBFFFFF], np.uint32), "e2m1", "sr_add8", source="fp32", random=np.zeros(1, np.uint8))
    return found.tolist() == [2]


def draws_are_added_to_the_top_bits() -> bool:
    x, random = np.array([0x3E810000, 0x3E810000], np.uint32), np.array([126, 127], np.uint8)  # 129/512
    return emu.convert(x, "e2m1", "sr_add8", source="fp32", random=random).tolist() == [0, 1]


# Faults.
def fast_tie_up(patch: Patch) -> None:
    real = integer._choose
    patch.setattr(integer, "_choose", lambda rule, less, equal, odd_code: real(rule, less, equal, np.ones_like(odd_code)))


def exact_tie(patch: Patch) -> None:
    real = exact_round.goes_up
    patch.setattr(exact_round, "goes_up", lambda lost, ulp, size, sign, odd_code, *rest: real(lost, ulp, size, sign, not odd_code, *rest))


def index_by(rule: Callable[[Any], Any]) -> Seed:
    def seed(patch: Patch) -> None:
        patch.setattr(fast, "odd_index", lambda bits, scratch, index: np.copyto(index, rule(bits) >> np.uint32(16), casting="unsafe"))

    return seed


def nearest_even(bits: Any) -> Any:
    return bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))


def sticky64_lost(patch: Patch) -> None:
    real = odd.odd_from_fp64
    patch.setattr(fast, "odd_from_fp64", lambda bits: real(bits & np.uint64(0xFFFFE00000000000)))


def carry_lost(patch: Patch) -> None:
    real = integer.goes_up
    patch.setattr(integer, "goes_up", lambda place, *rest: real(place, *rest) & ((place.code & 0x3FF) != 0x3FF))


def overflow_wraps(patch: Patch) -> None:
    patch.setattr(integer, "_overflowed", lambda inf, sign, largest, fmt, *rest: integer._attach_sign(largest + 1, sign, fmt))


def exact_overflow_wraps(patch: Patch) -> None:
    real = exact_overflow.largest_magnitude
    patch.setattr(exact_overflow, "largest_magnitude", lambda fmt, sign: real(fmt, sign) + 1)


def exact_minus_zero_lost(patch: Patch) -> None:
    real = exact_convert.attach_sign
    patch.setattr(exact_convert, "attach_sign", lambda size, sign, fmt: real(size, sign if size else 0, fmt))


def fast_minus_zero_lost(patch: Patch) -> None:
    real = integer._attach_sign
    patch.setattr(integer, "_attach_sign", lambda code, sign, fmt: real(code, sign & (code > 0), fmt))


def nan_sign_kept(patch: Patch) -> None:
    real = derive.policy_entry

    def entry(policy: Any, fmt: Any) -> derive.EntryCodes:
        found = real(policy, fmt)
        return derive.EntryCodes(found.overflow, (found.nan[0], found.nan[1] | derive.codes(fmt).sign_bit), found.overflow_nan)

    patch.setattr(derive, "policy_entry", entry)


def nan_scale_ignored(patch: Patch) -> None:
    real = tables.decode_code
    patch.setattr(tables, "decode_code", lambda code, fmt: Value("finite", 0) if real(code, fmt).kind == "nan" else real(code, fmt))


def exact_nan_scale_ignored(patch: Patch) -> None:
    from emu.exact import program as exact_program

    real = exact_program.decode_code
    patch.setattr(exact_program, "decode_code", lambda code, fmt: Value("finite", 0) if real(code, fmt).kind == "nan" else real(code, fmt))


def nan_dropped_from_amax(patch: Patch) -> None:
    real = reduce.amax_lanes
    patch.setattr(reduce, "amax_lanes", lambda values, lanes, _: real(values, lanes, "drop"))


def subnormals_flushed(patch: Patch) -> None:
    real = block.to_values

    def flushed(array: Any, source: Any) -> Any:
        values = real(array, source).copy()
        values[np.abs(values) < np.float32(2.0**-126)] = 0
        return values

    patch.setattr(block, "to_values", flushed)


def products_cut(patch: Patch) -> None:
    def cut(a: Any, b: Any, out: Any = None) -> Any:
        wide = np.atleast_1d(a.astype(np.float64) * b.astype(np.float64))
        return (wide.view(np.uint64) & np.uint64(0xFFFFFFFFE0000000)).view(np.float64).astype(np.float32)

    patch.setitem(arithmetic._NATIVE, "mul", cut)


def zero_select_lost(patch: Patch) -> None:
    real = arithmetic.compare
    patch.setattr(arithmetic, "compare", lambda test, u, v: np.zeros(u.shape, bool) if test == "zero" else real(test, u, v))


def nibbles_swapped(patch: Patch) -> None:
    real = emu.quantized.pack_nibbles
    patch.setattr(emu.quantized, "pack_nibbles", lambda array: (real(array) << 4 | real(array) >> 4).astype(np.uint8))


def pairwise_sum(patch: Patch) -> None:
    real = reduce.sum_lanes
    patch.setattr(reduce, "sum_lanes", lambda values, lanes, _, *rest: real(values, lanes, "tree", *rest))


def sum_rounded_each_time(patch: Patch) -> None:
    patch.setattr(transform, "_exact_sums", lambda rows, scale: transform._butterfly(rows) * scale)


def quotient_rounded_twice(patch: Patch) -> None:
    patch.setattr(arithmetic, "divide_to_odd", lambda a, b: (a / b).astype(np.float32).astype(np.float64))


def draw_off_by_one(patch: Patch) -> None:
    real = integer._random_up
    patch.setattr(integer, "_random_up", lambda place, add, bits, random: real(place, add, bits, random + np.uint64(1)))


FAULTS: list[tuple[Seed, Check]] = [
    (fast_tie_up, ties_of_integers),
    (exact_tie, ties_go_to_the_even_code),
    (exact_tie, lambda: ties_go_to_the_even_code("exact")),
    (index_by(lambda bits: bits), a_sticky_bit_breaks_a_tie),
    (index_by(nearest_even), a_sticky_bit_breaks_a_tie),
    (sticky64_lost, a_sticky_bit_far_below_breaks_a_tie),
    (carry_lost, a_carry_reaches_the_exponent),
    (overflow_wraps, overflow_saturates),
    (exact_overflow_wraps, overflow_saturates_in_the_oracle),
    (exact_minus_zero_lost, minus_zero_is_kept),
    (fast_minus_zero_lost, minus_zero_is_kept_in_wide_formats),
    (nan_sign_kept, nan_keeps_no_sign),
    (nan_scale_ignored, a_nan_scale_spreads),
    (exact_nan_scale_ignored, lambda: a_nan_scale_spreads("exact")),
    (nan_dropped_from_amax, a_nan_in_the_block_reaches_the_scale),
    (subnormals_flushed, subnormals_count),
    (products_cut, products_are_nearest),
    (zero_select_lost, minus_zero_becomes_plus_zero_where_the_recipe_says_so),
    (nibbles_swapped, the_low_nibble_comes_first),
    (pairwise_sum, sums_are_sequential),
    (sum_rounded_each_time, an_exact_sum_is_rounded_once),
    (quotient_rounded_twice, quotients_are_rounded_once),
    (draw_off_by_one, draws_are_added_to_the_top_bits),
    (draw_off_by_one, a_draw_of_zero_cuts),
]


@pytest.fixture
def fresh(monkeypatch: Patch) -> Patch:
    """No table, plan or chain from before the fault, and none after it."""
    for name in ("_decode", "_convert", "_exact_by_table", "_codebooks"):
        monkeypatch.setattr(tables, name, {})
    for module, name in ((plan, "_plans"), (program, "_chains")):
        monkeypatch.setattr(module, name, {})
    for name in [
        name for name in vars(tables) if name.startswith("_") and isinstance(vars(tables)[name], dict) and not name.startswith("__")
    ]:
        monkeypatch.setattr(tables, name, {})
    return monkeypatch


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=[f"{i}-{fault.__name__}" for i, (fault, _) in enumerate(FAULTS)])
def test_fault_is_killed(fault: Seed, check: Check, fresh: Patch) -> None:
    fault(fresh)
    try:
        survived = check()
    except emu.EmuError:
        survived = False
    assert not survived


@pytest.mark.parametrize("check", [check for _, check in FAULTS], ids=[f"{i}-{check.__name__}" for i, (_, check) in enumerate(FAULTS)])
def test_check_holds_without_a_fault(check: Check, fresh: Patch) -> None:
    assert fresh is not None and check()
