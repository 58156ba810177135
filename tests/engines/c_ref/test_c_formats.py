"""Formats that no file ships: whatever the models accept, C converts as the reference model does, or says that it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.base.errors import EngineError
from emu.engines.c_ref import convert as native
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

ROUNDINGS = [rounding for rounding in (get("rounding", name) for name in names("rounding")) if not isinstance(rounding.facts.random, Word)]


def make(**facts: Any) -> Format:
    """A format of these facts, as a user's file would give it."""
    return Format.model_validate({"kind": "format", "id": "mine", "title": "t", "status": "proposed", "facts": facts, "sources": ()})


def floats(exp: int, frac: int, bias: int, signed: bool, subnormals: bool, nan: int) -> Format:
    """nan: 0 none, 1 ieee with Inf, 2 and 3 that many codes at the top, 4 the code of -0."""
    width = exp + frac
    if nan == 1 and frac and exp > 1:
        specials: dict[str, Any] = {"inf": "ieee", "nan": "ieee"}
    elif nan in (2, 3) and width > 2:
        specials = {"inf": "none", "nan": tuple(f"0x{(1 << width) - 1 - i:X}" for i in range(nan - 1))}
    elif nan == 4 and signed and subnormals:
        specials = {"inf": "none", "nan": (f"0x{1 << width:X}",)}
    else:
        specials = {"inf": "none", "nan": "none"}
    neg_zero = "yes" if signed and subnormals and nan != 4 else "no"
    words = {"signed": "yes" if signed else "no", "subnormals": "yes" if subnormals else "no", "neg_zero": neg_zero}
    return make(**{"class": "float", "exp_bits": exp, "frac_bits": frac, "bias": bias, **words, **specials})


def integers(bits: int, signed: str, unit_exp: int) -> Format:
    return make(**{"class": "integer", "bits": bits, "signed": signed, "unit_exp": unit_exp})


def codebooks(units: list[int], tie: str) -> Format:
    values = tuple(f"{unit}/16" for unit in units)
    return make(**{"class": "codebook", "bits": len(units).bit_length() - 1, "values": values, "tie": tie})


FLOATS = st.builds(floats, st.integers(1, 8), st.integers(0, 23), st.integers(-3, 130), st.booleans(), st.booleans(), st.integers(0, 4))
INTEGERS = st.builds(integers, st.integers(1, 16), st.sampled_from(["twos_complement", "sign_magnitude", "no"]), st.integers(-20, 5))
TIES = st.sampled_from(["even_code", "lower", "away"])
LISTS = st.sampled_from([4, 8, 16]).flatmap(lambda n: st.lists(st.integers(-60, 60), min_size=n - 1, max_size=n - 1))
CODEBOOKS = st.builds(lambda units, tie: codebooks([0, *units], tie), LISTS, TIES)
FP32 = st.one_of(
    st.integers(0, (1 << 32) - 1),
    st.builds(
        lambda code, delta, sign: max(code + delta, 0) | sign,
        st.sampled_from([e << 22 for e in range(230, 290)]),
        st.integers(-2, 2),
        st.sampled_from([0, 1 << 31]),
    ),
    st.builds(
        lambda sixteenths, sign: int(np.float32(sixteenths / 32).view(np.uint32)) | sign, st.integers(0, 130), st.sampled_from([0, 1 << 31])
    ),
)


def drops_zero_sign(fmt: Format) -> bool:
    """A format with a sign and no zero: the reference model has no case of it to compare with."""
    derived = derive.codes(fmt)
    return bool(derived.sign_bit) and not derived.has_zero


def expected(code: int, fmt: Format, rounding: Rounding, entry: EntryCodes, random: int | None) -> int:
    return convert_value(decode_code(code, get("format", "fp32")), fmt, rounding, entry, random)


