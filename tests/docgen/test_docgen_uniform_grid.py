"""The architects' chapter: its sentences hold on the records that it prints, and it is there only with all of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from emu.docgen import uniform_grid as chapter
from emu.docgen.uniform_grid_cost import ratio_of
from emu.docgen.uniform_grid_training import chance, training_lines, training_short

LOW, HIGH = chapter.GRIDS


@pytest.fixture
def found(checkout: Path) -> dict[str, Any]:
    return chapter.study.read_record(checkout / chapter.study.RECORD)


def lead(found: dict[str, Any], data: str, rotated: bool) -> float:
    high, low = (chapter.tensor_of(found, data, recipe, rotated)["sqnr_db"] for recipe in (HIGH, LOW))
    return float(high - low)


def test_rotation_decides_as_the_first_sentence_says(found: dict[str, Any]) -> None:
    assert all(lead(found, data, True) > 0 for data in chapter.DATA)
    assert lead(found, "gaussian", False) > 0 > max(lead(found, data, False) for data in ("laplace", "lognormal_1.0"))


def test_a_scale_without_fraction_takes_the_lead_or_nearly_all(found: dict[str, Any]) -> None:
    for data in ("gaussian", "lognormal_1.0"):
        for codec, block in {(row["codec"], row["block"]) for row in found["scales"]}:
            best = [
                max(row["sqnr_db"] for row in found["scales"] if chapter._is(row, codec, block, data, element))
                for element in ("e1m2", "e2m1")
            ]
            assert (best[0] - best[1] > 0.3) == (not codec.startswith("e8m0")), (data, codec)


def test_gates_are_fewer_for_e1m2_and_not_for_int4(checkout: Path) -> None:
    gates = chapter.cost.read_record(checkout / chapter.cost.RECORD)
    for part in ("product", "dot16", "lane_nv_like"):
        assert float(ratio_of(gates, part)) < 0.9 < float(ratio_of(gates, part, "int4"))


def runs(figures: dict[str, float]) -> dict[str, Any]:
    lines = [{"model": "m", "training": name, "seed": seed, "metric": value} for name, value in figures.items() for seed in (0, 1)]
    return {"s": {"command": "python -m research train --config s", "config": {"title": "S, small", "models": {"m": {}}}, "runs": lines}}


def test_training_says_which_way_it_came_out() -> None:
    won = "\n".join(training_short(runs({"bf16": 2.0, "ufp4": 2.1, "e2m1_baseline": 2.2})))
    lost = "\n".join(training_short(runs({"bf16": 2.0, "ufp4": 2.2, "e2m1_baseline": 2.1})))
    assert "2 of 2 (chance: 25 %)" in won and "0 of 2 (chance: 100 %)" in lost
    assert [chance(3, 3), chance(2, 3), chance(0, 3)] == [1 / 8, 4 / 8, 1]
    table = training_lines(runs({"bf16": 2.0, "ufp4": 2.1, "e2m1_baseline": 2.2}))
    assert any("+5.00 ± 0.00" in line and "+10.00 ± 0.00" in line for line in table)


def test_no_chapter_without_every_record_and_a_missing_row_is_named(checkout: Path, tmp_path: Path, found: dict[str, Any]) -> None:
    folder = tmp_path / "docs" / "evidence"
    folder.mkdir(parents=True)
    for source in chapter.SOURCES[:-1]:
        shutil.copy(checkout / source.RECORD, folder)
    assert chapter.uniform_grid_pages(tmp_path) == {}
    if not (checkout / chapter.SOURCES[-1].RECORD).is_file():
        pytest.skip("no record of training runs here")
    shutil.copy(checkout / chapter.SOURCES[-1].RECORD, folder)
    assert set(chapter.uniform_grid_pages(tmp_path)) == {chapter.PAGE}
    damaged = {**found, "tensors": [row for row in found["tensors"] if row["data"] != "laplace"]}
    (tmp_path / chapter.study.RECORD).write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(FileError, match="laplace"):
        chapter.uniform_grid_pages(tmp_path)
