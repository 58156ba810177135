"""Regime map: which grid loses least, what it loses to, and where two grids cross."""

import json
from dataclasses import replace

import numpy as np
import pytest

from emu.analysis.predict import scaled
from emu.analysis.tensor import measure
from emu.base.errors import OperandError
from research.__main__ import run
from research.reproduction import regime

SHAPE = (128, 1024)


@pytest.fixture(scope="module")
def points():
    return regime.regime_map((0.0, 0.4, 1.2), codecs=("fp32", "e8m0_floor"), elements=("e2m1", "e1m2", "int4", "nf4"), shape=SHAPE)


def test_points_are_those_of_the_report(points):
    from emu.analysis.drawn_tensors import lognormal

    x = lognormal(0.4, SHAPE)
    for point in points:
        if point.sigma == 0.4:
            report = measure(x, point.recipe, point.transform)
            assert abs(point.sqnr_db - report.sqnr_db) < 1e-5
            assert abs(point.alpha_minus_1 - report.alpha_minus_1) < 1e-6


def test_places_and_cells(points):
    assert {point.sigma for point in points} == {0.0, 0.4, 1.2}
    assert {(point.codec, point.element) for point in points} == {
        *(("fp32", name) for name in ("e2m1", "e1m2", "int4", "nf4")), *(("e8m0_floor", name) for name in ("e2m1", "e1m2", "int4")),
    }  # fmt: skip
    assert {point.bits for point in points} == {4}
    crest = {point.sigma: point.crest for point in points}
    assert 2 < crest[0.0] < crest[0.4] < crest[1.2] < 4


def test_split_of_the_error_by_hand():
    x = np.zeros((1, 32), np.float32)
    x[0, :4] = 6, 0.125, 2.75, -0.25  # scale 1: 0.125 and -0.25 (a tie to even) become 0, 2.75 becomes 3
    x[0, 16] = 1
    found = regime.point_of(scaled(x, "e2m1_fp32scale"), 0.0, 1.0, "fp32", None)
    assert abs(found.underflow - (0.125**2 + 0.25**2) / (0.125**2 + 2 * 0.25**2)) < 1e-15
    assert found.overflow == 0
    assert found.regime == "range"
    assert replace(found, underflow=0.5).regime == "resolution"


def test_overflow_is_seen():
    x = np.tile(np.array([7.5, 1, 0, 0, 1, 1, 1, 1], np.float32), (1, 4))
    found = regime.point_of(scaled(x, "mxfp4_torchao_floor"), 0.0, 1.0, "e8m0_floor", None)
    assert found.overflow == 1  # 7.5 saturates to 6, everything else is on the grid
    assert found.regime == "range"


def test_regimes_of_the_uniform_grid(points):
    """Its error is of range on strong outliers as they are, of resolution everywhere else."""
    limits = {
        (point.sigma, point.transform is not None): point.regime for point in points if (point.element, point.codec) == ("e1m2", "fp32")
    }
    assert [key for key, value in limits.items() if value == "range"] == [(1.2, False)]


def test_winners(points):
    found = {(item.sigma, item.codec, item.transform is not None): item for item in regime.winners(points)}
    assert len(found) == 12
    assert set(found[1.2, "fp32", True].elements) == {"e1m2", "int4"}
    assert found[1.2, "fp32", True].lead_db > 2
    assert found[1.2, "fp32", False].elements == ("nf4",)  # neither of the two: a codebook, where the scale is binary32
    assert found[0.0, "fp32", True].elements == ("nf4",)
    assert found[0.0, "e8m0_floor", False].elements == ("e2m1",)
    alone = regime.winners([points[0]])
    assert alone[0].lead_db is None


def test_crossings(points):
    found = {(item.codec, item.transform is not None): item for item in regime.crossings(points)}
    assert set(found) == {("fp32", False), ("e8m0_floor", True)}  # rotated, E1M2 leads everywhere with binary32 scales
    assert 0 < found["fp32", False].sigma < 0.4
    assert found["fp32", False].wins_above == "e2m1"
    assert 0.4 < found["e8m0_floor", True].sigma < 1.2
    assert found["e8m0_floor", True].wins_above == "e1m2"
    assert regime.crossings(points, "e1m2", "int4") == []


def test_grids_that_are_nearly_equal_share_a_place():
    one = regime.Point(0.0, 2.0, "e1m2", 4, "fp32", "r", None, 21.0, 0.0, 0.0, 0.0)
    rows = [one, replace(one, element="int4", sqnr_db=20.99), replace(one, element="e2m1", sqnr_db=20.5)]
    assert [(item.elements, item.lead_db) for item in regime.winners(rows)] == [(("e1m2", "int4"), 0.5)]


def test_crossing_by_hand():
    """Ahead by 1 dB at 0, behind by 3 dB at 1: they meet at 1/4."""
    one = regime.Point(0.0, 2.0, "e1m2", 4, "fp32", "r", None, 21.0, 0.0, 0.0, 0.0)
    rows = [one, replace(one, element="e2m1", sqnr_db=20.0), replace(one, sigma=1.0, sqnr_db=18.0), replace(one, sigma=1.0, element="e2m1")]
    assert regime.crossings(rows) == [regime.Crossing("fp32", None, "e1m2", "e2m1", 0.25, "e2m1")]


def test_bad_maps():
    with pytest.raises(OperandError, match="element 'e5m9' has no recipe with a binary32 scale"):
        regime.regime_map((0.0,), elements=("e5m9",))
    with pytest.raises(OperandError, match="codecs fp32"):
        regime.regime_map((0.0,), codecs=("e8m0",))
    with pytest.raises(OperandError, match="there is no regime"):
        regime.point_of(scaled(np.ones((1, 16), np.float32), "e2m1_fp32scale"), 0.0, 1.0, "fp32", None)


def test_the_command_prints_draws_and_keeps_the_map(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("research.reproduction.regime.SIGMAS", ())
    monkeypatch.setattr("research.reproduction.regime.regime_map.__defaults__", ((0.0, 1.2),))
    monkeypatch.setitem(regime.regime_map.__kwdefaults__, "shape", (4, 256))
    monkeypatch.setitem(regime.regime_map.__kwdefaults__, "codecs", ("fp32",))
    assert run(["regime", "--plot", "map.svg", "--out", "map.json"]) == 0
    assert "cross at" in capsys.readouterr().err
    record = json.loads((tmp_path / "map.json").read_text())
    assert {row["bits"] for row in record["winners"]} == {4, 6, 8}
