"""Queries of formats (IEEE P3109 interim report 4.0, 4.14): the report's table for all 120 formats, and codes by value."""

from __future__ import annotations

import pytest

import emu
from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get

EVERY = [(k, p, sign, domain) for k in range(3, 9) for sign in "su" for p in range(1, k + (sign == "u")) for domain in "ef"]
EXTERNAL = {"fp64": (64, 53, 11, 1023), "fp32": (32, 24, 8, 127), "fp16": (16, 11, 5, 15), "bf16": (16, 8, 8, 127)}
NUMBERS = ("max_finite_of", "min_finite_of", "min_positive_of", "max_subnormal_of", "min_normal_of")


def facts_of(name: str) -> list[int | str]:
    words = ("bitwidth", "precision", "signedness", "domain", "exponent_bitwidth", "trailing_significand_bitwidth", "exponent_bias")
    return [emu.query(f"{word}_of", name) for word in words]


def test_the_table_of_the_report() -> None:
    for k, p, sign, domain in EVERY:
        bits, bias = (k - p, 2 ** (k - p - 1)) if sign == "s" else (k - p + 1, 2 ** (k - p))
        if k == p + 1 and sign == "s":
            assert bias == 1
        words = ["signed" if sign == "s" else "unsigned", "extended" if domain == "e" else "finite"]
        assert facts_of(f"binary{k}p{p}{sign}{domain}") == [k, p, *words, bits, p - 1, bias]
    assert len(EVERY) == 120
    for name, (k, p, bits, bias) in EXTERNAL.items():
        assert facts_of(name) == [k, p, "signed", "extended", bits, p - 1, bias]


@pytest.mark.parametrize("k", range(3, 9))
def test_codes_by_value(k: int) -> None:
    """The outermost finite numbers, the least positive one, and where an ulp begins to grow: from the values of all codes."""
    for _, p, sign, domain in (row for row in EVERY if row[0] == k):
        name = f"binary{k}p{p}{sign}{domain}"
        fmt = get("format", name)
        values = {code: decode_code(code, fmt) for code in range(1 << k)}
        finite = {value.signed: code for code, value in values.items() if value.kind == "finite"}
        positive = sorted(number for number in finite if number > 0)
        (nan,) = (code for code, value in values.items() if value.kind == "nan")
        subnormal = positive[: 2 ** (p - 1) - 1]
        wanted = [finite[max(finite)], finite[min(finite)], finite[positive[0]], finite[subnormal[-1]] if subnormal else nan]
        assert [emu.query(query, fmt) for query in NUMBERS] == [*wanted, finite[positive[len(subnormal)]]], name


def test_external_numbers() -> None:
    assert [emu.query(name, "fp32") for name in NUMBERS] == [0x7F7FFFFF, 0xFF7FFFFF, 1, 0x007FFFFF, 0x00800000]
    assert [emu.query(name, "e2m1") for name in NUMBERS] == [7, 15, 1, 1, 2] and derive.codes(get("format", "e2m1")).max_code == 7


def test_what_is_refused() -> None:
    for arguments, line in (
        (("width_of", "fp32"), "query 'width_of' is unknown: one of bitwidth_of, "),
        (("bitwidth_of", "e8m0"), "query bitwidth_of takes float formats: e8m0 is none"),
    ):
        with pytest.raises(OperandError, match=line):
            emu.query(*arguments)
