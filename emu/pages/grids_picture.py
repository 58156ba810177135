"""docs/reference/grids.svg: the 4-bit grids on one scale, their bins, and the means that biased bins stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction

from emu.pages.charts import as_svg, new_figure
from emu.pages.grid import Bin, Grid

_TITLE = "values (black) and the bins that round to them, from 0 to the largest value"
_NOTE = "orange: the mean of the bin (red) lies beyond its value, so what is read back is too small"
_PAINT = {"biased": "#f6c8a8", "even": "#e6eef8", "odd": "#f3f6fa"}


@dataclass(frozen=True)
class Row:
    """One grid: values and bins in units of the largest value. bins: (kind, from, to).   means: of the biased bins."""

    name: str
    told: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    bins: tuple[tuple[str, float, float], ...]
    means: tuple[float, ...]


def grid_rows(grids: dict[str, Grid]) -> list[Row]:
    """Return what the picture shows. grids: format id -> grid, in the order of the rows."""
    rows = []
    for name, points in grids.items():
        largest = points.values[-1]
        values = [value for value in points.values if value >= 0]
        told = f"{sum(bool(item.bias) for item in points.bins())} of {len(points.bins())} biased"
        bins = _bins(points, values)
        kinds = ["biased" if item.bias and 0 < item.value < largest else ("even", "odd")[n % 2] for n, item in enumerate(bins)]
        rows.append(
            Row(
                name,
                told,
                tuple(float(value / largest) for value in values),
                tuple(f"{value}" if value.denominator < 99 else "" for value in values),
                tuple(
                    (kind, float(max(item.low, Fraction(0)) / largest), float(item.high / largest))
                    for kind, item in zip(kinds, bins, strict=True)
                ),
                tuple(float(item.mean / largest) for kind, item in zip(kinds, bins, strict=True) if kind == "biased"),
            )
        )
    return rows


def _bins(points: Grid, values: list[Fraction]) -> list[Bin]:
    """Return the bins from 0 upwards; the last one ends at the largest value."""
    found = [item for item in points.bins() if item.value >= 0]
    return [*found, Bin(values[-1], (values[-2] + values[-1]) / 2, values[-1])]


def _with_room(row: Row) -> Iterator[tuple[float, str]]:
    """Yield the values and labels that stand far enough from the one before."""
    free = 0.0
    for value, label in zip(row.values, row.labels, strict=True):
        if value >= free:
            yield value, label
            free = value + 0.03


def grids_picture(grids: dict[str, Grid]) -> str:
    """Return the SVG text. grids: format id -> grid, in the order of the rows."""
    rows = grid_rows(grids)
    figure = new_figure(9, 0.9 * len(rows) + 0.7)
    axes = figure.subplots()
    for place, row in enumerate(rows):
        for kind, low, high in row.bins:
            axes.barh(place, high - low, left=low, height=0.4, color=_PAINT[kind], edgecolor="white")
        axes.vlines(row.values, place - 0.26, place + 0.26, color="#1b2733", linewidth=1.6)
        axes.vlines(row.means, place - 0.14, place + 0.14, color="#c0392b", linewidth=1.6)
        for value, label in _with_room(row):
            axes.text(value, place + 0.42, label, ha="center", fontsize=7, color="#54616d")
    axes.set_yticks(range(len(rows)), [f"{row.name}\n{row.told}" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.5)
    axes.set_xticks([])
    axes.set_frame_on(False)
    axes.tick_params(left=False)
    figure.suptitle(f"{_TITLE}\n{_NOTE}", fontsize=9)
    return as_svg(figure, [asdict(row) for row in rows])
