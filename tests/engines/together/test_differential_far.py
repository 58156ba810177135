"""Users' datapaths whose numbers reach far: rows typed by hand, and ones out of a seed, in every engine beside the oracle.

A shortcut (binary32 products, binary64 sums, exponents of 16 bits, native's plans) is taken only where the numbers of a datapath stay inside
of it; outside the engine takes another way or refuses the plan.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.oracle.ask import answers, compare, engines, oracle, plans
from support.oracle.draw import drawn
from support.oracle.levels import Facts, Row, decode, read_files

from emu.base.errors import SpecError

_FOUND = spec_from_file_location("user_objects_that_reach_far", Path(__file__).with_name("user_objects.py"))
assert _FOUND is not None and _FOUND.loader is not None
USER: Any = module_from_spec(_FOUND)
_FOUND.loader.exec_module(USER)

ROOT = Path(__file__).parents[3] / "spec"
SHIPPED = read_files([ROOT / "format", ROOT / "rounding"])


def integer(unit_exp: int, bits: int = 4) -> Facts:
    """Facts of two's complement numbers of a unit."""
    return {"class": "integer", "signed": "twos_complement", "bits": bits, "unit_exp": unit_exp}


def floating(exp_bits: int, frac_bits: int) -> Facts:
    """Facts of a float of the usual bias, without NaN and infinity."""
    bias = (1 << (exp_bits - 1)) - 1
    return {"class": "float", "signed": "yes", "exp_bits": exp_bits, "frac_bits": frac_bits, "bias": bias, "subnormals": "yes",
            "inf": "none", "nan": "none", "neg_zero": "yes"}  # fmt: skip


def chain(by: int, rounding: str, align: Facts | None = None) -> Facts:
    """Facts of a chain of `by` products and C."""
    level = {"id": "k", "of": "all", "add": "chain", "by": by, "start": "c", "hold": {"format": "fp32", "rounding": rounding}}
    return {"c": "fp32", "k": by, "levels": [level | ({} if align is None else {"align": align})], "out": {"format": "fp32"},
            "special": {"when": "once", "nan": "any"}}  # fmt: skip


def promote(zero: str, block: int = 1) -> Facts:
    """Facts of a datapath that promotes, with C."""
    held = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    levels = [
        {"id": "blk", "of": "block", "add": "exact", "scale": {"product": held, "term": held}},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held},
    ]
    return {"c": "fp32", "k": block, "scale": {"formats": ["fp32"], "blocks": [block]}, "levels": levels, "out": {"format": "fp32"},
            "special": {"when": "per_add", "nan": "any", "zero": zero}}  # fmt: skip


