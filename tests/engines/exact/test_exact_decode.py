"""decode of the reference model: tables typed from the standards, worked rows of published decoders, properties over whole code spaces.

Independent code here: the tables, and a reader of binary32, binary16 and bfloat16 codes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import OpenError, OperandError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value
from emu.spec.loader import read
from emu.spec.registry import get, names

ROWS = Path(__file__).parent / "rows"
HALVES = {  # values of codes 0 to 7; codes 8 to F are the same, negated, 8 is -0
    "e2m1": "0 1/2 1 3/2 2 3 4 6",
    "e1m2": "0 1/4 1/2 3/4 1 5/4 3/2 7/4",
    "e3m0": "0 1/4 1/2 1 2 4 8 16",
    "e0m3": "0 1 2 3 4 5 6 7",
}
TWO = Fraction(2)
LANDMARKS = {  # (smallest subnormal, smallest normal, its code, largest finite, its code, number of NaN codes, has -0)
    "e2m1": (TWO**-1, 1, 0x2, 6, 0x7, 0, True),
    "e1m2": (TWO**-2, 1, 0x4, Fraction(7, 4), 0x7, 0, True),
    "e2m3": (TWO**-3, 1, 0x08, Fraction(15, 2), 0x1F, 0, True),
    "e3m2": (TWO**-4, Fraction(1, 4), 0x04, 28, 0x1F, 0, True),
    "e4m3": (TWO**-9, TWO**-6, 0x08, 448, 0x7E, 2, True),
    "e5m2": (TWO**-16, TWO**-14, 0x04, 57344, 0x7B, 6, True),
    "e4m3fnuz": (TWO**-10, TWO**-7, 0x08, 240, 0x7F, 1, False),
    "e5m2fnuz": (TWO**-17, TWO**-15, 0x04, 57344, 0x7F, 1, False),
    "ue4m3": (TWO**-9, TWO**-6, 0x08, 448, 0x7E, 1, False),
    "ue5m3": (TWO**-17, TWO**-14, 0x08, 114688, 0xFE, 1, False),
    "fp16": (TWO**-24, TWO**-14, 0x0400, 65504, 0x7BFF, 2046, True),
    "bf16": (TWO**-133, TWO**-126, 0x0080, 255 * TWO**120, 0x7F7F, 254, True),
}
FLOATS = {"fp32": (8, 23), "bf16": (8, 7), "fp16": (5, 10)}  # exponent and fraction bits


SMALL = [name for name in names("format") if get("format", name).facts.bits <= 16]


def all_codes(fmt: Any) -> range:
    return range(1 << fmt.facts.bits)


def number(value: Value) -> Fraction:
    assert value.kind == "finite"
    return value.signed


def float_value(code: int, name: str) -> Value:
    """Read a code of binary32, binary16 or bfloat16."""
    exp_bits, frac_bits = FLOATS[name]
    sign, magnitude = code >> (exp_bits + frac_bits), code & ((1 << (exp_bits + frac_bits)) - 1)
    field, fraction = magnitude >> frac_bits, magnitude & ((1 << frac_bits) - 1)
    if field == (1 << exp_bits) - 1:
        return Value("nan" if fraction else "inf", sign)
    significand = fraction + ((1 << frac_bits) if field else 0)
    return Value("finite", sign, significand * TWO ** (max(field, 1) - (1 << (exp_bits - 1)) + 1 - frac_bits))


@pytest.mark.parametrize("name", HALVES)
def test_table_of_four_bits(name: str) -> None:
    table = [Fraction(text) for text in HALVES[name].split()]
    fmt = get("format", name)
    assert [decode_code(code, fmt) for code in all_codes(fmt)] == [Value("finite", sign, value) for sign in (0, 1) for value in table]


@pytest.mark.parametrize(("name", "half"), [("int4", 8), ("int8", 128)])
def test_table_of_twos_complement(name: str, half: int) -> None:
    values = [decode_code(code, get("format", name)) for code in range(2 * half)]
    assert [number(value) for value in values] == [*range(half), *range(-half, 0)]
    assert [value.sign for value in values] == [0] * half + [1] * half


def test_tables_of_powers_of_two() -> None:
    e8m0, ue1m0, uint1 = get("format", "e8m0"), get("format", "ue1m0"), get("format", "uint1")
    assert [number(decode_code(code, e8m0)) for code in range(255)] == [TWO ** (code - 127) for code in range(255)]
    assert decode_code(255, e8m0) == Value("nan", 0)
    assert [number(decode_code(code, ue1m0)) for code in (0, 1)] == [1, 2]
    assert [number(decode_code(code, uint1)) for code in (0, 1)] == [0, 1]


def test_table_of_e6m2() -> None:
    values = [number(decode_code(code, get("format", "e6m2"))) for code in range(255)]
    assert values == [Fraction(4 + code % 4, 4) * TWO ** (code // 4 - 48) for code in range(255)]
    assert decode_code(255, get("format", "e6m2")) == Value("nan", 0)


def test_table_of_nf4() -> None:
    words = "BF800000 BF3239B1 BF066B30 BECA32A0 BE91A24D BE3D353F BDBA7871 00000000 3DA2FAFF 3E24CAE3 3E7C04DD 3EAD033A 3EE1A4B8 3F1007AB"
    table = [float_value(int(word, 16), "fp32") for word in (*words.split(), "3F3913B3", "3F800000")]
    assert [decode_code(code, get("format", "nf4")) for code in range(16)] == table


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", LANDMARKS)
def test_landmarks(name: str) -> None:
    smallest, normal, normal_code, largest, largest_code, nans, neg_zero = LANDMARKS[name]
    fmt = get("format", name)
    values = [decode_code(code, fmt) for code in all_codes(fmt)]
    assert values[1] == Value("finite", 0, smallest)
    assert values[normal_code] == Value("finite", 0, Fraction(normal))
    assert values[largest_code] == Value("finite", 0, Fraction(largest))
    assert max(number(value) for value in values if value.kind == "finite") == largest
    assert sum(value.kind == "nan" for value in values) == nans
    assert (Value("finite", 1) in values) == neg_zero


@pytest.mark.exhaustive
def test_infinities() -> None:
    found = {
        name: [code for code in all_codes(get("format", name)) if decode_code(code, get("format", name)).kind == "inf"] for name in SMALL
    }
    assert {name: codes for name, codes in found.items() if codes} == {
        "e5m2": [0x7C, 0xFC],
        "fp16": [0x7C00, 0xFC00],
        "bf16": [0x7F80, 0xFF80],
    }


@pytest.mark.cases(7)
@pytest.mark.parametrize("name", [name for name in SMALL if get("format", name).facts.class_ != "codebook"])
def test_codes_ascend_with_the_magnitude(name: str) -> None:
    """Without the sign bit, in every format but two's complement, where the codes of each sign ascend with the value."""
    fmt = get("format", name)
    half = 1 << (fmt.facts.bits - 1) if fmt.facts.signed != "no" else 1 << fmt.facts.bits
    for start in range(0, 1 << fmt.facts.bits, half):
        values = [decode_code(code, fmt) for code in range(start, start + half)]
        finite = [value.signed if fmt.facts.signed == "twos_complement" else value.magnitude for value in values if value.kind == "finite"]
        assert len(finite) >= 2 and all(low < high for low, high in pairwise(finite))


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", [name for name in SMALL if get("format", name).facts.class_ != "codebook"])
def test_encode_undoes_decode(name: str) -> None:
    """Every code comes back, but NaN codes that are not the canonical one."""
    fmt = get("format", name)
    canonical = {"e5m2": 0x7E, "fp16": 0x7E00, "bf16": 0x7FC0, "e4m3": 0x7F}
    for code in all_codes(fmt):
        value = decode_code(code, fmt)
        if value.kind == "nan":
            assert encode_value(value, fmt) == canonical.get(name, code)
        else:
            assert encode_value(value, fmt) == code


