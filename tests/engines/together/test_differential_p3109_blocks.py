"""Blocks of IEEE P3109 interim report 4.0 (draft): every worked row in every engine, by the three files that docs/p3109.md prints.

A row of other formats, another length or a given scale changes the page's file in that alone.
"""

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
from emu.spec import load_spec
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[3] / "docs" / "p3109.md").read_text(encoding="utf-8")
BLOCK, RECIPE, DATAPATH = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ROWS = yaml.safe_load(Path(__file__).with_name("p3109_blocks.yaml").read_text(encoding="utf-8"))["rows"]
CONVERSIONS = [row for row in ROWS if row["op"] != "BlockDotProduct"]
PRODUCTS = [row for row in ROWS if row["op"] == "BlockDotProduct"]
ENGINES = ("exact", "numpy", "c_ref")
MODES = {"NearestTiesToEven": "rne", "TowardPositive": "ru"}
GIVEN = {0x00: "0", 0x81: "2"}  # scales of ConvertToBlock, as numbers


def value_of(text: str) -> float:
    """A value as the rows write it: n, n*2^k, Inf, -Inf, NaN."""
    if text.lstrip("-") in ("NaN", "Inf"):
        return float(text)
    whole, _, power = text.partition("*2^")
    return float(Fraction(whole) * Fraction(2) ** int(power or 0))


def changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def files_of(row: dict[str, Any]) -> tuple[str, str]:
    """The block and the recipe of a row."""
    element, scale = row["to"].lower(), row["scale_format"].lower()
    block = changed(changed(BLOCK, "[1, 4]", f"[1, {len(row['x'])}]"), "binary4p2sf", element)
    recipe = changed(RECIPE, 'to: "binary4p2sf", overflow: "saturate"', f'to: "{element}", overflow: "{overflow_of(element)}"')
    cast = 'args: ["block_amax"], to: "binary8p1uf", round: "rne", overflow: "saturate"'
    mode = MODES[row["scale_round"][0]] if row["scale_round"] else "rne"
    said = f'args: ["block_amax"], to: "{scale}", round: "{mode}", overflow: "{overflow_of(scale)}"'
    if row["op"] == "ConvertToBlock":
        number = GIVEN[row["scale"]]
        step = f'    - {{out: "given", op: "clamp", args: ["block_amax", "{number}", "{number}"], nan: "drop"}}\n'
        recipe = changed(recipe, '    - {out: "scale", op', step + '    - {out: "scale", op')
        said = said.replace("block_amax", "given")
    return changed(block, "binary8p1uf", scale), changed(recipe, cast, said)


def overflow_of(name: str) -> str:
    return "ieee_inf" if name.endswith("e") else "saturate"


def named(text: str, number: int) -> str:
    """A file of a row: the ids of the page with the number of the row behind them."""
    return re.sub(r'"(p3109_(?:four|max_abs_finite|block_dot))"', rf'"\1_{number}"', text)


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Load the files of all rows at once."""
    folder = tmp_path_factory.mktemp("spec")
    for number, row in enumerate(ROWS):
        texts = (datapath_of(row),) if row in PRODUCTS else files_of(row)
        for text in (named(text, number) for text in texts):
            name = re.search(r'^id: "(\w+)"', text, re.MULTILINE)
            assert name is not None
            (folder / f"{name[1]}.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(folder)
        yield


def datapath_of(row: dict[str, Any]) -> str:
    """The datapath of a row."""
    count = len(row["x_codes"])
    return changed(changed(changed(DATAPATH, "k: 4", f"k: {count}"), "blocks: [4]", f"blocks: [{count}]"), "of: 4", f"of: {count}")


@pytest.mark.parametrize("number", [ROWS.index(row) for row in CONVERSIONS])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_block(number: int, engine: str) -> None:
    row = ROWS[number]
    x = np.array([[value_of(text) for text in row["x"]]], np.float32)
    found = emu.quantize(x, f"p3109_max_abs_finite_{number}", engine=engine)
    assert found.codes.tolist() == [row["codes"]] and np.ravel(np.asarray(found.scales)).tolist() == [row["scale"]], row["why"]


@pytest.mark.parametrize("number", [ROWS.index(row) for row in PRODUCTS])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_dot_product(number: int, engine: str) -> None:
    row = ROWS[number]
    a, b, x_scale, y_scale = (np.array([row[key]], np.uint8) for key in ("x_codes", "y_codes", "sx", "sy"))
    element, scale = row["format"].lower(), row["scale_format"].lower()
    found = emu.dot(
        a, b, f"p3109_block_dot_{number}", x_scale[:, None], y_scale[:, None], a_format=element, b_format=element, scale_format=scale,
        engine=engine,
    )  # fmt: skip
    assert np.asarray(found).view(np.uint32).tolist() == [row["binary32_NearestTiesToEven"]], row["why"]


def test_the_rows_are_all_there() -> None:
    assert (len(CONVERSIONS), len(PRODUCTS)) == (15, 8) and f"All {len(ROWS)} worked rows" in PAGE
