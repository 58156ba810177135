"""When the table method is exact, and that the condition matters: round to odd in bf16, then one look-up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emu import strategies
from emu.base.errors import OperandError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.numpy import convert as npy
from emu.engines.numpy import odd, tables
from emu.spec import derive
from emu.spec.one_table import table_is_exact
from emu.spec.registry import get, names

NEAREST, DIRECTED = ("rne", "rna"), ("rz", "ru", "rd", "odd")
MODES = (*NEAREST, *DIRECTED)
WIDE = ("bf16", "fp16", "fp32", "fp64")
FALSE = {(name, mode) for name in (*WIDE, "nf4") for mode in MODES} | {("int8", mode) for mode in NEAREST}
RNE = get("rounding", "rne")


def entry(name: str) -> derive.EntryCodes:
    return derive.policy_entry(get("policy", "nvidia"), get("format", name))


def odd_by_definition(bits: int) -> int:
    """bf16 code of a binary32 code, by the definition of round to odd."""
    return bits >> 16 | (bits & 0xFFFF != 0)


def table_codes(bits: Any, name: str, mode: str) -> list[int]:
    """What the table method gives for binary32 codes, whether it is exact or not; each table entry by the reference model."""
    fmt, rounding = get("format", name), get("rounding", mode)
    return [convert_value(decode_code(odd_by_definition(int(code)), tables.bf16()), fmt, rounding, entry(name)) for code in bits]


def right_codes(bits: Any, name: str, mode: str) -> list[int]:
    fp32 = get("format", "fp32")
    return [convert_value(decode_code(int(code), fp32), get("format", name), get("rounding", mode), entry(name)) for code in bits]


def test_the_condition_holds_exactly_where_it_should() -> None:
    found = {
        (name, mode)
        for name in names("format")
        for mode in MODES
        if not table_is_exact(get("format", "fp32"), get("format", name), get("rounding", mode), entry(name))
    }
    assert found == FALSE


def test_no_table_for_a_mode_that_draws() -> None:
    drawing = [name for name in names("rounding") if get("rounding", name).random_bits]
    fp64, e2m1 = get("format", "fp64"), get("format", "e2m1")
    assert drawing and not any(table_is_exact(fp64, e2m1, get("rounding", name), entry("e2m1")) for name in drawing)
    with pytest.raises(OperandError, match="needs a random operand"):
        tables.convert_table(tables.bf16(), get("format", "e2m1"), get("rounding", drawing[0]), entry("e2m1"))


@pytest.mark.parametrize(
    ("name", "mode", "code", "by_table", "right"),
    [
        ("int8", "rne", 0x42810001, 64, 65),  # 64.5 + 2^-17 becomes the tie 64.5
        ("int8", "rna", 0x4280FFFF, 65, 64),  # just below 64.5
        ("nf4", "rne", 0x3F5C89D9, 15, 14),
    ],
)
def test_example_against_the_table(name: str, mode: str, code: int, by_table: int, right: int) -> None:
    assert table_codes([code], name, mode) == [by_table]
    assert right_codes([code], name, mode) == [right]
    got = npy.convert(
        np.array([code], np.uint32), get("format", "fp32"), get("format", name), get("rounding", mode), get("policy", "nvidia")
    )
    assert got.tolist() == [right]


@pytest.mark.parametrize(
    ("name", "mode"), sorted(pair for pair in FALSE if pair[0] in ("int8", "nf4", "bf16") and pair not in (("bf16", "odd"), ("nf4", "odd")))
)
def test_where_the_condition_fails_the_table_is_wrong(name: str, mode: str) -> None:
    """Without the condition some code beside a threshold comes out wrong, so the condition is not too strict."""
    fmt = get("format", name)
    if name == "bf16":
        points = [decode_code(code, fmt).magnitude + half for code in (0x3F80, 0x3F81, 0x3F82) for half in (0, Fraction(1, 256))]
    else:
        points = list(strategies.decision_points(name))
    codes = sorted({code for point in points for code in strategies.codes_near(point, "fp32")})
    codes += [code | 1 << 31 for code in codes]
    wrong = [
        code
        for code, mine, right in zip(codes, table_codes(codes, name, mode), right_codes(codes, name, mode), strict=True)
        if mine != right
    ]
    assert wrong


@pytest.mark.parametrize("name", ["int8", "e2m1"])
def test_a_forced_condition_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public path asks the condition: forced to True, INT8 gives the wrong code and E2M1 still the right ones."""
    codes = np.array([0x42810001, 0x3E800001, 0x40A00001], np.uint32)
    right = right_codes(codes, name, "rne")

    def convert() -> list[int]:
        return npy.convert(codes, tables.fp32(), get("format", name), RNE, get("policy", "nvidia")).tolist()

    assert convert() == right
    monkeypatch.setattr(npy, "table_is_exact", lambda *_: True)
    assert (convert() == right) == (name == "e2m1")


