"""Codes of operands: narrow ones are decoded once, wide ones each time, so that nothing grows with the rows that went by."""

import pytest

from emu.engines.exact import datapath_terms
from emu.engines.exact.datapath_terms import decode_operand, decode_triple, operands_of, triples_of
from emu.spec import derive, get

WIDE = range(0x3F800000, 0x3F800400)


@pytest.mark.parametrize("name", ["e2m1", "e1m2", "int4", "ue4m3", "e8m0"])
@pytest.mark.parametrize("subnormals", ["keep", "flush"])
def test_all_codes_of_a_narrow_format(name: str, subnormals: str) -> None:
    fmt = get("format", name)
    codes = [code for code in range(1 << derive.codes(fmt).bits) if derive.is_finite_code(code, fmt)] * 2
    assert triples_of(codes, fmt, subnormals) == [decode_triple(code, fmt, subnormals) for code in codes]
    assert operands_of(codes, fmt, subnormals) == [decode_operand(code, fmt, subnormals) for code in codes]
    first, again = (triples_of(codes[:1], fmt, subnormals) for _ in range(2))
    assert first[0] is again[0]


def test_wide_codes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datapath_terms, "_TRIPLES", {})
    monkeypatch.setattr(datapath_terms, "_VALUES", {})
    fmt = get("format", "fp32")
    narrow, codes = [0, 1, 0xFFFF], [0, 1, 0xFFFF, *WIDE, 0x10000, 0]
    assert triples_of(narrow, fmt, "keep") == [decode_triple(code, fmt, "keep") for code in narrow]
    assert operands_of(narrow, fmt, "keep") == [decode_operand(code, fmt, "keep") for code in narrow]
    assert triples_of(codes, fmt, "keep") == [decode_triple(code, fmt, "keep") for code in codes]
    assert operands_of(codes, fmt, "keep") == [decode_operand(code, fmt, "keep") for code in codes]
    (triples,), (values,) = datapath_terms._TRIPLES.values(), datapath_terms._VALUES.values()
    assert sorted(triples) == sorted(values) == narrow


def test_formats_and_rules_are_kept_apart() -> None:
    small = triples_of([1], get("format", "e2m1"), "keep"), triples_of([1], get("format", "e2m1"), "flush")
    assert small[0] != small[1] != triples_of([1], get("format", "e1m2"), "keep")
    assert operands_of([0x80], get("format", "ue4m3"), "keep", "ignore")[0].magnitude == 0
    with pytest.raises(ValueError, match="ue4m3"):
        operands_of([0x80], get("format", "ue4m3"), "keep")
