"""Rotations of 2 to 256 elements, which a user's own file may ask for: every engine that says it can, against the reference model.

The shipped rotations have 16 elements. Larger ones reach further: sign masks of several words, rows of the matrix whose numbers have
more than four bits, sums of more terms than binary64 holds at the spread of 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.engines.exact.transform import transform_codes
from emu.spec import load_spec
from emu.spec.registry import get, isolated, shipped_root

SIZES = (2, 4, 8, 32, 64, 128, 256)
ORDERS = {"exact": "fp32", "butterfly": "bf16", "sequential": "fp32"}  # order -> result
MASK = 0xC3A5_96E1_0F78_D7E8_B14D_2C93_85F6_3A1E_7B02_E95D_46C8_F137_9A6C_50D4_E82B_1D79
TRANSFORM = """
kind: "transform"
id: "rotation{size}_{order}"
title: "{size} elements"
status: "proposed"
facts:
  matrix: "hadamard_sylvester"
  size: {size}
  signs: "0x{signs:X}"
  signs_operand: "yes"
  sum: "{order}"
  sum_format: "fp32"
  scale: "1/{scale}"
  result: "{result}"
expect: []
open: []
sources: []
"""


@pytest.fixture(scope="module", autouse=True)
def rotations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every size and order, loaded as a user's folder."""
    folder: Path = tmp_path_factory.mktemp("spec")
    for size in SIZES:
        for order, result in ORDERS.items():
            signs, scale = MASK & ((1 << size) - 1), 1 << (size.bit_length() // 2)
            text = TRANSFORM.format(size=size, order=order, signs=signs, scale=scale, result=result)
            (folder / f"rotation{size}_{order}.yaml").write_text(text, encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


def engines_of(chosen: Any) -> list[str]:
    """Engines that say they can; torch where it is installed, but for exact sums of many terms, which take it tens of seconds."""
    rows = [row for row in engine_table.TABLE if row.operation == "transform" and row.engine != "exact"]
    found = [row.engine for row in rows if row.can(chosen, get("format", "fp32"))]
    return [engine for engine in found if engine != "torch" or chosen.facts.sum != "exact" or chosen.facts.size <= 16]


def groups(size: int) -> Any:
    """Numbers of one size, numbers far apart, one term alone at the end, opposite halves; all of them where the order decides bits."""
    rng = np.random.default_rng(size)
    plain = rng.standard_normal(size)
    apart = plain * np.exp2(rng.integers(-60, 60, size))
    alone = np.zeros(size)
    alone[-1] = 1 + 2.0**-23
    opposite = np.where(np.arange(size) % 2, -1, 1) * np.repeat(plain[: size // 2], 2)
    opposite[-1] += 2.0**-30
    return np.array([plain, apart, alone, opposite], np.float32).view(np.uint32)


def wanted(codes: Any, chosen: Any, signs: int | None) -> list[list[int]]:
    return [transform_codes(row, get("format", "fp32"), chosen, signs) for row in codes.tolist()]


@pytest.mark.cases(5)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
def test_every_size_and_order(size: int, order: str) -> None:
    chosen, codes = get("transform", f"rotation{size}_{order}"), groups(size)
    if size >= 128 and order != "butterfly":
        codes = codes[1:2]  # a row of the matrix for each element: seconds for the reference model
    right = wanted(codes, chosen, None)
    assert {"numpy", "c_ref"} <= set(engines_of(chosen))
    for engine in engines_of(chosen):
        found = engine_run.run_transform(codes, get("format", "fp32"), chosen, None, engine)
        assert found.tolist() == right, engine


@pytest.mark.parametrize("size", [64, 128, 256])
def test_a_sign_in_every_word_of_a_mask(size: int) -> None:
    """One sign at a time, at both ends of each word of 64 bits: only that element is negated."""
    chosen, fp32 = get("transform", f"rotation{size}_butterfly"), get("format", "fp32")
    codes = (1 + np.arange(size) / 64).astype(np.float32).view(np.uint32)[np.newaxis]
    for place in sorted({0, 31, 32, 63, size - 64, size - 1}):
        flipped = codes.copy()
        flipped[0, place] ^= np.uint32(0x80000000)
        right = wanted(flipped, chosen, 0)
        for engine in engines_of(chosen):
            assert engine_run.run_transform(codes, fp32, chosen, 1 << place, engine).tolist() == right, (engine, place)


@pytest.mark.parametrize("size", [8, 32, 64, 128, 256])
def test_the_spread_of_an_exact_rotation_of_any_size(size: int) -> None:
    """A sum of one bit more than binary64 holds, and of up to three more: a tie of binary32 above one unit that decides it."""
    chosen, fp32 = get("transform", f"rotation{size}_exact"), get("format", "fp32")
    bits = size.bit_length() - 1
    own = np.array([-1 if MASK >> j & 1 else 1 for j in range(size)])
    for spread in range(29 - bits, 33 - bits):
        terms = np.full(size, 1.5)
        terms[0] += 2.0 ** (bits - 24) if bits > 0 else 0
        terms[-2:] = 2.0**-spread * (1 + 2.0**-23), -(2.0**-spread)
        codes = (terms * own).astype(np.float32).view(np.uint32)[np.newaxis]
        first = transform_first(terms, size)
        for engine in engines_of(chosen):
            assert int(engine_run.run_transform(codes, fp32, chosen, None, engine)[0, 0]) == first, (engine, spread)


def transform_first(terms: Any, size: int) -> int:
    """Row 0 worked out here: the tie goes up, for one unit lies above it."""
    bits = size.bit_length() - 1
    total = 1.5 * (size - 2) + 2.0 ** (bits - 23)  # the sum without the unit, one ulp of the result up from the even side
    return int(np.array(total / (1 << (size.bit_length() // 2)), np.float32).view(np.uint32))


def test_the_public_function_takes_them() -> None:
    x = np.random.default_rng(81).standard_normal((2, 256), dtype=np.float32)
    found = emu.transform(x, "rotation256_butterfly")
    assert found.tolist() == emu.transform(x, "rotation256_butterfly", engine="exact").tolist()
