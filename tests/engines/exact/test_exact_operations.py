"""Operations of IEEE P3109 interim report 4.0 (draft): the reference model beside the report's own tables, line by line."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.operate import operate_codes
from emu.engines.exact.value import NAN, Value, finite
from emu.spec import derive, get
from emu.spec.models import Format, Policy, Rounding
from emu.spec.operations import OPERATIONS

TABLES = yaml.safe_load(Path(__file__).with_name("p3109_operations.yaml").read_text(encoding="utf-8"))["operations"]
Datum = Fraction | float  # a rational; an infinity or NaN as a float
DATA: tuple[Datum, ...] = (math.nan, -math.inf, *map(Fraction, ("-2", "-1", "-1/2", "0", "3/8", "1", "2")), math.inf)
F4, F8 = ("binary4p2sf",), ("binary8p4se", "binary8p3se")
RNE: Rounding = get("rounding", "rne")
SAT_NONE: Policy = get("policy", "p3109_sat_none")


def fits(pattern: str, datum: Datum) -> bool:
    if pattern in ("*", "X", "Y", "Z"):
        return True
    if pattern == "any Inf":
        return math.isinf(datum)
    return math.isnan(datum) if pattern == "NaN" else datum == float(pattern)


def by_the_table(name: str, data: tuple[Datum, ...]) -> Any:
    """The result of the first line that fits."""
    names = dict(zip("XYZ", data, strict=False)) | {"Inf": math.inf, "NaN": math.nan, "Fraction": Fraction}
    for patterns, condition, result in TABLES[name]:
        if all(map(fits, patterns.split(", "), data)) and (not condition or eval(condition, {}, names)):
            return by_the_table(result[3:], data) if result.startswith("as ") else eval(result.replace("1/X", "Fraction(1) / X"), {}, names)
    raise AssertionError(f"no line of {name} fits {data}")


def value_of(datum: Datum) -> Value:
    if math.isnan(datum):
        return NAN
    return Value("inf", int(datum < 0)) if math.isinf(datum) else finite(Fraction(datum))


def projected(datum: Datum, to: Format) -> int:
    return convert_value(value_of(datum), to, RNE, derive.policy_entry(SAT_NONE, to))


@pytest.mark.parametrize("name", TABLES)
def test_every_line_of_the_tables(name: str) -> None:
    """Ten data in each place: NaN, both infinities, both signs, zero, one, fractions."""
    fmt: Format = get("format", "binary8p4se")
    operation, lines = OPERATIONS[name], set()
    assert {len(patterns.split(", ")) for patterns, _, _ in TABLES[name]} == {operation.operands}
    for data in itertools.product(DATA, repeat=operation.operands):
        found = operate_codes(name, [encode_value(value_of(datum), fmt) for datum in data], [fmt] * len(data), fmt, RNE, SAT_NONE)
        wanted = by_the_table(name, data)
        assert found == (wanted if operation.gives == "truth" else projected(wanted, fmt)), (name, data)
        lines.add((found, data[0]))
    assert len(lines) > 2


def test_the_tables_are_all_there() -> None:
    assert sum(map(len, TABLES.values())) == 235 and len(TABLES) == 26
    beside = {"convert", "is_nan", "is_infinite", "is_finite", "is_normal", "is_subnormal", "next_greater_than", "next_less_than"}
    assert set(OPERATIONS) - set(TABLES) == beside | {"scaled_add", "scaled_subtract", "scaled_multiply"}


@pytest.mark.parametrize("name", [*F4, *F8, "binary3p1uf", "binary5p2ue", "binary6p6uf"])
def test_neighbours_run_through_every_number(name: str) -> None:
    """Up from the least and down from the largest: each number once, in order, then NaN; and NaN stays NaN."""
    fmt: Format = get("format", name)
    bits = int(name[6])
    values = {code: decode_code(code, fmt) for code in range(1 << bits)}
    (nan,) = (code for code, value in values.items() if value.kind == "nan")
    numbers = {code: value for code, value in values.items() if code != nan}
    rank = {code: value.signed if value.kind == "finite" else math.inf * (1 - 2 * value.sign) for code, value in numbers.items()}
    order = sorted(rank, key=lambda code: rank[code])
    for walk, step in ((order, "next_greater_than"), (order[::-1], "next_less_than")):
        assert [operate_codes(step, [code], [fmt], fmt, RNE, SAT_NONE) for code in walk] == [*walk[1:], nan]
        assert operate_codes(step, [nan], [fmt], fmt, RNE, SAT_NONE) == nan


def test_classes_of_every_code() -> None:
    """The eight classes part the codes of a format; how many codes each has follows from K and P."""
    for name, k, p in (("binary8p4se", 8, 4), ("binary8p3se", 8, 3), ("binary4p2sf", 4, 2)):
        fmt: Format = get("format", name)
        found = {
            test: [code for code in range(1 << k) if operate_codes(test, [code], [fmt], fmt, RNE, SAT_NONE)]
            for test in OPERATIONS
            if test.startswith("is_")
        }
        infinities = 2 if name.endswith("e") else 0
        assert found["is_nan"] == [1 << k - 1] and found["is_zero"] == [0] and found["is_one"] == [1 << k - 2]
        assert len(found["is_infinite"]) == infinities and len(found["is_finite"]) == 2**k - 1 - infinities
        assert len(found["is_subnormal"]) == 2 * (2 ** (p - 1) - 1)
        assert len(found["is_normal"]) == 2**k - 2 - infinities - len(found["is_subnormal"])
        assert found["is_sign_minus"] == list(range((1 << k - 1) + 1, 1 << k))


def test_what_rounds_to_zero_is_plus_zero() -> None:
    fp16, fmt = get("format", "fp16"), get("format", "binary8p3se")
    least = 0x81
    assert decode_code(least, fmt).signed == -Fraction(1, 2**17)
    assert operate_codes("multiply", [least, 1], [fmt, fmt], fp16, RNE, get("policy", "ieee")) == 0
    assert operate_codes("convert", [0x8000], [fp16], fp16, RNE, get("policy", "ieee")) == 0


def test_a_scaled_operation_scales_each_number_first() -> None:
    """Scales 2 and 1/4 of Binary8p1uf; a scale of zero makes its number zero, a NaN scale NaN."""
    scale, fmt = get("format", "binary8p1uf"), get("format", "binary8p4se")
    formats = [scale, fmt, scale, fmt]

    def run(name: str, *codes: int) -> Value:
        return decode_code(operate_codes(name, codes, formats, fmt, RNE, SAT_NONE), fmt)

    assert run("scaled_add", 0x81, 0x40, 0x7E, 0x48).signed == Fraction(5, 2)  # 2 * 1 + 1/4 * 2
    assert run("scaled_subtract", 0x81, 0x40, 0x7E, 0x48).signed == Fraction(3, 2)
    assert run("scaled_multiply", 0x81, 0x40, 0x7E, 0x48).signed == 1
    assert run("scaled_add", 0x00, 0x40, 0x7E, 0x48).signed == Fraction(1, 2)
    assert run("scaled_multiply", 0x00, 0x7F, 0x7E, 0x48).kind == "nan"  # 0 * Inf
    assert run("scaled_add", 0xFF, 0x00, 0x80, 0x40).kind == "nan"
