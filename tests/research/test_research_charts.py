"""The charts of the research pages: their data are the figures of the records, and the files in git show these data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from research.cost import measure as cost
from research.datapath import study as datapath_study
from research.pages import (
    charts,
    datapath_errors_datapath,
    datapath_errors_quantization,
    datapath_errors_short,
    hardware_cost,
    shrinkage_real,
    shrinkage_tables,
)
from research.pages import training as training_page
from research.pages.charts import Axis, Dots, Mark
from research.reproduction import record as study
from research.train import results as training

CHARTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "datapath_errors_quantization": (datapath_study, datapath_errors_quantization.quantization_chart),
    "datapath_errors_datapath": (datapath_study, datapath_errors_datapath.datapath_chart),
    "datapath_errors_widths": (datapath_study, datapath_errors_short.widths_chart),
    "shrinkage_tensors": (study, shrinkage_tables.tensor_chart),
    "shrinkage_depth": (study, shrinkage_tables.depth_chart),
    "shrinkage_minilm": (study, shrinkage_real.real_chart),
    "hardware_cost": (cost, lambda record: hardware_cost.ratio_chart(hardware_cost.designs_of(record))),
    "training": (training, training_page.loss_curves),
}


@pytest.fixture(params=CHARTS)
def named(request: pytest.FixtureRequest, checkout: Path) -> tuple[str, Any]:
    """Return the name of a chart and its data, from the record in git."""
    source, chart = CHARTS[request.param]
    return request.param, chart(source.read_record(checkout / source.RECORD))


@pytest.mark.cases(3)
def test_the_file_in_git_shows_the_data_of_the_record(named: tuple[str, Any], checkout: Path) -> None:
    name, chart = named
    drawn = (charts.draw_dots if isinstance(chart, Dots) else charts.draw_curves)(chart)
    assert charts.same_data((checkout / "docs" / f"{name}.svg").read_text(encoding="utf-8"), drawn)


def test_every_mark_has_a_row_and_a_series_and_lies_on_the_axis(named: tuple[str, Any]) -> None:
    _, chart = named
    if not isinstance(chart, Dots):
        assert all(len(line) > 3 and min(loss for _, loss in line) > 0 for _, lines in chart.panels for _, line in lines)
        return
    assert len(chart.marks) > 10
    assert {mark.row for mark in chart.marks} == set(range(len(chart.rows)))
    assert {mark.series for mark in chart.marks} == set(range(len(chart.series)))
    assert all(chart.axis.low <= mark.value <= chart.axis.high or (chart.axis.zero and mark.value == 0) for mark in chart.marks)


def test_marks_are_the_figures_of_the_record(checkout: Path) -> None:
    record = study.read_record(checkout / study.RECORD)
    chart = shrinkage_tables.tensor_chart(record)
    grids = {"e2m1_fp32scale": 0, "e1m2_fp32scale": 1}
    wanted = {
        (row["data"], {"ufp4": 1, **grids}[row["recipe"]], row["transform"] is None): row["sqnr_db"]
        for row in record["tensors"]
        if row["recipe"] in grids
    }
    assert {(chart.rows[mark.row], mark.series, mark.filled): mark.value for mark in chart.marks} == wanted and len(wanted) > 10
    runs = training.read_record(checkout / training.RECORD)
    drawn = {(words, name): line for words, lines in training_page.loss_curves(runs).panels for name, line in lines}
    for kept in runs.values():
        for run in kept["runs"]:
            key = (f"{kept['config']['id']}: {run['model']}", run["training"])
            if run["seed"] == 0 and run["training"] in training_page.DRAWN:
                assert drawn.pop(key) == run["curve"]
    assert drawn == {}


def dots(value: float = 1.0) -> Dots:
    axis = Axis("size", 0.1, 10.0, [(1.0, "1")], True, "none")
    return Dots("A & B", axis, ["first", "second"], ["x", "y"], [Mark(0, 0, value), Mark(1, 1, 0.0, False)], ("full", "open"))


def test_the_same_data_give_the_same_bytes_and_other_data_another_digest() -> None:
    first, again, other = charts.draw_dots(dots()), charts.draw_dots(dots()), charts.draw_dots(dots(1.5))
    assert first == again and charts.same_data(first, again) and not charts.same_data(first, other)
    assert "<dc:date>" not in first and "A &amp; B" in first and first.count("data sha256 ") == 1
    assert not charts.same_data("<svg/>", "<svg/>")  # a file without a digest shows nothing that could be compared


def test_zero_has_a_place_of_its_own_on_a_logarithmic_axis() -> None:
    axis = dots().axis
    assert axis.place(0.0) < axis.place(0.01) == axis.low < axis.place(1.0) < axis.place(99.0) == axis.high
    assert Axis("", 0.0, 1.0, []).place(0.0) == 0.0
