"""Projections of IEEE P3109 interim report 4.0 (draft): every worked row in every engine, under the roundings and policies that
docs/p3109.md names for the report's modes; and the commands of that page."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.cli.main import run
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite
from emu.spec import Policy, get
from emu.spec.loader import read
from emu.spec.models import Format, Rounding

ROWS = read(Path(__file__).parents[1] / "exact" / "p3109_projections.yaml").data["rows"]
PAGE = (Path(__file__).parents[3] / "docs" / "p3109.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^\| (\w+) \| `(\w+)` \| (rounding|policy)\b", PAGE, re.MULTILINE)  # the page's own table of projections
MODES = {name: found for name, found, kind in NAMED if kind == "rounding"}
SATURATION = {name: found for name, found, kind in NAMED if kind == "policy"}


def value_of(text: str) -> Value:
    """An exact value as the rows write it: n, n/d, n*2^k, Inf, -Inf, NaN."""
    if text == "NaN":
        return Value("nan", 0)
    if text.endswith("Inf"):
        return Value("inf", int(text.startswith("-")))
    whole, _, power = text.partition("*2^")
    return finite(Fraction(whole) * Fraction(2) ** int(power or 0))


def rounding_of(row: dict[str, Any]) -> Rounding:
    """The rounding that a row asks for; one that draws with the row's number of random bits."""
    rounding: Rounding = get("rounding", MODES[row["round"]])
    if not rounding.random_bits:
        return rounding
    data = rounding.model_dump(by_alias=True, exclude_none=True)
    data["facts"]["random"] = {"per_element": row["n"]}
    return Rounding.model_validate(data | {"id": f"drawn{row['n']}"})


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['to']}-{row['round']}-{row['sat']}-{row['x']}-{row.get('r', '')}".replace("/", "_")
)
def test_a_projection(judge: Any, row: dict[str, Any]) -> None:
    fp64: Format = get("format", "fp64")
    fmt: Format = get("format", row["to"])
    policy: Policy = get("policy", SATURATION[row["sat"]])
    rounding = rounding_of(row)
    codes = np.array([encode_value(value_of(row["x"]), fp64)], np.uint64)
    random = np.array([row["r"]], np.uint64) if rounding.random_bits else None
    compared = judge.convert(codes, fp64, fmt, rounding, policy, random)
    assert compared.gave_bits and {"numpy", "c_ref"} <= set(compared.engines)
    assert int(compared.wanted["codes"][0]) == int(row["code"], 16)


@pytest.mark.parametrize("mode", ["StochasticA", "StochasticB", "StochasticC"])
def test_a_negative_number_under_a_mode_that_draws(judge: Any, mode: str) -> None:
    """binary4p2ue has steps of 1/16 above 0: -1/64 is a quarter of one. What rounds below 0 is NaN, and so is -Inf."""
    fp32: Format = get("format", "fp32")
    fmt: Format = get("format", "binary4p2ue")
    codes = np.array([0xBC800000, 0xBC800000, 0xC0400000, 0xFF800000, 0x80000000, 0x3F800000], np.uint32)
    random = np.array([0, 255, 0, 0, 255, 255], np.uint64)
    compared = judge.convert(codes, fp32, fmt, get("rounding", MODES[mode]), get("policy", "p3109_sat_none"), random)
    assert {"numpy", "c_ref"} <= set(compared.engines)
    assert compared.wanted["codes"].tolist() == [0x0, 0xF, 0xF, 0xF, 0x0, 0x8]


def test_the_rows_try_every_mode_and_saturation() -> None:
    assert len(ROWS) == 183 and f"All {len(ROWS)} worked projections" in PAGE
    assert {row["round"] for row in ROWS} == {*MODES} and {row["sat"] for row in ROWS} == {*SATURATION}


COMMANDS = [line.partition("#")[0].split()[1:] for line in PAGE.splitlines() if line.startswith("emu ")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_the_page_runs(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    said = capsys.readouterr().out
    assert words[1] in said, said
