"""Range-restricted E2M1 as spec files: levels, rounding as E2M1 rounds, hand-checked rows, one answer in every engine."""

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.spec import derive, get
from research.reproduction.record import RESTRICTED

pytestmark = pytest.mark.usefixtures("study_recipes")

LEVELS = {"study_e2m1_to2": 9, "study_e2m1_to3": 11, "study_e2m1_to4": 13, "study_e2m1_even": 7}
ENGINES = ("numpy", "c_ref")


def values(name: str) -> dict[int, Fraction]:
    fmt = get("format", name)
    return {code: decode_code(code, fmt).signed for code in range(1 << derive.codes(fmt).bits)}


def bits(text: str) -> np.ndarray:
    return np.array([int(word, 16) for word in text.split()], np.uint32)


@pytest.mark.parametrize("name", RESTRICTED)
def test_levels_are_levels_of_e2m1(name: str) -> None:
    found = set(values(name).values())
    assert len(found) == LEVELS[name]
    assert found < set(values("e2m1").values())
    assert found == {-value for value in found}


@pytest.mark.parametrize("top", [2, 3, 4])
def test_it_rounds_as_e2m1_does_below_its_end(top: int) -> None:
    """Every binary16 number up to the end gets the code that E2M1 gives it: ties, zeros and signs included."""
    every = np.arange(1 << 16, dtype=np.uint16)
    x = every[np.abs(np.nan_to_num(every.view(np.float16), nan=9.0, posinf=9.0, neginf=9.0)) <= top]
    assert len(x) > 1 << 14
    restricted = api.convert(x, f"study_e2m1_to{top}", source="fp16")
    assert np.array_equal(restricted, api.convert(x, "e2m1", source="fp16"))


@pytest.mark.parametrize("name", RESTRICTED)
def test_hand_checked_rows(name: str) -> None:
    recipe = get("recipe", name)
    assert recipe.expect
    for row in recipe.expect:
        found = api.quantize(bits(row.x).reshape(1, -1), recipe, source="fp32", engine="exact")
        assert "".join(f"{code:X}" for code in found.codes.reshape(-1)) == row.codes
        assert [f"{code:08X}" for code in found.scales.reshape(-1)] == [row.levels["scale"]]
        assert found.dequantize(np.float32).view(np.uint32).reshape(-1).tolist() == bits(row.values["exact"]).tolist()


@pytest.mark.parametrize("name", RESTRICTED)
def test_engines_agree_where_codes_are_double(name: str) -> None:
    """A codebook with several codes for one value, or with both zeros: every threshold and its neighbours, in every engine."""
    known = sorted({float(value) for value in values(name).values()})
    middles = [(a + b) / 2 for a, b in pairwise(known)]
    around = np.array([*known, *middles, 0.0, -0.0, 100.0, -100.0], np.float32)
    x = np.concatenate([around, np.nextafter(around, np.float32(np.inf)), np.nextafter(around, np.float32(-np.inf))])
    wanted = api.convert(x, name, engine="exact")
    for engine in ENGINES:
        assert np.array_equal(api.convert(x, name, engine=engine), wanted), engine


@pytest.mark.parametrize("name", RESTRICTED)
def test_torch_agrees_where_codes_are_double(name: str) -> None:
    if os.environ.get("EMU_NEED_TORCH") != "1":
        pytest.importorskip("torch", reason="torch is an optional extra")
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.standard_normal(500), [0.0, -0.0, 6, -6, 2, -2, 3, -3, 4, -4, 1, -1, 5, -5, 1.75, -1.75]]).astype(np.float32)
    assert np.array_equal(api.convert(x, name, engine="torch"), api.convert(x, name, engine="exact"))


@pytest.mark.parametrize("name", RESTRICTED)
def test_no_code_beyond_the_end_is_written(name: str) -> None:
    """Codes that mean a value twice are never written by the recipe."""
    x = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)
    codes = set(api.quantize(x, name).codes.reshape(-1).tolist())
    known = values(name)
    first = {
        code
        for code, value in known.items()
        if code == min(other for other, also in known.items() if also == value and (value or other == code))
    }
    assert codes <= first and len({known[code] for code in codes}) == LEVELS[name]
