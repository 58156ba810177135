"""The 4-bit grids side by side, as a page and as docs/reference/grids.svg: points, bins of nearest rounding, means of biased bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from emu.contracts.examples import exact_text
from emu.engines.exact.value import finite
from emu.pages.format_facts import derived
from emu.pages.grid import Bin, Grid, grid, is_uniform
from emu.pages.render import Links, Ref, render
from emu.spec import derive, get, names
from research.pages.charts import as_svg, new_figure
from tools.docs import TEMPLATES

BITS = 4
LINE = 84
_TITLE = "values (black) and the bins that round to them, from 0 to the largest value"
_NOTE = "orange: the mean of the bin (red) lies beyond its value, so what is read back is too small"
_PAINT = {"biased": "#f6c8a8", "even": "#e6eef8", "odd": "#f3f6fa"}


def four_bit_grids() -> dict[str, Grid]:
    """Return the grids of all 4-bit formats by id."""
    found = [(name, grid(get("format", name))) for name in names("format") if derive.codes(get("format", name)).bits == BITS]
    return {name: points for name, points in found if points is not None}


def grids_page() -> str:
    """Return the page."""
    grids = four_bit_grids()
    rows = []
    for name, points in grids.items():
        facts = derived(get("format", name))
        largest, smallest = max(points.values), min(value for value in points.values if value > 0)
        uniform = "yes" if is_uniform(points) else "no"
        rows.append((Ref("format", name), facts["values"], facts["min"], facts["max"], _text(largest / smallest), uniform))
    lines = [line for name, points in grids.items() for line in _line(name, points)]
    return render("grids", Links(""), TEMPLATES, lines=lines, facts=rows, bias=_bias(grids))


def _line(name: str, points: Grid) -> list[str]:
    """Draw the values from 0 to the largest, and the edges of their bins, each at its place."""
    values = [value for value in points.values if value >= 0]
    edges = [(a + b) / 2 for a, b in pairwise(values)]
    top = ["-"] * (LINE + 1)
    below = [" "] * (LINE + 1)
    for value in values:
        top[_place(value, values[-1])] = "|"
    for edge in edges:
        below[_place(edge, values[-1])] = "^"
    return [f"{name:<5} {''.join(top)}", f"{'':<5} {''.join(below)}"]


def _place(value: Fraction, largest: Fraction) -> int:
    return int(value / largest * LINE + Fraction(1, 2))


def _bias(grids: dict[str, Grid]) -> list[tuple[Any, ...]]:
    rows = []
    for name, points in grids.items():
        biased = [item for item in points.bins() if item.bias]
        shares = sorted({item.bias / abs(item.value) for item in biased})
        span = _text(shares[0]) if len(shares) == 1 else f"{_text(shares[0])} to {_text(shares[-1])}" if shares else "0"
        if shares and shares[0].denominator > 99:
            span = "differs from bin to bin"
        at = (
            ", ".join(_text(item.value) for item in biased)
            if biased and biased[0].value.denominator < 99
            else "all but 0"
            if biased
            else "none"
        )
        rows.append((Ref("format", name), f"{len(biased)} of {len(points.bins())}", at, span))
    return rows


def _text(number: Fraction) -> str:
    return exact_text(finite(number)) if number.denominator < 9999 else f"about {int(number)}"


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
