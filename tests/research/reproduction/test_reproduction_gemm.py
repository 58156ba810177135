"""Products of quantized operands: sums against fractions, the sheet's figures, structure on small shapes, the command."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EmuError, OperandError, ShapeError, SpecError
from research.__main__ import run
from research.reproduction.cells import Pair, Tensor, drawn_pairs, gemm_row, tensor_row
from research.reproduction.data import FP32_ROTATION, ROTATION, draw, rotation_of, sign_mask
from research.reproduction.gemm import gemm
from research.reproduction.likeness import CHUNK, likeness

pytestmark = pytest.mark.usefixtures("study_recipes")

E2M1, E1M2, INT4 = "e2m1_fp32scale", "e1m2_fp32scale", "study_int4_fp32scale"
# M = N = 512, K = 4096, default_rng(11): alpha_A alpha_B, eta, NMSE, SQNR, as the sheet of measurements prints them
GAUSSIAN = {
    E2M1: (0.99187, 0.99172, 0.01779, 17.50),
    E1M2: (1.00122, 1.00063, 0.01468, 18.33),
    INT4: (1.00122, 1.00063, 0.01468, 18.33),
    "study_e2m1_to2": (1.00364, 1.00335, 0.04517, 13.45),
    "study_e2m1_even": (1.00706, 1.00679, 0.08157, 10.88),
}
LOGNORMAL = {E2M1: (0.99641, 18.47, 16.87), E1M2: (0.99553, 15.92, 20.23)}  # eta and SQNR as it is, SQNR rotated
PRINTED = 6e-6  # half a digit of five decimals, and the sum's own rounding
DB = 0.05  # the sheet's tolerance; the rotation's signs are not the sheet's


@pytest.fixture(scope="module")
def small() -> dict[str, Pair]:
    return {pair.name: pair for pair in drawn_pairs(("gaussian", "lognormal_1.0"), (64, 48, 512), 11)}


def test_sums_are_those_of_fractions() -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 10, (3, 50)).astype(np.float32) for _ in range(2))
    exact = [(Fraction(int(a)), Fraction(int(b))) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    found = likeness(y, x)
    signal, dot = sum(a * a for a, _ in exact), sum(a * b for a, b in exact)
    power, error = sum(b * b for _, b in exact), sum((b - a) ** 2 for a, b in exact)
    assert (found.signal, found.power, found.dot, found.error) == (signal, power, dot, error)
    assert found.gain == float(Fraction(dot, signal)) and found.nmse == float(Fraction(error, signal))
    assert found.cosine == float(dot) / math.sqrt(float(signal * power)) and found.norm_ratio == math.sqrt(float(power) / float(signal))


def test_chunks_do_not_show() -> None:
    """Integers: the sums are exact whatever is added first."""
    x = np.arange(2 * CHUNK + 3, dtype=np.float64) % 97
    assert likeness(2 * x, x).gain == 2.0 and likeness(x, x).sqnr_db == math.inf


def test_figures_without_meaning_are_none() -> None:
    zero, one, bad = np.zeros(4), np.ones(4), np.array([1, np.nan, np.inf, 0])
    for found in (likeness(one, zero), likeness(bad, one), likeness(one, bad)):
        assert found.gain is None and found.nmse is None and found.sqnr_db is None and found.norm_ratio is None and found.cosine is None
    assert likeness(zero, one).cosine is None and likeness(zero, one).gain == 0
    with pytest.raises(ShapeError, match="compare arrays of one shape"):
        likeness(one, np.ones(3))


def test_values_on_the_grid_lose_nothing() -> None:
    """Block maxima 6 and integers of the grid: alpha, eta are 1, bit for bit."""
    grid = np.array([6, -6, 4, -4, 3, -3, 2, -2, 1, -1, 0.5, -0.5, 1.5, -1.5, 0, 0], np.float32)
    found = gemm(np.stack([grid, grid[::-1]]), np.stack([grid, 2 * grid, -grid]), E2M1)
    assert found.alpha_product == 1 and found.product.gain == 1 and found.product.nmse == 0 and found.shape == (2, 3, 16)


def test_restricted_grids_lose_the_shrinkage_and_the_resolution(small: dict[str, Pair]) -> None:
    """Normal operands: E2M1 below one, evenly spaced grids above; NMSE near 2.5 and 4.6 times (a tenth for the small sample)."""
    found = {recipe: gemm_row(small["gaussian"], recipe, False) for recipe in GAUSSIAN}
    assert found[E2M1]["eta"] < 0.997 and found[E2M1]["alpha_product"] < 0.997
    assert all(found[recipe]["alpha_product"] > 1 for recipe in ("study_e2m1_to2", "study_e2m1_even"))
    for recipe, ratio in (("study_e2m1_to2", 2.54), ("study_e2m1_even", 4.59)):
        assert abs(found[recipe]["nmse"] / found[E2M1]["nmse"] / ratio - 1) < 0.1


def test_rotation_turns_the_order_round(small: dict[str, Pair]) -> None:
    rows = {
        (recipe, rotated): gemm_row(small["lognormal_1.0"], recipe, rotated)["sqnr_db"]
        for recipe in (E2M1, E1M2)
        for rotated in (False, True)
    }
    assert rows[E2M1, False] > rows[E1M2, False] + 1 and rows[E1M2, True] > rows[E2M1, True] + 1


def test_gains_of_operands_are_those_of_the_rotated_ones_and_the_product_is_the_given_one(small: dict[str, Pair]) -> None:
    """alpha: what the quantizer was given; eta: the product of the tensors as they came, rotation or not."""
    pair = small["lognormal_1.0"]
    for rotated in (False, True):
        row = gemm_row(pair, E2M1, rotated)
        for name, values in (("alpha_a", pair.a), ("alpha_b", pair.b)):
            assert row[name] == tensor_row(Tensor("x", "drawn", values), E2M1, rotated)["alpha"]
    plain, transposed = (gemm(pair.a, pair.b, E2M1, None, *rotation_of(rotated)) for rotated in (False, True))
    assert plain.product.signal == transposed.product.signal and plain.a.signal != transposed.a.signal


def test_int4_is_e1m2_to_the_last_bit(small: dict[str, Pair]) -> None:
    for pair in small.values():
        for rotated in (False, True):
            first, second = (gemm_row(pair, recipe, rotated) for recipe in (E1M2, INT4))
            assert {**first, "recipe": "", "recipe_b": ""} == {**second, "recipe": "", "recipe_b": ""}


def test_a_recipe_that_rotates_by_itself(small: dict[str, Pair]) -> None:
    pair = small["lognormal_1.0"]
    assert gemm(pair.a, pair.b, "ufp4", signs=sign_mask()).product == gemm(pair.a, pair.b, E1M2, None, ROTATION, sign_mask()).product
    with pytest.raises(OperandError, match="rotates by itself"):
        gemm(pair.a, pair.b, "ufp4", transform=ROTATION, signs=0)


def test_engines_give_the_same_figures() -> None:
    (pair,) = drawn_pairs(("lognormal_1.0",), (2, 3, 32), 4)
    for recipe in ("nvfp4_te_ref", "study_e2m1_to2", E1M2):
        assert gemm_row(pair, recipe, True, engine="exact") == gemm_row(pair, recipe, True)


def test_two_recipes() -> None:
    (pair,) = drawn_pairs(("gaussian",), (8, 8, 64), 4)
    mixed = gemm_row(pair, E2M1, False, E1M2)
    assert mixed["alpha_a"] == gemm_row(pair, E2M1, False)["alpha_a"] and mixed["alpha_b"] == gemm_row(pair, E1M2, False)["alpha_b"]


def test_signs_belong_to_the_rotation() -> None:
    assert rotation_of(False) == (None, None) and rotation_of(True) == (ROTATION, 0x289E) and rotation_of(True, FP32_ROTATION)[1] is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", GAUSSIAN)
def test_the_sheet_on_normal_operands(recipe: str) -> None:
    (pair,) = drawn_pairs(("gaussian",), (512, 512, 4096), 11)
    found = gemm_row(pair, recipe, False)
    for name, want in zip(("alpha_product", "eta", "nmse"), GAUSSIAN[recipe], strict=False):
        assert abs(found[name] - want) < PRINTED, name
    assert abs(found["sqnr_db"] - GAUSSIAN[recipe][3]) < 0.006


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", LOGNORMAL)
def test_the_sheet_on_outliers(recipe: str) -> None:
    (pair,) = drawn_pairs(("lognormal_1.0",), (512, 512, 4096), 11)
    eta, plain, rotated = LOGNORMAL[recipe]
    found = gemm_row(pair, recipe, False)
    assert abs(found["eta"] - eta) < 1e-5 and abs(found["sqnr_db"] - plain) < 0.006
    assert abs(gemm_row(pair, recipe, True)["sqnr_db"] - rotated) < DB


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"b": np.ones((2, 16), np.float32)}, ShapeError, "same last axis K"),
        ({"a": np.ones(32, np.float32)}, ShapeError, "two matrices"),
        ({"a": np.ones((2, 24), np.float32), "b": np.ones((2, 24), np.float32), "recipe": "study_e2m1_to2"}, ShapeError, "24"),
        ({"recipe": "e2m1_fp32scales"}, SpecError, "e2m1_fp32scale"),
    ],
)
def test_bad_operands_are_one_error(change: dict[str, Any], error: type[EmuError], words: str) -> None:
    arguments = {"a": np.ones((2, 32), np.float32), "b": np.ones((3, 32), np.float32), "recipe": E2M1, **change}
    with pytest.raises(error, match=words):
        gemm(**arguments)


def test_unknown_data() -> None:
    with pytest.raises(OperandError, match="one of gaussian"):
        draw("normal", (1, 16), np.random.default_rng(0))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, out = tmp_path / "g.svg", tmp_path / "g.json"
    arguments = ["gemm", "--shape", "8", "8", "64", "--data", "gaussian", "-r", E2M1, "-r", "study_e2m1_even"]
    assert run([*arguments, "--plot", str(plot), "--out", str(out)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert plot.read_bytes().startswith(b"<?xml") and len(json.loads(out.read_text())) == 4
    assert run(["--json", *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())
    before = plot.read_bytes()
    assert run([*arguments, "--plot", str(plot), "--force"]) == 0 and plot.read_bytes() == before


def test_misuse_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "there.json"
    taken.write_text("{}")
    for arguments in (
        ["--out", str(taken)],
        ["--plot", str(tmp_path / "x.bmp")],
        ["-r", "nothing"],
        ["--shape", "4", "4", "40", "-r", "study_e2m1_to2"],
        ["--tensors", str(tmp_path / "none.safetensors")],
        ["--tensors", str(taken), "--data", "gaussian"],
    ):
        assert run(["gemm", *arguments]) == 2, arguments
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("emu: "), lines