def test_nearest_even_into_bf16_is_not_round_to_odd() -> None:
    """The seven worked examples of double rounding: nearest even in bf16 makes false ties, odd does not."""
    codes = np.array([0x3E800001, 0x3F3FFFFF, 0x3FA00001, 0x3FDFFFFF, 0x40200001, 0x405FFFFF, 0x40A00001], np.uint32)
    table = tables.convert_table(tables.bf16(), get("format", "e2m1"), RNE, entry("e2m1"))
    twice = table[(codes + np.uint32(0x7FFF) + (codes >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)]
    assert twice.tolist() == [0, 2, 2, 4, 4, 6, 6]
    assert table_codes(codes, "e2m1", "rne") == right_codes(codes, "e2m1", "rne") == [1, 1, 3, 3, 5, 5, 7]


def test_round_to_odd_of_binary32() -> None:
    uppers = [*range(0, 0x8000, 61), 0x7F7F, 0x7F80, 0x8000, 0xFF7F, 0xFF80, 0x0000, 0x0080]
    codes = np.array([upper << 16 | lower for upper in uppers for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)], np.uint32)
    scratch, index = np.empty(codes.size, np.uint32), np.empty(codes.size, np.intp)
    odd.odd_index(codes, scratch, index)
    assert index.tolist() == [odd_by_definition(code) for code in codes.tolist()]


def test_round_to_odd_of_binary64() -> None:
    """One step from binary64: overflow to 0x7F7F, underflow to 0x0001, subnormals with their sticky bit."""
    fp64, bf16 = get("format", "fp64"), get("format", "bf16")
    to_odd = get("rounding", "odd")
    points = [decode_code(code, bf16).magnitude for code in (0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0x3F80, 0x3F81, 0x7F7E, 0x7F7F)]
    near = sorted({code for point in points for code in strategies.codes_near(point, fp64, (-2, -1, 0, 1, 2, 1 << 20, 1 << 44, 1 << 45))})
    near += [*strategies.edge_codes("fp64"), 0x47F0000000000000, 0x36A0000000000000]
    near += [code | 1 << 63 for code in near]
    finite = [code for code in near if decode_code(code, fp64).kind == "finite"]
    wanted = [convert_value(decode_code(code, fp64), bf16, to_odd, derive.EntryCodes("saturate", (0, 0))) for code in finite]
    assert odd.odd_from_fp64(np.array(finite, np.uint64)).tolist() == wanted
    special = np.array([0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF], np.uint64)
    assert odd.odd_from_fp64(special).tolist() == [0x7F80, 0xFF80, 0x7FC0, 0xFFC0]
    assert len(finite) > 100


@pytest.mark.parametrize("name", names("format"))
def test_decode_table_holds_every_value(name: str) -> None:
    fmt = get("format", name)
    bits = derive.codes(fmt).bits
    if bits > 16:  # binary32, and binary64 where its values are those of binary32
        sample = np.random.default_rng(11).integers(0, 1 << 32, 4096, dtype=np.uint32)
        sample[:6] = 0, 1 << 31, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000
        codes = sample if bits == 32 else sample[~np.isnan(sample.view(np.float32))].view(np.float32).astype(np.float64).view(np.uint64)
    else:
        codes = np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)[:: 1 if bits <= 8 else 97]
        largest = derive.codes(fmt).inf
        if bits == 16 and largest is not None:
            codes = np.union1d(codes, [sign | largest + step for sign in (0, 1 << 15) for step in (-1, 0, 1)]).astype(np.uint16)
    found = npy.to_fp32(codes, fmt)
    for code, value in zip(codes.tolist(), found, strict=True):
        right = decode_code(code, fmt)
        if right.kind == "finite":
            assert Fraction(float(value)) == right.signed and bool(np.signbit(value)) == bool(right.sign)
        else:
            assert (np.isnan(value), np.isinf(value)) == (right.kind == "nan", right.kind == "inf")


@pytest.mark.exhaustive  # a table of 65,536 values, each by itself
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_decode_table_holds_every_value_of_16_bits_in_binary64(name: str) -> None:
    fmt = get("format", name)
    codes = np.arange(1 << 16, dtype=np.uint16)
    found, wanted = npy.decode_narrow(codes, fmt, get("format", "fp64")).view(np.float64), npy.to_fp32(codes, fmt)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.array_equal(found[~np.isnan(found)], wanted[~np.isnan(wanted)])
    assert np.array_equal(np.signbit(found), np.signbit(wanted) & ~np.isnan(wanted))


def test_a_value_beyond_binary32_is_refused() -> None:
    for code in (1, 0x7FEFFFFFFFFFFFFF, 0x3FF0000000000001):
        with pytest.raises(OperandError, match="is no binary32 number"):
            npy.to_fp32(np.array([0, code], np.uint64), get("format", "fp64"))
