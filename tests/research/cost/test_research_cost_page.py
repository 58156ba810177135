"""The tables and the picture of hardware cost: figures of the record, limits that are kept, a share of the rotation that is added."""

from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from research.cost import measure as cost
from research.datapath import study as datapath_study
from research.models import study as models
from research.pages import charts
from research.pages import hardware_cells as page


@pytest.fixture
def record(checkout: Path) -> dict[str, Any]:
    return cost.read_record(checkout / cost.RECORD)


def test_the_smallest_netlist_under_a_limit() -> None:
    points = [["area", 1000000, 10.0, 300.0], ["balanced", 1, 12.0, 200.0], ["delay", 1, 20.0, 100.0]]
    assert [page.smallest(points, limit) for limit in (float("inf"), 300, 299, 150, 99)] == [10, 10, 12, 20, None]
    assert page.fastest(points) == 100
    lines = [
        {"part": "product", "library": page.LIBRARY, "operands": name, "points": rows}
        for name, rows in (("e2m1", points), ("both", points[:2]))
    ]
    assert [page.ratio_of_area({"area": lines}, "product", "both", times) for times in (None, 2.5, 1.0)] == ["1.00", "1.00", "too slow"]
    with pytest.raises(FileError, match="no area of product e1m2 in osu018: run python -m research cost"):
        page.ratio_of_area({"area": lines}, "product", "e1m2")


def test_what_the_page_says_in_words_holds(record: dict[str, Any], checkout: Path) -> None:
    for part in page.SIZED:
        for times in (None, 1.0):
            assert float(page.ratio_of_area(record, part, "e1m2", times)) < 0.9, (part, times)
            assert (
                page.ratio_of_area(record, part, "both", times) == "too slow"
                or float(page.ratio_of_area(record, part, "both", times)) > 1.1
            )
        assert float(page.energy_ratio(record, part, "e1m2", "e1m2", "rotated")) < 0.85
    rows = {row[0]: row for row in page.lane_rows(record, datapath_study.read_record(checkout / datapath_study.RECORD))}
    lost = {name: int(rows[name][3].split()[0]) for name in ("E2M1", "E1M2", "E0M3", "INT4, -7 to 7")}
    assert lost["E1M2"] > 10 * lost["E2M1"] > 0 == lost["E0M3"] == lost["INT4, -7 to 7"]
    bits = {name: int(rows[name][1].split()[-1]) for name in rows}
    assert bits["E1M2"] == bits["E2M1"] - 3 and bits["E0M3"] == bits["E2M1"] + 1


def test_a_rotated_grid_stands_to_the_right_of_the_same_grid_as_given(record: dict[str, Any], checkout: Path) -> None:
    whole = models.read_record(checkout / models.RECORD)
    for cloud in page.clouds(record, whole):
        spots = {(spot.series, spot.filled): spot for spot in cloud.spots}
        assert set(spots) == {(name if key != "both" else "both", turned) for key, name in page.NAMES.items() for turned in (False, True)}
        assert spots["E2M1", False].x == spots["E2M1", False].right == 1
        for name in {name for name, _ in spots}:
            given, rotated = spots[name, False], spots[name, True]
            assert given.x == given.right < rotated.x < rotated.right
        assert spots["both", False].y == spots["E2M1", False].y and spots["both", True].y == spots["E1M2", True].y == spots["E0M3", True].y
    drawn = page.error_area_chart(record, whole)
    assert charts.same_data((checkout / "docs" / "hardware_cost_error.svg").read_text(encoding="utf-8"), drawn)
