"""Projections of IEEE P3109 interim report 4.0 (draft) in the words that there are: every engine gives the report's code.

A projection that needs a word of its own is left out here, and docs/p3109.md says so: StochasticC, ToOdd beyond the largest number of an
extended format, negative values of an unsigned format but for SatFinite.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite
from emu.spec import Policy, derive, get
from emu.spec.loader import read
from emu.spec.models import Format, Rounding

ROWS = read(Path(__file__).parents[1] / "exact" / "p3109_projections.yaml").data["rows"]
MODES = {
    "NearestTiesToEven": "rne",
    "NearestTiesToAway": "rna",
    "TowardPositive": "ru",
    "TowardNegative": "rd",
    "TowardZero": "rz",
    "ToOdd": "odd",
}
SHIPPED = {"StochasticA": "sr_add8", "StochasticB": "sr_half8"}
BOTH = {"positive": "nan", "negative": "nan"}
INF = {"positive": "inf", "negative": "negative_inf"}


def value_of(text: str) -> Value:
    """An exact value as the rows write it: n, n/d, n*2^k, Inf, -Inf, NaN."""
    if text == "NaN":
        return Value("nan", 0)
    if text.endswith("Inf"):
        return Value("inf", int(text.startswith("-")))
    whole, _, power = text.partition("*2^")
    return finite(Fraction(whole) * Fraction(2) ** int(power or 0))


def rounding_of(row: dict[str, Any]) -> Rounding | None:
    """The rounding that a row asks for, a shipped one with the row's number of random bits; None for StochasticC."""
    if row["round"] in MODES:
        return get("rounding", MODES[row["round"]])  # type: ignore[no-any-return]
    if row["round"] not in SHIPPED:
        return None
    data = get("rounding", SHIPPED[row["round"]]).model_dump(by_alias=True, exclude_none=True)
    data["facts"]["random"] = {"per_element": row["n"]}
    return Rounding.model_validate(data | {"id": f"drawn{row['n']}"})


def policy_of(row: dict[str, Any], fmt: Format, value: Value) -> Policy | None:
    """The policy that a row asks for, in the words of spec/policy; None where they do not say it."""
    infinite, signed = derive.codes(fmt).inf is not None, bool(derive.codes(fmt).sign_bit)
    entry: dict[str, Any] = {"overflow": "saturate", "nan": BOTH}
    if row["sat"] == "SatFinite" or (signed and not infinite):
        entry |= {} if signed else {"negative": "zero"}
    elif value.sign and not signed:
        return None
    elif row["sat"] == "SatPropagate":
        entry |= {"inf": INF if signed else {"positive": "inf", "negative": "inf"}} if infinite else {}
    elif infinite:
        if row["round"] == "ToOdd" and signed:
            return None
        entry |= {"overflow": "ieee_inf"}
    frame = {"kind": "policy", "id": "said", "title": "a row", "status": "proposed", "sources": ()}
    return Policy.model_validate(frame | {"facts": {"with_nan": entry}})


def said(row: dict[str, Any]) -> tuple[Format, Value, Rounding, Policy] | None:
    fmt, value = get("format", row["to"]), value_of(row["x"])
    rounding, policy = rounding_of(row), policy_of(row, fmt, value)
    return None if rounding is None or policy is None else (fmt, value, rounding, policy)


SAID = [row for row in ROWS if said(row) is not None]


def test_how_many_rows_the_words_say() -> None:
    left = [row for row in ROWS if said(row) is None]
    assert (len(ROWS), len(SAID)) == (183, 150)
    drawn, others = [row for row in left if row["round"] == "StochasticC"], [row for row in left if row["round"] != "StochasticC"]
    assert (len(drawn), len(others)) == (15, 18)
    assert all(row["round"] == "ToOdd" or row["x"].startswith("-") for row in others)


@pytest.mark.parametrize(
    "row", SAID, ids=lambda row: f"{row['to']}-{row['round']}-{row['sat']}-{row['x']}-{row.get('r', '')}".replace("/", "_")
)
def test_a_projection(judge: Any, row: dict[str, Any]) -> None:
    found = said(row)
    assert found is not None
    fmt, value, rounding, policy = found
    fp64: Format = get("format", "fp64")
    codes = np.array([encode_value(value, fp64)], np.uint64)
    random = np.array([row["r"]], np.uint64) if rounding.random_bits else None
    compared = judge.convert(codes, fp64, fmt, rounding, policy, random)
    assert compared.gave_bits and {"numpy", "c_ref"} <= set(compared.engines)
    assert int(compared.wanted["codes"][0]) == int(row["code"], 16)