@settings(max_examples=300)
@given(
    fmt=st.one_of(FLOATS, INTEGERS, CODEBOOKS),
    rounding=st.sampled_from(ROUNDINGS),
    codes=st.lists(FP32, min_size=8, max_size=24),
    data=st.data(),
)
def test_any_format_converts_as_the_reference_model(fmt: Format, rounding: Rounding, codes: list[int], data: st.DataObject) -> None:
    derived, is_codebook = derive.codes(fmt), fmt.facts.class_ == "codebook"
    words = ["saturate"] + ["ieee_nan", "nan"] * (bool(derived.nan) and not is_codebook) + ["ieee_inf", "inf"] * (derived.inf is not None)
    word = data.draw(st.sampled_from(words))
    entry = EntryCodes(word, (0, 1), (derived.nan[0], derived.nan[-1]) if word.endswith("nan") else None)
    random = [data.draw(st.integers(0, (1 << rounding.random_bits) - 1)) for _ in codes] if rounding.random_bits else None
    drawn = None if random is None else np.array(random, np.uint32)
    if is_codebook and derive.needs_code_order(rounding):
        with pytest.raises(EngineError):
            native.convert_with_open(np.array(codes, np.uint32), get("format", "fp32"), fmt, rounding, entry, drawn)
        return
    if drops_zero_sign(fmt):
        codes = [code & 0x7FFFFFFF for code in codes]
    got, unanswered = native.convert_with_open(np.array(codes, np.uint32), get("format", "fp32"), fmt, rounding, entry, drawn)
    assert not unanswered.any()
    assert got.tolist() == [expected(code, fmt, rounding, entry, random[i] if random else None) for i, code in enumerate(codes)]


@settings(max_examples=200)
@given(fmt=st.one_of(FLOATS, INTEGERS, CODEBOOKS), data=st.data())
def test_any_format_decodes_and_encodes_back(fmt: Format, data: st.DataObject) -> None:
    bits = derive.codes(fmt).bits
    codes = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=1, max_size=32))
    sign, significand, lsb_exp, value_class = native.decode(np.array(codes, np.uint64), fmt)
    again = np.array(codes, np.uint64)
    for i, code in enumerate(codes):
        value = decode_code(code, fmt)
        assert (value.kind == "finite") == (value_class[i] <= 2)
        if value.kind == "finite":
            power = int(lsb_exp[i])
            assert value.magnitude.numerator << max(-power, 0) == (int(significand[i]) << max(power, 0)) * value.magnitude.denominator
            assert value.is_zero or int(sign[i]) == value.sign
    back = native.decode(native.decode_to(again, fmt, fmt), fmt)
    assert all((a == b).all() for a, b in zip(back[1:], (significand, lsb_exp, value_class), strict=True))


def test_limits_of_the_descriptors_are_told() -> None:
    one, fp32, rne = np.array([0x3F800000], np.uint32), get("format", "fp32"), get("rounding", "rne")
    thirds = make(**{"class": "codebook", "bits": 1, "values": ("0", "1/3"), "tie": "lower"})
    wide = make(**{"class": "codebook", "bits": 1, "values": ("2^-40", "2^40"), "tie": "lower"})
    two_sided = make(**{"class": "codebook", "bits": 1, "values": ("-1", "1"), "tie": "lower"})
    for fmt in (thirds, wide, two_sided):
        with pytest.raises(EngineError):
            native.convert_with_open(one, fp32, fmt, rne, EntryCodes("saturate", (0, 0)))


def test_minus_zero_of_a_codebook() -> None:
    """Two zeros: a zero takes the one with its sign, and so does what rounds to zero from its side."""
    bits = "00000000 3F800000 80000000 BF800000"
    by_bits = make(**{"class": "codebook", "bits": 2, "values_bits": bits, "values_format": "fp32", "tie": "lower"})
    by_text = make(**{"class": "codebook", "bits": 2, "values": ("0", "1", "-0", "-1"), "tie": "lower"})
    codes = np.array([0, 0x80000000, 0x3E800000, 0xBE800000, 0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000], np.uint32)
    for fmt in (by_bits, by_text):
        got, _ = native.convert_with_open(codes, get("format", "fp32"), fmt, get("rounding", "rne"), EntryCodes("saturate", (0, 0)))
        assert got.tolist() == [0, 2, 0, 2, 1, 3, 0, 3]


@pytest.mark.parametrize(("tie", "wanted"), [("even_code", [0, 0, 2]), ("lower", [1, 0, 2]), ("away", [1, 2, 3])])
def test_ties_of_a_codebook(tie: str, wanted: list[int]) -> None:
    """-1/2 between codes 1 and 0, 1/2 between 0 and 2, 3/2 between 2 and 3: the even one, the lower one of two even ones, or by value."""
    fmt = make(**{"class": "codebook", "bits": 2, "values": ("0", "-1", "1", "2"), "tie": tie})
    codes = np.array([0xBF000000, 0x3F000000, 0x3FC00000], np.uint32)
    got, _ = native.convert_with_open(codes, get("format", "fp32"), fmt, get("rounding", "rne"), EntryCodes("saturate", (0, 0)))
    assert (
        got.tolist() == wanted == [expected(int(code), fmt, get("rounding", "rne"), EntryCodes("saturate", (0, 0)), None) for code in codes]
    )
