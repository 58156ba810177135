"""What lies far below a result of the C reference still decides it: sums, products, quotients and aligned terms, limb by limb.

Each case is a tie, or an exact number, and one more unit far below: the farther, the more words of the exact sum lie between. Expected
results are the reference model's, which knows no words.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from support.dots import changed

from emu.engines.c_ref import datapath as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.block import dequantize
from emu.engines.c_ref.descriptors import format_descriptor, rounding_descriptor
from emu.engines.c_ref.program import OPERATION
from emu.engines.c_ref.transform import transform
from emu.engines.exact import arithmetic
from emu.engines.exact.block import dequantize as exact_dequantize
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_codes
from emu.spec import derive, load_spec
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.registry import get, isolated, shipped_root

MODES = ("rne", "rna", "rz", "ru", "rd", "odd")
FLOATS = {"fp64": (np.uint64, 1023, 52), "fp32": (np.uint32, 127, 23), "bf16": (np.uint16, 127, 7), "fp16": (np.uint16, 15, 10)}


def power(exp: int, name: str, minus: bool = False) -> int:
    """The code of a power of two, normal or not; 0 where it lies below the format."""
    _, bias, frac_bits = FLOATS[name]
    lowest = 1 - bias
    size = (exp + bias) << frac_bits if exp >= lowest else 1 << (exp - lowest + frac_bits) if exp >= lowest - frac_bits else 0
    return size | (derive.codes(get("format", name)).sign_bit if minus else 0)


def below(name: str, first: int) -> list[int]:
    """Exponents from `first` down to that of the smallest number: those within two words, then every 37th and the last."""
    lowest = 1 - FLOATS[name][1] - FLOATS[name][2]
    near = range(first, max(first - 26, lowest) - 1, -3)
    far = [exp for edge in (-64, -75, -117, -128) for exp in range(edge - 2, edge + 3) if lowest <= exp < first]
    return [*near, *far, *range(first - 30, lowest, -37), lowest]


# ---- single operations: sums of 128 bits, 63 bits of a quotient


def by_c(op: str, name: str, mode: str, rows: list[tuple[int, ...]]) -> list[int]:
    """Results of one operation of the C reference."""
    fmt = get("format", name)
    made = format_descriptor(fmt)
    columns = [ffi.new("uint64_t[]", list(column)) for column in zip(*rows, strict=True)] + [ffi.NULL] * (3 - len(rows[0]))
    out = ffi.new("uint64_t[]", len(rows))
    rounding = rounding_descriptor(get("rounding", mode), fmt, made)
    assert not lib.emu_calculate_array(OPERATION[op], made.pointer, made.pointer, rounding, 0, *columns, len(rows), out)
    return list(out)


def by_exact(op: str, name: str, mode: str, rows: list[tuple[int, ...]]) -> list[int]:
    fmt, rounding = get("format", name), get("rounding", mode)
    found = []
    for row in rows:
        x = [decode_code(code, fmt) for code in row]
        if op == "div":
            exact = arithmetic.divide(x[0], x[1])
        elif op == "fma":
            exact = arithmetic.add(arithmetic.multiply(x[0], x[1]), x[2], rounding)
        else:
            exact = arithmetic.add(x[0], x[1] if op == "add" else arithmetic.negate(x[1]), rounding)
        found.append(encode_value(arithmetic.round_result(exact, fmt, rounding), fmt))
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FLOATS)
def test_a_term_far_below_in_a_sum_of_two(name: str, mode: str) -> None:
    """1 and a power of two below it, down to the smallest number: where the shift passes one word, both words, and all 128 bits."""
    rows = [(power(0, name, a), power(exp, name, b)) for exp in below(name, -1) for a in (False, True) for b in (False, True)]
    rows += [(b, a) for a, b in rows[::7]]
    for op in ("add", "sub"):
        assert by_c(op, name, mode, rows) == by_exact(op, name, mode, rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FLOATS)
def test_a_term_far_below_a_product(name: str, mode: str) -> None:
    """A product that is a tie, and an addend far below it on either side: it alone says where the tie goes."""
    frac_bits = FLOATS[name][2]
    low = frac_bits // 2
    one, first, second = power(0, name), 1 << (frac_bits - low), 1 << (frac_bits - (frac_bits + 1 - low))
    ties = [(one | first, one | second), (one | first | second, one | first | second), (one | first, one)]
    rows = [(a, b, power(exp, name, minus)) for a, b in ties for exp in below(name, -frac_bits - 2) for minus in (False, True)]
    assert by_c("fma", name, mode, rows) == by_exact("fma", name, mode, rows)


def nearly_ties(count: int) -> list[tuple[int, int]]:
    """Binary64 significands of 53 bits whose quotient is a tie and less than 2^-63 more: found by a search from midpoints."""
    random, found = Random(82), list[tuple[int, int]]()
    while len(found) < count:
        b, middle = random.getrandbits(52) | 1 << 52, random.getrandbits(53) | 1 << 53 | 1
        a = -(-b * middle >> 54) if b * middle >> 106 else -(-b * middle >> 53)
        if not 1 << 52 <= a < 1 << 53:
            continue
        quotient = Fraction(a, b)
        exp = 0 if quotient >= 1 else -1
        units = quotient / Fraction(2) ** (exp - 62)  # 63 bits
        whole = int(units)
        if whole != units and whole & 0x3FF == 0x200:
            found.append((a, b))
    return found


@pytest.mark.parametrize("mode", MODES)
def test_what_is_left_of_a_division_of_binary64(mode: str) -> None:
    """The 63 bits of the quotient are those of a tie; only what is left says that it lies above."""
    rows = [(a - (1 << 52) | 1023 << 52, b - (1 << 52) | (1023 - shift) << 52) for a, b in nearly_ties(12) for shift in (0, 7)]
    rows += [(a | 1 << 63, b) for a, b in rows]
    two = [power(exp, "fp64") for exp in (0, 1, 3, 40, -1000)]
    exact = [(two[0] | 3 << 50, two[1]), (two[4] | 5, two[3]), (two[2], two[0])]
    rows += exact + [(a + 1, b) for a, b in exact]
    small = (power(-40, "fp64") | 1 << 51, power(-50, "fp64"), power(-20, "fp64") | 0xFFF)  # quotients below the normal numbers
    rows += [(a, power(1000, "fp64") | 1) for a in small]
    assert by_c("div", "fp64", mode, rows) == by_exact("div", "fp64", mode, rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16"])
def test_what_is_left_of_a_division(name: str, mode: str) -> None:
    random, codes = Random(83), derive.codes(get("format", name))
    rows = [(random.randint(1, codes.max_code), random.randint(1, codes.max_code)) for _ in range(300)]
    rows += [(power(exp, name) | 1, power(0, name) | 3) for exp in range(-14, 15)]
    assert by_c("div", name, mode, rows) == by_exact("div", name, mode, rows)


# ---- exact sums of a block: a number of as many words as the format's range

LANES = 8
BLOCK = """
kind: "block"
id: "sticky_{a}"
title: "a block of plain numbers"
status: "proposed"
facts:
  element: {{format: "{a}"}}
  shape: [1, {lanes}]
  packing: "none"
  scale_layout: "row_major"
  levels: [{{name: "scale", format: "{a}", granularity: "block", meaning: "multiply"}}]
