"""Codebooks: the loop over cuts (cuts.h) against the composed steps: ties, zeros of both signs, equal entries, wide spans."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emu.engines.c_ref._c import ffi, lib

TIES = (lib.EMU_TIE_EVEN_CODE, lib.EMU_TIE_LOWER, lib.EMU_TIE_AWAY)
LISTS: dict[str, dict[str, Any]] = {
    "a grid": {"bits": 3, "unit_exp": -1, "values": [0, 1, 2, 3, -1, -2, -3, -4]},
    "unsorted with both zeros": {"bits": 3, "unit_exp": 0, "values": [5, 0, -7, 0, 2, 100, -100, 1], "minus_zero_code": 3},
    "equal entries": {"bits": 2, "unit_exp": 2, "values": [3, 3, -3, 0]},
    "positive alone": {"bits": 2, "unit_exp": -8, "values": [9, 4, 1, 30]},
    "wide": {"bits": 2, "unit_exp": -60, "values": [-(2**61) + 1, 0, 1, 2**61 - 1]},
    "far up": {"bits": 1, "unit_exp": 4000, "values": [0, 1]},
    "far down": {"bits": 2, "unit_exp": -4000, "values": [0, 1, -1, 5]},
    "eight bits": {"bits": 8, "unit_exp": -9, "values": [(code * 37 % 256 - 128) * 11 for code in range(256)]},
}
FP32: dict[str, Any] = {"frac": 23, "bias": 127, "fields": 255, "sign": 1 << 31}
BF16: dict[str, Any] = {"frac": 7, "bias": 127, "fields": 255, "sign": 1 << 15}


def code_at(value: Fraction, frac: int, bias: int, fields: int, **_: Any) -> int:
    """The code at or below a positive value, by halving and doubling; the ends stand for what lies outside."""
    exp = 0
    while value >= 2 and exp < fields:
        value, exp = value / 2, exp + 1
    while value < 1 and exp > -fields:
        value, exp = value * 2, exp - 1
    if not 1 <= exp + bias < fields:
        return 1 if exp < 0 else (fields << frac) - 1
    return (exp + bias) << frac | int((value - 1) * (1 << frac))


def near(facts: dict[str, Any], source: dict[str, Any]) -> list[int]:
    """Codes beside every entry, and beside every middle of two."""
    entries = sorted(set(facts["values"]))[:40]
    points = {abs(Fraction(a + b, 2)) for a in entries for b in entries[:12]} - {0}
    codes = {code_at(point * Fraction(2) ** facts["unit_exp"], **source) + step for point in points for step in (-1, 0, 1)}
    return sorted({sign | code for code in codes for sign in (0, source["sign"])})


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("source", "layout"), [("fp32", FP32), ("bf16", BF16)])
def test_the_loop_over_cuts_is_the_steps(c: Any, name: str, source: str, layout: dict[str, Any]) -> None:
    drawn = np.random.default_rng(20260607).integers(0, 2 * layout["sign"], 400).tolist()
    codes = [*near(LISTS[name], layout), *drawn, 0, 1, layout["sign"], layout["fields"] << layout["frac"], 2 * layout["sign"] - 1]
    policy, origin = c.policy("saturate", ("open", 0)), c.format(source)
    single, opened = ffi.new("uint64_t *"), ffi.new("uint8_t *")
    compared = 0
    for tie in TIES:
        target = c.format({"format_class": lib.EMU_CODEBOOK, "tie": tie, **LISTS[name]})
        for mode in ("rne", "rna", "rz", "ru", "rd"):
            how, found = c.rounding(mode), []
            for code in codes:
                assert lib.emu_convert_code(origin, target, how, policy, code, 0, single, opened) == 0
                found.append((single[0], opened[0]))
            assert list(zip(*c.convert(codes, origin, target, how, policy), strict=True)) == found, (tie, mode)
            compared += len(found)
    assert compared > 3000
