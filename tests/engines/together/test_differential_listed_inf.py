"""Formats whose infinities are listed codes, as those of the series p3109: every engine decodes every code and converts to each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.engines import run as engine_run
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value
from emu.spec import Policy, derive, get
from emu.spec.models import Format
from emu.spec.series import choices, member_id
from emu.strategies import codes_near, decision_points

NAMES = [member_id(get("series", "p3109"), choice) for choice in choices(get("series", "p3109"))]
WORDS = ("saturate", "inf", "ieee_inf", "nan", "ieee_nan", "wrap")
ENGINES = ("numpy", "c_ref")


def policy_of(word: str) -> Policy:
    """A policy of one overflow word, NaN to the canonical code."""
    both = {"positive": "nan", "negative": "nan"}
    entry = {"overflow": word, "nan": both} | ({"overflow_nan": both} if word.endswith("nan") else {})
    frame = {"kind": "policy", "id": f"all_{word}", "title": word, "status": "proposed", "sources": ()}
    return Policy.model_validate(frame | {"facts": {"with_nan": entry}})


def codes_of(name: str) -> Any:
    return np.arange(1 << derive.codes(get("format", name)).bits, dtype=np.uint8)


def near(fmt: Format, source: Format) -> Any:
    """Codes of a source at and beside every decision point of a format, both signs, and the special ones."""
    sign, top = derive.codes(source).sign_bit, int(derive.codes(source).inf or 0)
    found = {code for point in decision_points(fmt) for code in codes_near(point, source, (-1, 0, 1))}
    found |= {0, top, top - 1, top + 1, top | top >> 1}
    return np.array(sorted(found | {code | sign for code in found}), np.uint32)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_as_a_source(judge: Any, name: str) -> None:
    source, fp32, codes = get("format", name), get("format", "fp32"), codes_of(name)
    compared = judge.convert(codes, source, fp32, get("rounding", "rne"), policy_of("ieee_inf"))
    assert compared.gave_bits and set(ENGINES) <= set(compared.engines)
    values = [decode_code(int(code), source) for code in codes]
    wanted = [encode_value(Value("nan", 0) if value.kind == "nan" else value, fp32) for value in values]
    assert compared.wanted["codes"].tolist() == wanted


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", NAMES)
def test_every_code_goes_round(judge: Any, name: str) -> None:
    fmt, codes = get("format", name), codes_of(name)
    back = judge.convert(codes, fmt, fmt, get("rounding", "rz"), policy_of("saturate" if derive.codes(fmt).inf is None else "inf"))
    assert back.gave_bits and back.wanted["codes"].tolist() == codes.tolist()


@pytest.mark.cases(6, 66)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", NAMES)
def test_conversions_at_every_decision_point(judge: Any, name: str, word: str) -> None:
    fmt, fp32 = get("format", name), get("format", "fp32")
    if word in ("inf", "ieee_inf") and derive.codes(fmt).inf is None:
        pytest.skip(f"{name} has no Inf")
    codes = near(fmt, fp32)
    for mode in ("rne", "rna", "ru", "rd", "rz", "odd"):
        compared = judge.convert(codes, fp32, fmt, get("rounding", mode), policy_of(word))
        assert compared.gave_bits and set(ENGINES) <= set(compared.engines)


def test_infinity_is_its_code_and_overflow_meets_it() -> None:
    fmt, fp32 = get("format", "binary8p3se"), get("format", "fp32")
    codes = np.array([0x7F800000, 0xFF800000, 0x47600000, 0xC7600000, 0x47400000, 0x4757FFFF], np.uint32)  # Inf, 57344, 49152, 55295.996
    for engine in ("exact", *ENGINES):
        found = engine_run.run_convert(codes, fp32, fmt, get("rounding", "rne"), policy_of("inf"), None, engine)
        assert found.tolist() == [0x7F, 0xFF, 0x7F, 0xFF, 0x7E, 0x7F], engine
        found = engine_run.run_convert(codes, fp32, fmt, get("rounding", "rne"), policy_of("saturate"), None, engine)
        assert found.tolist() == [0x7E, 0xFE, 0x7E, 0xFE, 0x7E, 0x7E], engine
