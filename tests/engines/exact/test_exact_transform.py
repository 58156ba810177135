"""transform of the reference model: measured rotations, worked examples, orders of addition, signs, specials.

Independent code here: the exact rotation in Fractions, with its own rounding to a float format.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.transform import transform_codes
from emu.spec.loader import read
from emu.spec.registry import get, names

ROWS = read(Path(__file__).parent / "recipe_rows" / "rotations.yaml").data["rows"]
FRACTION_BITS = {"fp32": 23, "bf16": 7}


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def value(code: int, fmt: str) -> Fraction:
    """Value of a finite fp32 or bf16 code."""
    bits = FRACTION_BITS[fmt]
    field, fraction = code >> bits & 0xFF, code & ((1 << bits) - 1)
    magnitude = (fraction + ((1 << bits) if field else 0)) * Fraction(2) ** (max(field, 1) - 127 - bits)
    return -magnitude if code >> (bits + 8) else magnitude


def rounded(number: Fraction, fmt: str) -> Fraction:
    """Nearest number with the format's fraction bits, ties to even; for numbers in the normal range."""
    if not number:
        return number
    exp = 0
    while abs(number) >= Fraction(2) ** (exp + 1):
        exp += 1
    while abs(number) < Fraction(2) ** exp:
        exp -= 1
    unit = Fraction(2) ** (exp - FRACTION_BITS[fmt])
    return round(number / unit) * unit


def rotation(x: list[Fraction], signs: int) -> list[Fraction]:
    """H diag(signs) x / 4, exact."""
    signed = [-number if signs >> i & 1 else number for i, number in enumerate(x)]
    return [sum((number * (-1) ** (i & j).bit_count() for j, number in enumerate(signed)), Fraction(0)) / 4 for i in range(16)]


def test_every_measured_row_is_here() -> None:
    assert [row["transform"] for row in ROWS] == ["rht16_te"] * 6 + ["rht16_te_fp32"] * 4


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_measured_row(row: dict[str, Any]) -> None:
    assert transform_codes(words(row["x"]), get("format", row["source"]), get("transform", row["transform"])) == words(row["y"])


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_exact_sum_against_fractions(row: dict[str, Any]) -> None:
    x = words(row["x"])
    wanted = [rounded(number, "fp32") for number in rotation([value(code, row["source"]) for code in x], 0xD7E8)]
    source = get("format", row["source"])
    assert [value(code, "fp32") for code in transform_codes(x, source, get("transform", "rht16_exact"))] == wanted
    assert [value(code, "bf16") for code in transform_codes(x, source, get("transform", "rht16_te"))] == [
        rounded(number, "bf16") for number in wanted
    ]


EXAMPLES = [(name, number) for name in names("transform") for number in range(len(get("transform", name).expect))]


@pytest.mark.parametrize(("name", "number"), EXAMPLES, ids=[f"{name}-{number}" for name, number in EXAMPLES])
def test_example(name: str, number: int) -> None:
    transform = get("transform", name)
    row = transform.expect[number]
    assert transform_codes(words(row.x), get("format", row.source), transform) == words(row.y)


def test_every_transform_has_an_example() -> None:
    assert {name for name, _ in EXAMPLES} == set(names("transform"))
    assert set(names("transform")) == {"rht16_te", "rht16_te_fp32", "rht16_exact", "rht16_butterfly", "rht16_ufp4"}


def test_order_of_additions_shows_on_wide_rows_only() -> None:
    """On the measured binary32 rows three orders give three results; on small integers one."""
    fp32 = get("format", "fp32")
    orders = ("rht16_te_fp32", "rht16_exact", "rht16_butterfly")
    wide = [
        [tuple(transform_codes(words(row["x"]), fp32, get("transform", name))) for name in orders]
        for row in ROWS
        if row["source"] == "fp32"
    ]
    assert [len(set(results)) for results in wide] == [3, 3, 3, 1]
    small = [0x40A00000 - (i << 20) for i in range(16)]
    assert len({tuple(transform_codes(small, fp32, get("transform", name))) for name in orders}) == 1