TEN = {"fraction_bits": 10, "cut": "rz"}
ONE, HALF = 0x3F800000, 0x3F000000  # of binary32
E6M3 = floating(6, 3)
# what: formats of A and B, facts, codes of A, B and scales, C, the code of D
ROWS: dict[str, tuple[Facts, Facts, Facts, list[list[int]], int, int]] = {
    # units 2^64 and 1: 1 * 2^64 * (1 * 2^64) = 2^128 and its negative; they cancel, C is 0
    "products of 2^128 that cancel": (integer(64), integer(64), chain(2, "rz", TEN), [[1, 15], [1, 1]], 0, 0),
    # 2^130 * 2^130 = 2^260 is beyond binary32
    "a product of 2^260": (integer(130), integer(130), chain(2, "rz", TEN), [[1, 0], [1, 0]], 0, 0x7F800000),
    "a product of -2^260": (integer(130), integer(130), chain(2, "rz", TEN), [[15, 0], [1, 0]], 0, 0xFF800000),
    # 0x001: the least, 2^-30 * 2^-3 = 2^-33; -2^-33 * 2^-33 = -2^-66 is cut downwards to one unit of C = 2^120, -2^110: 2^120 - 2^110
    # = (2^10 - 1) * 2^110 = 0x7B7FC000
    "a tiny product that leaves a whole unit": (
        E6M3, E6M3, chain(2, "rz", TEN | {"cut": "rd"}), [[0x201, 0], [0x001, 0]], 0x7B800000, 0x7B7FC000),
    # E = e + 300: -2^-66 names -30 - 30 = -60, the unit is 2^(240 - 10), and -1 unit is beyond binary32
    "a raised unit that is beyond the result": (
        E6M3, E6M3, chain(2, "rz", TEN | {"cut": "rd", "exponent_raise": 300}), [[0x201, 0], [0x001, 0]], 0, 0xFF800000),
    # E = 0 + 1100: 1 * 1 and C = 3 are both below the unit 2^1090
    "a unit of 2^1090": (integer(0), integer(0), chain(2, "rz", TEN | {"exponent_raise": 1100}), [[1, 0], [1, 0]], 0x40400000, 0),
    # no product is live, and C is not raised: E = 1, the unit is 2^-9
    "zeros do not raise E by 9000": (
        integer(0), integer(0), chain(2, "rz", TEN | {"exponent_raise": 9000}), [[0, 0], [1, 1]], 0x40400000, 0x40400000),
    # 2^-100 * 2^-100 = 2^-200 vanishes; -1 times +0 is -0, which zero: plus makes +0; -0 + +0 = +0
    "promote, zeros are plus": (integer(0), integer(0), promote("plus"), [[1], [15], [0x0D800000], [0x0D800000]], 0x80000000, 0),
    # the same with ieee: -1 * +0 = -0, and -0 + -0 = -0
    "promote, zeros as IEEE 754": (
        integer(0), integer(0), promote("ieee"), [[1], [15], [0x0D800000], [0x0D800000]], 0x80000000, 0x80000000),
    # 1 * 2^70 * (1 * 2^70) = 2^140 is no binary32 number; 2^-50 * 2^-50 = 2^-100; 2^140 * 2^-100 = 2^40
    "promote of a sum beyond binary32": (
        integer(70), integer(70), promote("ieee"), [[1], [1], [0x26800000], [0x26800000]], 0, (40 + 127) << 23),
    # 2^-90 * 2^-90 = 2^-180; 2^50 * 2^50 = 2^100; 2^-180 * 2^100 = 2^-80
    "promote of a sum below binary32": (
        integer(-90), integer(-90), promote("ieee"), [[1], [1], [0x58800000], [0x58800000]], 0, (-80 + 127) << 23),
    # -3/2 * 3/2 = -9/4 names 0 and is cut downwards to -3, five times; C = -3/2 to -2: -17, which needs 5 bits above the sign
    "five products that are cut downwards, and C": (
        SHIPPED["e2m1"], SHIPPED["e2m1"], chain(5, "rz", {"fraction_bits": 0, "cut": "rd", "beyond": "wrap"}),
        [[11] * 5, [3] * 5], 0xBFC00000, 0xC1880000),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_a_row_typed_by_hand(what: str) -> None:
    """Every engine that takes the datapath, as a fused step or in levels, and the oracle give D; some engine but the exact one does."""
    a, b, facts, codes, c, d = ROWS[what]
    name, facts = "far_by_hand", {"a": ["far_a"], "b": ["far_b"]} | facts
    made = [{"kind": "format", "id": key, **USER.ABOUT, "facts": item} for key, item in (("far_a", a), ("far_b", b))]
    row = codes, c
    assert oracle(SHIPPED | {"far_a": a, "far_b": b}, facts, row) == d
    with USER.loaded(*made, {"kind": "datapath", "id": name, **USER.ABOUT, "facts": facts}):
        found = {(type(plan).__name__, engine): answers(plan, engine, [row])[0] for plan in plans(name) for engine in engines(plan)}
    raised = facts["levels"][-1].get("align", {}).get("exponent_raise", 0)
    assert len({engine for _, engine in found}) > (raised < 1024)  # which c_ref takes
    assert found == dict.fromkeys(found, d)


__all__ = ["Counter", "Fraction", "Random", "Row", "SpecError", "compare", "decode", "drawn"]
