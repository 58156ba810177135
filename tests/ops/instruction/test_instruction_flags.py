"""IEEE flags of conversions: the published rows, the definitions read once more, and the two meanings of tininess."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emu.engines.exact.decode import decode_code
from emu.engines.exact.flags import DZ, NV, NX, OF, UF, convert_flags
from emu.ops.instruction import instruction
from emu.spec import get

FP32, FP16, BF16 = (get("format", name) for name in ("fp32", "fp16", "bf16"))
ROWS = [  # fp32 -> fp16 rne: source code, result, flags with tininess after and before
    (0x3F800001, 0x3C00, 0x01, 0x01),
    (0x477FF000, 0x7C00, 0x05, 0x05),
    (0x387FF000, 0x0400, 0x01, 0x03),
    (0x7F800001, 0x7E00, 0x10, 0x10),
    (0x387FEFFF, 0x03FF + 1, 0x03, 0x03),
    (0x387FE000, 0x0400, 0x03, 0x03),
    (0x7FC00000, 0x7E00, 0x00, 0x00),
    (0xFF800000, 0xFC00, 0x00, 0x00),
    (0x80000000, 0x8000, 0x00, 0x00),
    (0x38800000, 0x0400, 0x00, 0x00),
    (0x33800000, 0x0001, 0x00, 0x00),
]


@pytest.mark.parametrize(("code", "result", "after", "before"), ROWS)
def test_rows(code: int, result: int, after: int, before: int) -> None:
    assert [int(part) for part in instruction("fcvt.h.s rne")(code)] == [result, after]
    assert [int(part) for part in instruction("fcvt hd sn RMode=rn DN=1")(code)] == [result, before]


def nearby() -> list[int]:
    """fp32 codes around every border of fp16: smallest subnormal, smallest normal, one, largest; both signs."""
    borders = [
        0x33000000,
        0x33800000,
        0x387FE000,
        0x387FF000,
        0x38800000,
        0x3F800000,
        0x477FE000,
        0x477FF000,
        0x47800000,
        0x00000001,
        0x7F7FFFFF,
    ]
    steps = [-(1 << 13), -(1 << 12) - 1, -(1 << 12), -2, -1, 0, 1, 2, 1 << 12, (1 << 12) + 1, 1 << 13]
    codes = {code + step for code in borders for step in steps if 0 < code + step < 0x7F800000}
    return sorted(codes | {code | 1 << 31 for code in codes})


def rounded(value: Fraction, unit: Fraction, mode: str) -> Fraction:
    """A signed value on the multiples of a unit."""
    units = value / unit
    low = units.numerator // units.denominator
    part = units - low
    if mode in ("rd", "ru"):
        return unit * (low + (mode == "ru" and part > 0))
    if mode == "rz":
        return unit * (low + (value < 0 and part > 0))
    up = part > Fraction(1, 2) or (part == Fraction(1, 2) and (low % 2 == 1 if mode == "rne" else value > 0))
    return unit * (low + up)


def unit_of(value: Fraction, frac_bits: int, lowest: int | None) -> Fraction:
    """Step at a value with so many fraction bits; lowest: exponent of the smallest normal, None for an unbounded range."""
    exp = 0
    while Fraction(2) ** exp > abs(value):
        exp -= 1
    while Fraction(2) ** (exp + 1) <= abs(value):
        exp += 1
    return Fraction(2) ** ((exp if lowest is None else max(exp, lowest)) - frac_bits)


def defined(code: int, mode: str, tininess: str) -> int:
    """Flags by the sentences of IEEE 754, from the value alone."""
    value = decode_code(code, FP32).signed
    free = rounded(value, unit_of(value, 10, None), mode)
    result = rounded(value, unit_of(value, 10, -14), mode)
    if abs(free) > 65504:
        return OF | NX
    tiny = abs(value if tininess == "before" else free) < Fraction(1, 1 << 14)
    return 0 if result == value else NX | (UF if tiny else 0)


@pytest.mark.parametrize("mode", ["rne", "rz", "rd", "ru", "rna"])
@pytest.mark.parametrize("tininess", ["before", "after"])
def test_flags_are_what_ieee_754_says(mode: str, tininess: Any) -> None:
    rounding = get("rounding", mode)
    codes = nearby()
    assert len(codes) > 150
    wrong = [code for code in codes if convert_flags(code, FP32, FP16, rounding, tininess) != defined(code, mode, tininess)]
    assert wrong == []


def test_before_and_after_differ_just_below_the_smallest_normal_only() -> None:
    differ = [
        code
        for code in nearby()
        if convert_flags(code, FP32, FP16, get("rounding", "rne"), "before")
        ^ convert_flags(code, FP32, FP16, get("rounding", "rne"), "after")
    ]
    assert differ and all(0x387FF000 <= code & 0x7FFFFFFF < 0x38800000 for code in differ)


def test_no_conversion_divides_and_a_quiet_nan_is_silent() -> None:
    rne = get("rounding", "rne")
    assert not any(convert_flags(code, FP32, FP16, rne, "after") & DZ for code in nearby())
    assert [convert_flags(code, FP32, FP16, rne, "after") for code in (0x7FC00001, 0xFFFFFFFF, 0x7FBFFFFF, 0xFF800001)] == [0, 0, NV, NV]
    assert convert_flags(0xFF, get("format", "e4m3"), BF16, rne, "after") == 0
    assert convert_flags(0x0400, FP16, FP32, rne, "after") == 0


def test_flags_of_a_register_are_those_of_its_lanes_together() -> None:
    call = instruction("fcvt.h.s rne")
    result, flags = call(np.array([[0x3F800001, 0x477FF000], [0x7F800001, 0]], np.uint32))
    assert result.tolist() == [[0x3C00, 0x7C00], [0x7E00, 0]] and flags.tolist() == [[1, 5], [16, 0]] and flags.dtype == np.uint8


def test_flags_need_float_formats() -> None:
    from emu.base.errors import SpecError

    with pytest.raises(SpecError, match="IEEE flags need float formats, not int4 and fp16"):
        convert_flags(1, get("format", "int4"), FP16, get("rounding", "rne"), "after")