expect: []
open: []
sources: []
"""
RECIPE = """
kind: "recipe"
id: "sticky_{a}_{mode}"
title: "an exact sum by itself"
status: "proposed"
facts:
  block: "sticky_{a}"
  tail: "error"
  arithmetic: {{to: "{a}", round: "{mode}"}}
  steps:
    - {{out: "codes", op: "cast", args: ["x"], to: "{a}"}}
    - {{out: "largest", op: "amax", args: ["x"], at: "block", nan: "propagate"}}
    - {{op: "emit", codes: "codes", levels: {{scale: "largest"}}}}
  dequantize:
    sums:
      - {{out: "a", op: "decode", args: ["codes"]}}
      - {{out: "total", op: "sum", args: ["a"], at: "block", order: "exact"}}
      - {{out: "whole", op: "select", test: "nan", args: ["a", "total", "total"]}}
      - {{op: "emit", values: "whole"}}
expect: []
open: []
sources: []
"""
ROTATION = """
kind: "transform"
id: "rotation_{a}"
title: "an exact rotation"
status: "proposed"
facts:
  matrix: "hadamard_sylvester"
  size: {lanes}
  signs: "0x0"
  signs_operand: "yes"
  sum: "exact"
  sum_format: "{a}"
  scale: "1"
  result: "{a}"