GROUPS = [group for path in sorted(ROWS.glob("*.yaml")) for group in read(path).data["groups"] if group["kind"] == "decode"]


@pytest.mark.parametrize("group", GROUPS, ids=[f"{group['source']}-{group['to']}" for group in GROUPS])
def test_decoded_row(group: dict[str, Any]) -> None:
    """What a published decoder writes as a float code is the value, unless the float cannot hold it; NaN has no sign there."""
    fmt, beyond = get("format", group["source"]), 0
    for row in group["rows"]:
        name, code, written = row.split()
        value, wanted = decode_code(int(code, 16), fmt), float_value(int(written, 16), group["to"])
        if wanted.kind == "inf" and value.kind == "finite":
            beyond += 1
            assert value.magnitude >= 65536 and group["to"] == "fp16", name
        elif wanted.kind == "nan":
            assert value.kind == "nan", name
        else:
            assert value == wanted, name
    assert beyond == (2 if group["to"] == "fp16" else 0)


def test_every_decoded_row_is_here() -> None:
    assert sum(len(group["rows"]) for group in GROUPS) == 106


def test_codes_that_are_none_are_refused() -> None:
    for name, code in (("e2m1", 0x10), ("e4m3", 0x100), ("e2m1", -1), ("ue4m3", 0x100), ("nf4", 16)):
        with pytest.raises(OperandError, match=f"it is no {name} code"):
            decode_code(code, get("format", name))
    for code in range(0x80, 0x100):
        with pytest.raises(OpenError, match="bit 7"):
            decode_code(code, get("format", "ue4m3"))


def test_values_off_the_grid_are_not_encoded() -> None:
    for value in (Value("finite", 0, Fraction(1, 3)), Value("finite", 0, Fraction(8)), Value("inf", 0), Value("nan", 0)):
        with pytest.raises(OperandError, match="is not a e2m1 number"):
            encode_value(value, get("format", "e2m1"))
    with pytest.raises(OperandError, match="is not a int4 number"):
        encode_value(Value("finite", 1), get("format", "int4"))  # no -0 in two's complement


@pytest.mark.parametrize("name", names("format"))
def test_example(name: str) -> None:
    fmt = get("format", name)
    assert fmt.expect
    for row in fmt.expect:
        value, text = decode_code(int(row.code, 16), fmt), row.value
        if text in ("nan", "+inf", "-inf"):
            assert (value.kind, text == "nan" or value.sign == (text == "-inf")) == (text[-3:], True)
        else:
            base, _, power = text.lstrip("-").partition("^")
            assert value == Value("finite", int(text[0] == "-"), TWO ** int(power) if power else Fraction(base))
