"""Seeded faults that golden rows do not reach: each is killed by a check that is named after what it broke.

The catalogue of those that they do: tests/mutation/catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import emu
import emu.ops.quantized
from emu.base.caches import Cache
from emu.engines.exact.block import dequantize as exact_dequantize
from emu.engines.exact.value import Value
from emu.engines.numpy import arithmetic, block, odd, program, reduce, tables, transform
from emu.engines.numpy import convert as npy
from emu.spec.programs import lowering
from emu.spec.registry import get

Patch = pytest.MonkeyPatch
Seed = Callable[[Patch], None]
Check = Callable[[], bool]


def codes(bits: list[int], to: str, mode: str = "rne", source: str = "fp32", policy: str = "nvidia", engine: str = "numpy") -> list[int]:
    array = np.array(bits, {"fp32": np.uint32, "bf16": np.uint16, "fp64": np.uint64, "e4m3": np.uint8}[source])
    found: list[int] = emu.convert(array, to, rounding=mode, policy=policy, source=source, engine=engine).tolist()
    return found


# Checks: typed by hand from the documents, True when the code under test is right.


def a_sticky_bit_far_below_breaks_a_tie() -> bool:
    return codes([0x3FD0000000000001, 0x3FD0000000000000], "e2m1", source="fp64") == [1, 0]


def a_nan_scale_spreads(engine: str = "numpy") -> bool:
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


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def subnormals_count() -> bool:
    return quantized(words(TINY + " 00001E5B 80010329"), 0x500) == (words(" ".join("8880008800088008")), 3)


def minus_zero_becomes_plus_zero_where_the_recipe_says_so() -> bool:
    return quantized([0x80000000, 0x40C00000] + [0] * 14, 0x45280000)[0][:2] == [0, 7]


def the_low_nibble_comes_first() -> bool:
    return emu.ops.quantized.pack_nibbles(np.array([1, 2, 15, 0], np.uint8)).tolist() == [0x21, 0x0F]


def an_exact_sum_is_rounded_once() -> bool:
    row = np.array([[0x4B800000, 0x3F800000, 0x3F800000, 0x4B800000] + [0] * 12], np.uint32)
    return transform.transform(row, get("format", "fp32"), get("transform", "rht16_exact"))[0, :2].tolist() == [0x3F000000, 0x4B000000]


def quotients_are_rounded_once() -> bool:
    """8421375 / 8388607 is 2^-31 above the bf16 tie 257/256, so it goes up."""
    a, b = np.array([1, 8421375], np.float32), np.array([1.25, 8388607], np.float32)
    found = arithmetic.binary("div", a, b, get("format", "bf16"), get("rounding", "rne"))
    return (found.view(np.uint32) >> 16).tolist() == [0x3F4D, 0x3F81]


# Faults.


def sticky64_lost(patch: Patch) -> None:
    real = odd.odd_from_fp64
    patch.setattr(npy, "odd_from_fp64", lambda bits: real(bits & np.uint64(0xFFFFE00000000000)))


def nan_scale_ignored(patch: Patch) -> None:
    real = tables.decode_code
    patch.setattr(tables, "decode_code", lambda code, fmt: Value("finite", 0) if real(code, fmt).kind == "nan" else real(code, fmt))


def exact_nan_scale_ignored(patch: Patch) -> None:
    from emu.engines.exact import program as exact_program

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


def zero_select_lost(patch: Patch) -> None:
    real = arithmetic.compare
    patch.setattr(arithmetic, "compare", lambda test, u, v: np.zeros(u.shape, bool) if test == "zero" else real(test, u, v))


def nibbles_swapped(patch: Patch) -> None:
    real = emu.ops.quantized.pack_nibbles
    patch.setattr(emu.ops.quantized, "pack_nibbles", lambda array: (real(array) << 4 | real(array) >> 4).astype(np.uint8))


def sum_rounded_each_time(patch: Patch) -> None:
    patch.setattr(transform, "_exact_sums", lambda rows, scale: transform._butterfly(rows) * scale)


def quotient_rounded_twice(patch: Patch) -> None:
    patch.setattr(arithmetic, "divide_to_odd", lambda a, b: (a / b).astype(np.float32).astype(np.float64))


FAULTS: list[tuple[Seed, Check]] = [
    (sticky64_lost, a_sticky_bit_far_below_breaks_a_tie),
    (nan_scale_ignored, a_nan_scale_spreads),
    (exact_nan_scale_ignored, lambda: a_nan_scale_spreads("exact")),
    (nan_dropped_from_amax, a_nan_in_the_block_reaches_the_scale),
    (subnormals_flushed, subnormals_count),
    (zero_select_lost, minus_zero_becomes_plus_zero_where_the_recipe_says_so),
    (nibbles_swapped, the_low_nibble_comes_first),
    (sum_rounded_each_time, an_exact_sum_is_rounded_once),
    (quotient_rounded_twice, quotients_are_rounded_once),
]


@pytest.fixture
def fresh(monkeypatch: Patch) -> Patch:
    """No table, plan or chain from before the fault, and none after it."""
    for name in ("_decode", "_convert", "_codebooks"):
        monkeypatch.setattr(tables, name, {})
    for module, name in ((lowering, "_lowered"), (program, "_chains")):
        monkeypatch.setattr(module, name, Cache("tests.fresh", 512))
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