expect: []
open: []
sources: []
"""


@pytest.fixture(scope="module")
def user_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder: Path = tmp_path_factory.mktemp("spec")
    for a in ("fp64", "fp32"):
        (folder / f"sticky_{a}.yaml").write_text(BLOCK.format(a=a, lanes=LANES), encoding="utf-8")
        (folder / f"rotation_{a}.yaml").write_text(ROTATION.format(a=a, lanes=LANES), encoding="utf-8")
        for mode in MODES:
            (folder / f"sticky_{a}_{mode}.yaml").write_text(RECIPE.format(a=a, mode=mode), encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(folder)
        yield


def sums(name: str) -> Any:
    """Rows of terms: 2^top, half an ulp of it, and one unit of either sign far below, in every lane; also with all signs changed."""
    dtype, bias, frac_bits = FLOATS[name]
    lowest, rows = 1 - bias - frac_bits, list[list[int]]()
    for top in (bias - 1, 0):
        for number, exp in enumerate(range(top - frac_bits - 2, lowest - 1, -23 if name == "fp64" else -5)):
            for minus in (False, True):
                row = [0] * LANES
                places = [(number + step) % LANES for step in (0, 3, 5)]
                for place, code in zip(places, (power(top, name), power(top - frac_bits - 1, name), power(exp, name, minus)), strict=True):
                    row[place] = code
                rows.append(row)
        rows.append([power(top, name), power(top - frac_bits - 1, name), *[0] * (LANES - 3), power(lowest, name)])  # the last term decides
    sign = derive.codes(get("format", name)).sign_bit
    return np.array(rows + [[code ^ sign for code in row] for row in rows], dtype)


@pytest.mark.cases(6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["fp64", "fp32"])
def test_a_term_far_below_in_an_exact_sum(name: str, mode: str, user_objects: None) -> None:
    recipe, fmt, codes = get("recipe", f"sticky_{name}_{mode}"), get("format", name), sums(name)
    scale = np.full((len(codes), 1), power(0, name), codes.dtype)
    found = dequantize(recipe, codes, {"scale": scale}, profile="sums", result=fmt)
    assert found.tolist() == exact_dequantize(recipe, codes.tolist(), {"scale": scale.tolist()}, profile="sums", result=fmt)


@pytest.mark.parametrize("name", ["fp64", "fp32"])
def test_a_term_far_below_in_an_exact_rotation(name: str, user_objects: None) -> None:
    chosen, fmt, codes = get("transform", f"rotation_{name}"), get("format", name), sums(name)[::3]
    assert transform(codes, fmt, chosen).tolist() == [transform_codes(row, fmt, chosen) for row in codes.tolist()]


# ---- fused steps: wide sums, and terms that are aligned far below


def far_terms(plan: DatapathPlan) -> Iterator[tuple[list[int], list[int], list[int], list[int], int]]:
    """A leading group, half an ulp of it in C, and a group far below; every sign of the three. Scales are powers of two."""
    k, group, block = plan.facts.k, plan.group, plan.block
    sign = derive.codes(plan.a).sign_bit
    one, bias = 2, 127  # 1 in e2m1; of e8m0
    for lower in (*range(2, 60, 9), *range(61, 71), 90, 127, 128, 129, 190, 191, 192, 240):
        for signs in range(8):
            a, b = [0] * k, [0] * k
            scale_a, scale_b = [bias] * (k // block), [bias] * (k // block)
            a[0], b[0] = one | (sign if signs & 1 else 0), one
            a[group], b[group] = one | (sign if signs & 2 else 0), one
            scale_b[group // block] = bias - min(lower, 120)
            scale_a[group // block] = bias - max(0, lower - 120)
            yield a, b, scale_a, scale_b, power(-24, "fp32", bool(signs & 4))


FAR = {
    "ideal": {},
    "late_c": {},
    "nv_like_exact": {},
    "ideal rz": {"base": "ideal", "round": {"mode": "rz"}},
    "ideal odd": {"base": "ideal", "round": {"mode": "odd"}},
    "nv_like": {},
    "nv_like rd": {"base": "nv_like", "align": {"rounding": "rd"}},
    "nv_like rne": {"base": "nv_like", "align": {"rounding": "rne"}},
    "nv_like rd wide": {"base": "nv_like", "align": {"rounding": "rd", "fraction_bits": 200, "floor": "none", "integer_bits": "none"}},
}


@pytest.mark.parametrize("name", FAR)
def test_a_term_far_below_in_a_fused_step(name: str) -> None:
    parts = dict(FAR[name])
    plan = resolve(parts.pop("base", name), "e2m1", "e2m1", "e8m0", 16)
    plan = changed(plan, **parts) if parts else plan
    rows = list(far_terms(plan))
    a, b, scale_a, scale_b = (np.array([row[i] for row in rows], np.uint8) for i in range(4))
    found = native.dot(a, b, scale_a, scale_b, np.array([row[4] for row in rows], np.uint32), plan)
    assert found.tolist() == [dot(*row[:4], row[4], plan).code for row in rows]
    assert len(set(found.tolist())) >= 3
