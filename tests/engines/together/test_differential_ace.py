"""Outer products of x86 ACE with block scales: every worked row, by the files of docs/ace.md, and drawn operands by two roundings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import emu
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.spec import derive, get, load_spec
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[3] / "docs" / "ace.md").read_text(encoding="utf-8")
ROWS = yaml.safe_load(Path(__file__).with_name("ace_rows.yaml").read_text(encoding="utf-8"))["rows"]
ELEMENTS = {"e4m3": "ace_hf8", "e5m2": "ace_bf8", "i8": "ace_i8"}
ENGINES = ("exact", "numpy", "c_ref")


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("spec")
    for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        (name,) = re.findall(r'^id: "(\w+)"', text, re.MULTILINE)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(folder)
        yield


def dots(a: np.ndarray, b: np.ndarray, sa: np.ndarray, sb: np.ndarray, c: np.ndarray, formats: tuple[str, str], engine: str) -> np.ndarray:
    """Codes of binary32, one for each row of four elements."""
    found = emu.dot(
        a, b, "ace_top4mx", sa[:, None], sb[:, None], c=c.astype(np.uint32).view(np.float32),
        a_format=formats[0], b_format=formats[1], scale_format="e8m0", engine=engine,
    )  # fmt: skip
    return np.asarray(found).view(np.uint32)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_row(engine: str) -> None:
    for row in ROWS:
        a, b, sa, sb = (np.array([row[key]], np.uint8) for key in ("a", "b", "sa", "sb"))
        formats = ELEMENTS[row["a_format"]], ELEMENTS[row["b_format"]]
        found = dots(a, b, sa, sb, np.array([row["c"]]), formats, engine)[0]
        assert found == (0x7FC00000 if row["d"] == "NaN" else row["d"]), row["why"]
    assert f"All {len(ROWS)} worked rows" in PAGE and len(ROWS) == 17


def rounded(number: Fraction) -> int:
    """The binary32 code, to nearest; tiny numbers are zeros of their sign."""
    fp32 = get("format", "fp32")
    code = convert_value(finite(number), fp32, get("rounding", "rne"), derive.policy_entry(get("policy", "ieee"), fp32))
    return code if code & 0x7F800000 else code & 0x80000000


def by_two_roundings(row: tuple[Any, ...], formats: tuple[str, str]) -> int:
    a, b, sa, sb, c = row
    left, right = ([decode_code(int(x), get("format", name)).signed for x in part] for part, name in zip((a, b), formats, strict=True))
    total = sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))
    product = rounded(total * Fraction(2) ** (int(sa) + int(sb) - 254))
    if product & 0x7F800000 == 0x7F800000:
        return product
    terms = [decode_code(code, get("format", "fp32")).signed for code in (product, int(c) if int(c) & 0x7F800000 else 0)]
    return rounded(sum(terms, Fraction(0)))


@pytest.mark.parametrize("formats", [("ace_hf8", "ace_hf8"), ("ace_bf8", "ace_hf8"), ("ace_i8", "ace_i8")])
def test_drawn_operands(formats: tuple[str, str]) -> None:
    """Every other product and C lie near the smallest normal number, where each of the three flushes shows."""
    rng = np.random.default_rng(23)
    count = 256
    a, b = (rng.integers(0, 256, (count, 4), dtype=np.uint8) for _ in range(2))
    power, field = rng.integers(-150, 130, count), rng.integers(0, 0xF0, count)
    power[::2], field[::2] = rng.integers(-146, -118, count // 2), rng.integers(0, 4, count // 2)
    sa = np.clip(rng.integers(0, 255, count), np.maximum(power, 0), np.minimum(254, 254 + power)).astype(np.uint8)
    sb = (power + 254 - sa).astype(np.uint8)
    c = (rng.integers(0, 2, count) << 31 | field << 23 | rng.integers(0, 1 << 23, count)).astype(np.uint32)
    c[::7] = 0
    wanted = [by_two_roundings(row, formats) for row in zip(a, b, sa, sb, c, strict=True)]
    for engine in ENGINES:
        found = dots(a, b, sa, sb, c, formats, engine)
        # which zero comes out is asked of the worked rows
        same = (found == np.array(wanted, np.uint32)) | ((found | np.array(wanted, np.uint32)) & 0x7FFFFFFF == 0)
        assert same.all(), (engine, formats, np.flatnonzero(~same)[:3])
    assert len(set(wanted)) > count // 2
