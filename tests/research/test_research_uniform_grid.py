"""The architects' chapter: its sentences hold on the records that it prints, and it is there only with all of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from research.pages import uniform_grid as chapter
from research.pages.hardware_cells import ratio_of_area
from research.pages.training_tables import paired

LOW, HIGH = chapter.GRIDS


@pytest.fixture
def found(checkout: Path) -> dict[str, Any]:
    return chapter.study.read_record(checkout / chapter.study.RECORD)


def test_rotation_decides_as_the_first_sentence_says(found: dict[str, Any]) -> None:
    assert all(chapter.lead(found, data, True) > 0 for data in chapter.DATA)
    assert chapter.lead(found, "gaussian", False) > 0 > max(chapter.lead(found, data, False) for data in ("laplace", "lognormal_1.0"))


def test_a_scale_without_fraction_takes_the_lead_or_nearly_all(found: dict[str, Any]) -> None:
    for data in ("gaussian", "lognormal_1.0"):
        for codec, block in {(row["codec"], row["block"]) for row in found["scales"]}:
            best = [
                max(row["sqnr_db"] for row in found["scales"] if chapter._is(row, codec, block, data, element))
                for element in ("e1m2", "e2m1")
            ]
            assert (best[0] - best[1] > 0.3) == (not codec.startswith("e8m0")), (data, codec)


def test_the_area_is_smaller_for_e1m2_and_larger_for_a_unit_of_both(checkout: Path) -> None:
    record = chapter.cost.read_record(checkout / chapter.cost.RECORD)
    for part in ("product", "dot16", "lane_nv_like"):
        ratios = {element: float(ratio_of_area(record, part, element)) for element in ("e1m2", "e0m3", "int4_7", "int4", "both")}
        assert ratios["e1m2"] <= ratios["e0m3"] < 0.9 < ratios["int4_7"] <= ratios["int4"] < 1.1 < ratios["both"], part


def test_the_power_of_pairs() -> None:
    found = paired([1.0, 3.0])  # standard error 1, mean 2
    assert (found["mean"], found["error"], round(found["power"], 2)) == (2, 1, 0.52)


@pytest.mark.exhaustive
def test_no_chapter_without_every_record_and_a_missing_row_is_named(checkout: Path, tmp_path: Path, found: dict[str, Any]) -> None:
    folder = tmp_path / "docs" / "evidence"
    folder.mkdir(parents=True)
    for source in chapter.SOURCES[:-1]:
        shutil.copy(checkout / source.RECORD, folder)
    assert chapter.uniform_grid_pages(tmp_path) == {}
    if not (checkout / chapter.SOURCES[-1].RECORD).is_file():
        pytest.skip("no record of training runs here")
    shutil.copy(checkout / chapter.SOURCES[-1].RECORD, folder)
    assert set(chapter.uniform_grid_pages(tmp_path)) == {chapter.PAGE, *chapter.PICTURES.values()}
    damaged = {**found, "tensors": [row for row in found["tensors"] if row["data"] != "laplace"]}
    (tmp_path / chapter.study.RECORD).write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(FileError, match="laplace"):
        chapter.uniform_grid_pages(tmp_path)