def test_signs_negate_their_elements() -> None:
    transform, bf16 = get("transform", "rht16_ufp4"), get("format", "bf16")
    x = words(ROWS[2]["x"])
    for mask in (0x0001, 0x8000, 0xD7E8, 0xFFFF):
        negated = [code ^ (mask >> i & 1) << 15 for i, code in enumerate(x)]
        assert transform_codes(x, bf16, transform, mask) == transform_codes(negated, bf16, transform)
        assert transform_codes(x, bf16, transform, mask) != transform_codes(x, bf16, transform)


def test_twice_is_the_identity() -> None:
    """H H / 16 = 1: exact on small integers without signs."""
    transform, bf16 = get("transform", "rht16_ufp4"), get("format", "bf16")
    x = [0x3F80, 0x4000, 0x4040, 0xC080, 0, 0xBF80, 0x4000, 0x40A0, 0, 0, 0x3F80, 0xC000, 0x4040, 0x3F80, 0, 0x4080]
    assert transform_codes(transform_codes(x, bf16, transform), bf16, transform) == x


def test_refusals() -> None:
    bf16 = get("format", "bf16")
    with pytest.raises(ShapeError, match="16 elements"):
        transform_codes([0] * 15, bf16, get("transform", "rht16_te"))
    with pytest.raises(OperandError, match="fixed signs"):
        transform_codes([0] * 16, bf16, get("transform", "rht16_te"), 0)
    with pytest.raises(OperandError, match="more than 16 bits"):
        transform_codes([0] * 16, bf16, get("transform", "rht16_ufp4"), 1 << 16)


@pytest.mark.parametrize("name", names("transform"))
def test_nan_and_inf_spread(name: str) -> None:
    transform, fp32 = get("transform", name), get("format", "fp32")
    wide = transform.facts.result == "fp32"
    inf, top = (0x7F800000, 31) if wide else (0x7F80, 15)
    one_inf = transform_codes([0x7F800000] + [0x3F800000] * 15, fp32, transform)
    assert one_inf == [inf] * 16
    last_inf = transform_codes([0x3F800000] * 15 + [0x7F800000], fp32, transform)
    sign = int(transform.facts.signs, 16) >> 15 & 1
    assert last_inf == [inf | ((i & 15).bit_count() + sign & 1) << top for i in range(16)]
    nan = transform_codes([0x7FC00000] + [0x3F800000] * 15, fp32, transform)
    assert all(code & inf == inf and code & ~inf & ((1 << top) - 1) for code in nan)
    # two infinities cancel in half of the sums
    both = transform_codes([0x7F800000, 0x7F800000] + [0] * 14, fp32, transform)
    assert [code == inf for code in both] == [True, False] * 8


@pytest.mark.parametrize("name", names("transform"))
def test_overflow_of_the_sum_is_inf_before_the_scale(name: str) -> None:
    """Sixteen FLT_MAX / 2 add up to 8 FLT_MAX: the exact sum scaled fits only after rounding, each order says so in its own way."""
    transform, fp32 = get("transform", name), get("format", "fp32")
    signs = int(transform.facts.signs, 16)
    half_max = [0x7EFFFFFF | (signs >> i & 1) << 31 for i in range(16)]
    inf = 0x7F800000 if transform.facts.result == "fp32" else 0x7F80
    assert transform_codes(half_max, fp32, transform)[0] == inf
    # 4 * FLT_MAX / 2 = 2 FLT_MAX overflows an addition, but not the exact sum, whose quarter is FLT_MAX / 2
    four = half_max[:4] + [0] * 12
    by_steps = {"exact": 0x7EFFFFFF, "butterfly": 0x7F800000, "sequential": 0x7F800000}[transform.facts.sum]
    first = transform_codes(four, fp32, transform)[0]
    assert first == (by_steps if inf == 0x7F800000 else 0x7F00 if transform.facts.sum == "exact" else 0x7F80)
