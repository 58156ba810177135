"""Block scales of TOSA 1.1 (draft): every worked row in every engine, by the file that docs/tosa.md prints and its table of elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

import emu
from emu.base.errors import OpenError
from emu.spec import load_spec
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[3] / "docs" / "tosa.md").read_text(encoding="utf-8")
(RECIPE,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TABLE = r"^\| `(e\dm\d)` \| `(\w+)` \| ([\d/]+) \| `([\d/]+)` \| `(\w+)` \| (\d+) \| (\d+|none)"
ELEMENTS = {row[0]: row for row in re.findall(TABLE, PAGE, re.MULTILINE)}
ROWS = yaml.safe_load(Path(__file__).with_name("tosa_scales.yaml").read_text(encoding="utf-8"))["rows"]
LARGEST = {
    name: Fraction(text) for name, text in {"e2m1": "7", "e4m3": "464", "e5m2": "61440", "e3m2": "30", "e2m3": "31/4"}.items()
}  # maximum and half a step


def number(text: str) -> float:
    """n, n*2^k, NaN or Inf."""
    if text in ("NaN", "Inf"):
        return float(text)
    whole, _, power = text.partition("*2^")
    return float(Fraction(whole) * Fraction(2) ** int(power or 0))


def scale_by_the_text(amax: float, element: str) -> int:
    """The code by the formula, with exact comparisons."""
    ratio, power = Fraction(amax) / LARGEST[element], -300
    while Fraction(2) ** power < ratio:
        power += 1  # the least power that is no smaller: ceil(log2)
    if element != "e4m3" and Fraction(2) ** power == ratio:
        power += 1  # floor + 1 is one more on a power of two
    return max(power + 127, 0)


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Load the recipe of every element."""
    folder = tmp_path_factory.mktemp("spec")
    for element, block, _, divisor, rule, emax, _ in ELEMENTS.values():
        text = RECIPE
        for old, new in (
            ('"mxfp4_tosa"', f'"tosa_{element}"'), ('block: "mxfp4"', f'block: "{block}"'), ('"7/4"', f'"{divisor}"'),
            ('rule: "floor", emax: 1', f'rule: "{rule}", emax: {emax}'), ('to: "e2m1"', f'to: "{element}"'),
        ):  # fmt: skip
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / f"tosa_{element}.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(folder)
        yield


def scales(amaxima: np.ndarray, element: str, engine: str) -> list[int]:
    x = np.zeros((len(amaxima), 32), np.float32)
    x[:, 5] = amaxima
    return np.ravel(np.asarray(emu.quantize(x, f"tosa_{element}", engine=engine).scales)).tolist()


@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref"])
@pytest.mark.parametrize("element", ["e2m1", "e4m3", "e5m2"])
def test_every_row(element: str, engine: str) -> None:
    any_element = ("any",) if element != "e2m1" else ()  # NaN and Inf, which E2M1 has no code for
    rows = [row for row in ROWS if row["element"] in (element, *any_element)]
    found = scales(np.array([number(row["amax"]) for row in rows], np.float32), element, engine)
    assert found == [row["scale"] for row in rows] and str(len(rows)) == ELEMENTS[element][6]


@pytest.mark.parametrize("element", LARGEST)
def test_beside_every_edge_the_scale_is_as_the_text_says(element: str) -> None:
    """The last number below M * 2^k, that number, the first above it; also where the scale ends at 2^-127."""
    edges = np.array([float(LARGEST[element]) * 2.0**power for power in (-140, -133, -126, -60, -1, 0, 1, 90)], np.float32)
    amaxima = np.concatenate([np.nextafter(edges, np.float32(0)), edges, np.nextafter(edges, np.float32(np.inf))])
    wanted = [scale_by_the_text(float(amax), element) for amax in amaxima]
    assert scales(amaxima, element, "exact") == wanted == scales(amaxima, element, "c_ref")


@pytest.mark.parametrize("text", ["NaN", "Inf"])
def test_an_element_that_the_text_leaves_free_is_refused(text: str) -> None:
    with pytest.raises(OpenError, match="leave open"):
        scales(np.array([number(text)], np.float32), "e2m1", "exact")


def test_the_elements_are_rounded_once_to_nearest() -> None:
    """7 doubles the scale of E2M1, and 7/2 ties to 4; 464 is E4M3's maximum under the scale 1, 465 is 15/8 * 2^7 under 2."""
    for value, element, code in ((7, "e2m1", 6), (464, "e4m3", 0x7E), (465, "e4m3", 0x77)):
        x = np.zeros((1, 32), np.float32)
        x[0, 0] = value
        assert emu.quantize(x, f"tosa_{element}", engine="exact").codes[0, 0] == code


def test_the_rows_are_all_there() -> None:
    assert len(ROWS) == 50 and f"All {len(ROWS)} worked scales" in PAGE and set(ELEMENTS) == set(LARGEST)
