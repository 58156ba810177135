"""Every code of the 120 formats of the series p3109: published value tables, landmarks and digests, and a ladder of ulps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value
from emu.spec import derive, get
from emu.spec.loader import read
from emu.spec.models import Format
from emu.spec.series import choices, member_id

DATA = read(Path(__file__).with_name("p3109_values.yaml")).data
NAMES = [member_id(get("series", "p3109"), choice) for choice in choices(get("series", "p3109"))]


def values(name: str) -> list[Value]:
    fmt: Format = get("format", name)
    return [decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)]


def text(value: Value) -> str:
    """A value as the tables write it."""
    if value.kind == "nan":
        return "NaN"
    return str(value.signed) if value.kind == "finite" else "-Inf" if value.sign else "Inf"


def number(written: str) -> Fraction:
    """A landmark: n, n/d or n*2^k."""
    whole, _, power = written.partition("*2^")
    return Fraction(whole) * Fraction(2) ** int(power or 0)


def ladder(name: str) -> Iterator[str]:
    """The texts of all codes without the decoding formula: from 0 upwards by ulps, wider by two in each binade, then mirrored."""
    bits, rest = name.removeprefix("binary").split("p")
    k, p, signed, extended = int(bits), int(rest[:-2]), rest[-2] == "s", rest[-1] == "e"
    half = 1 << (k - 1 if signed else k)  # codes from 0 upwards
    rungs = [Fraction(0)]
    for below in range(half - 1):
        binade = below >> (p - 1)  # 0: below the smallest normal number, whose binade has the same ulp
        rungs.append(rungs[-1] + 2 ** max(binade - 1, 0))
    rungs = [rung / rungs[half // 2] for rung in rungs]  # the middle code is one
    up = [str(rung) for rung in rungs]
    if not signed:
        return iter([*up[: half - 1 - extended], *["Inf"] * extended, "NaN"])
    up[-1] = "Inf" if extended else up[-1]
    return iter([*up, "NaN", *(f"-{rung}" for rung in up[1:])])


def test_the_series_has_the_120_formats_of_the_tables() -> None:
    assert len(NAMES) == len(set(NAMES)) == 120
    assert set(NAMES) == {*DATA["tables"], *DATA["landmarks"]}
    assert sum(1 << derive.codes(get("format", name)).bits for name in NAMES) == 13296


@pytest.mark.parametrize("name", DATA["tables"])
def test_a_published_table(name: str) -> None:
    assert [text(value) for value in values(name)] == list(DATA["tables"][name])


@pytest.mark.parametrize("name", DATA["landmarks"])
def test_published_landmarks_and_digest(name: str) -> None:
    row, fmt, found = DATA["landmarks"][name], get("format", name), values(name)
    known = derive.codes(fmt)
    assert fmt.facts.bias == row["bias"] and known.max_code == int(row["max_code"], 16) and known.nan == (int(row["nan"], 16),)
    assert known.inf == (None if row["inf"] == "none" else int(row["inf"], 16))
    assert found[known.max_code].signed == number(row["max"]) and found[1].signed == number(row["smallest"])
    assert found[int(row["one"], 16)].signed == 1
    assert hashlib.sha256("".join(f"{text(value)}\n" for value in found).encode()).hexdigest()[:16] == row["sha256_16"]


@pytest.mark.parametrize("name", NAMES)
def test_every_code_is_a_rung_of_the_ladder_and_codes_back(name: str) -> None:
    fmt: Format = get("format", name)
    found = values(name)
    assert [text(value) for value in found] == list(ladder(name))
    assert [encode_value(value, fmt) for value in found] == list(range(len(found)))
