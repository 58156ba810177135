"""Intervals, gaps and fits: against direct computation, and the t table against its integral."""

import json
import math

import pytest

from emu.base.errors import FileError
from research.train import statistics
from research.train.config import load
from research.train.fit import line, power
from research.train.plan import runs_of
from research.train.results import as_text, finished, read_record, section, thinned
from research.train.statistics import by_cell, estimate, gaps, wins


def t_mass(bound: float, free: int) -> float:
    """P(-bound < t < bound) by the trapezoid rule: 20,000 panels, error below 1e-7 for these smooth densities."""
    factor = math.gamma((free + 1) / 2) / (math.sqrt(free * math.pi) * math.gamma(free / 2))
    density = [factor * (1 + (bound * place / 20000) ** 2 / free) ** (-(free + 1) / 2) for place in range(20001)]
    return 2 * bound / 20000 * (sum(density) - (density[0] + density[-1]) / 2)


def test_the_t_table_holds_95_percent():
    for free, bound in enumerate(statistics._T, 1):
        assert abs(t_mass(bound, free) - 0.95) < 2e-6  # the table has six digits


def test_interval_of_three_is_its_formula():
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == 4.30265 / math.sqrt(3)  # spread 1
    assert (found.count, found.sign) == (3, 0)
    assert estimate([5.0]).half is None
    assert estimate([5.0]).sign == 0
    assert estimate([-1.0, -1.1, -0.9]).sign == -1


def test_gaps_pair_seeds_and_skip_what_is_missing():
    runs = [{"model": "m", "training": name, "seed": seed, "metric": value} for name, seed, value in
            (("bf16", 0, 2.0), ("bf16", 1, 4.0), ("x", 1, 5.0), ("x", 0, 2.0), ("x", 2, 9.0))]  # fmt: skip
    cells = by_cell(runs)
    assert gaps(cells, "m", "x") == [0.0, 25.0]
    assert gaps(cells, "m", "y") == []
    assert wins(cells, "m", "bf16", "x") == (1, 2)


def test_a_line_is_found_again():
    found = line([10.0, 100.0, 1000.0], [3.0, 5.0, 7.0])
    assert abs(found.slope - 2) < 1e-12  # rounding of least squares in binary64
    assert abs(found.at(1e4) - 9) < 1e-11
    assert found.worst < 1e-12
    bent = line([10.0, 100.0, 1000.0], [3.0, 6.0, 7.0])
    assert bent.worst > 0.6
    assert bent.error is not None
    assert abs(bent.error - math.sqrt((1 / 9 + 4 / 9 + 1 / 9) / 2)) < 1e-12
    assert line([10.0, 100.0], [1.0, 2.0]).error is None


def test_a_power_law_is_found_again():
    found = power([1e4, 1e5, 1e6], [8.0, 4.0, 2.0])
    assert abs(found.exponent + math.log10(2)) < 1e-12
    assert found.worst < 1e-9


def test_curves_are_thinned_to_means_of_stretches():
    assert thinned([1.0, 3.0, 5.0, 7.0], 2) == [(2, 2.0), (4, 6.0)]
    assert thinned([1.0, 3.0], 5) == [(1, 1.0), (2, 3.0)]
    assert [step for step, _ in thinned([0.0] * 301)] == [round(301 * place / 25) for place in range(1, 26)]


def fake(folder, one, data="d"):
    place = one.folder(folder)
    place.mkdir(parents=True)
    made = {"torch": "t", "threads": "1", "cpu": "c", "data": data, "training_digest": "0" * 64}
    result = {"identity": made, "model": one.model, "training": one.training, "seed": one.seed, "metric": 0.5}
    (place / "result.json").write_text(
        json.dumps(result | {"bits": "b", "weights": 9, "seconds": 1.0} | {"curve": [3.0, 2.0, 1.0]}), encoding="utf-8"
    )


def test_a_record_is_read_as_it_was_written(tmp_path):
    config = load("student_teacher")
    runs = runs_of(config, ["gaussian", "ufp4"])
    for one in runs[:2]:
        fake(tmp_path, one)
    found = finished(runs, tmp_path)
    assert [one.name for one, _ in found] == ["gaussian/ufp4/seed0", "gaussian/ufp4/seed1"]
    record = {"student_teacher": section(config, "python -m research train", found, len(runs))}
    path = tmp_path / "record.json"
    path.write_text(as_text(record), encoding="utf-8")
    assert read_record(path) == json.loads(json.dumps(record))
    assert record["student_teacher"]["planned"] == 3
    assert record["student_teacher"]["runs"][0]["curve"] == [[1, 3.0], [2, 2.0], [3, 1.0]]


def test_runs_of_two_machines_make_no_record(tmp_path):
    config = load("student_teacher")
    runs = runs_of(config, ["gaussian", "ufp4"])
    fake(tmp_path, runs[0])
    fake(tmp_path, runs[1], data="other")
    with pytest.raises(FileError, match="different libraries or on different data"):
        section(config, "python -m research train", finished(runs, tmp_path), 3)


@pytest.mark.parametrize("text", ["", "[]", '{"a": {}}', '{"a": 1}'])
def test_a_damaged_record_is_one_line(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match="no record of training"):
        read_record(path)
