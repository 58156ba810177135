"""Charts as SVG by matplotlib, and two kinds of them: marks in rows, curves of loss over steps. Not here: which figures (the pages).

What is drawn is data first, and a file says which data it shows.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS: Final = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#888888")
_STYLE: Final[dict[Any, Any]] = {"svg.hashsalt": "emu", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 9}
Points = Sequence[tuple[float, float]]


def digest_of(data: Any) -> str:
    """Return what a chart's file says of its data: the SHA-256 of them as JSON. data: what json.dumps takes."""
    return "data sha256 " + hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def same_data(old: str, new: str) -> bool:
    """Tell whether two SVG files show the same data. How they are drawn may differ: that depends on the version of matplotlib."""
    found = [[line.strip() for line in text.splitlines() if "data sha256 " in line] for text in (old, new)]
    return bool(found[0]) and found[0] == found[1]


def as_svg(figure: Figure, data: Any) -> str:
    """Return a figure as SVG text: the same bytes each time, without a date; its description is the digest of the data that it shows."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Description": digest_of(data)})
    text = out.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"  # a comment may stand first


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, laid out by itself."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True)
class Mark:
    """One mark. row, series: places in the chart's lists.   value: along the axis; on a logarithmic one 0 has a column of its own."""

    row: int
    series: int
    value: float
    filled: bool = True


@dataclass(frozen=True)
class Axis:
    """The axis of values. low, high: its ends.   ticks: (value, text).   zero: on a logarithmic axis, the text of the column for 0."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False
    zero: str = ""

    @property
    def left(self) -> float:
        """Where values of 0 stand on a logarithmic axis: well below its low end."""
        return self.low / 4 if self.logarithmic and self.zero else self.low

    def place(self, value: float) -> float:
        """Return where a value is drawn: on a logarithmic axis 0 has its own column, and what lies outside stands at the ends."""
        if not self.logarithmic:
            return value
        return self.left if value <= 0 else min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Dots:
    """Marks in rows, coloured by series. legend: two words for filled and open marks, where both are used."""

    title: str
    axis: Axis
    rows: Sequence[str]
    series: Sequence[str]
    marks: Sequence[Mark]
    legend: Sequence[str] = ()


@dataclass(frozen=True)
class Curves:
    """Panels below one another, a curve for each name, losses on a logarithmic axis. panels: (title, [(name, [(step, loss)])])."""

    title: str
    panels: Sequence[tuple[str, Sequence[tuple[str, Points]]]]

    @property
    def names(self) -> list[str]:
        """The names of all curves; each keeps its colour through all panels."""
        return list(dict.fromkeys(name for _, lines in self.panels for name, _ in lines))


def draw_dots(dots: Dots) -> str:
    """Return the picture as SVG text; the series of a row stand a little apart."""
    figure = new_figure(9, 0.24 * len(dots.rows) + 1.2)
    axes = figure.subplots()
    axis, count = dots.axis, len(dots.series)
    for number, name in enumerate(dots.series):
        color = COLORS[number % len(COLORS)]
        for filled, words in zip((True, False), (dots.legend or ("",)), strict=False):
            found = [mark for mark in dots.marks if mark.series == number and mark.filled == filled]
            heights = [mark.row + (number - (count - 1) / 2) * 0.6 / max(count, 1) for mark in found]
            face = color if filled else "white"
            label = f"{name}, {words}" if words else name
            places = [axis.place(mark.value) for mark in found]
            axes.scatter(places, heights, s=16, facecolors=face, edgecolors=color, label=label, zorder=3)
    if axis.logarithmic:
        axes.set_xscale("log")
        axes.minorticks_off()
    ticks = ([(axis.left, axis.zero)] if axis.zero else []) + list(axis.ticks)
    axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    axes.set_yticks(range(len(dots.rows)), dots.rows)
    axes.set_ylim(len(dots.rows) - 0.4, -0.6)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_xlabel(axis.label)
    axes.set_title(dots.title, loc="left", fontsize=11, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return as_svg(figure, asdict(dots))


def draw_curves(curves: Curves) -> str:
    """Return the picture as SVG text."""
    figure = new_figure(9, 3.0 * len(curves.panels) + 0.8)
    names = curves.names
    found = figure.subplots(len(curves.panels), squeeze=False)[:, 0]
    for axes, (words, lines) in zip(found, curves.panels, strict=True):
        for name, line in lines:
            axes.plot(*zip(*line, strict=True), color=COLORS[names.index(name) % len(COLORS)], linewidth=1.2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.yaxis.set_minor_formatter("{x:.3g}")
        axes.set_title(words, loc="left", fontsize=9)
        axes.grid(color="#eeeeee", linewidth=0.6)
    for number, name in enumerate(names):
        found[0].plot([], [], color=COLORS[number % len(COLORS)], label=name)
    figure.suptitle(curves.title, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return as_svg(figure, asdict(curves))


@dataclass(frozen=True)
class Spot:
    """One mark of a panel. series: its colour.   filled: as given or changed.   x, right: where it stands, and how far its line goes."""

    series: str
    filled: bool
    x: float
    right: float
    y: float


@dataclass(frozen=True)
class Cloud:
    """One panel of marks over two axes that begin near the smallest figures."""

    title: str
    spots: Sequence[Spot]


def draw_clouds(title: str, x_label: str, clouds: Sequence[Cloud]) -> str:
    """Return the picture as SVG text, panels beside one another; filled marks are rotated, open ones as given."""
    figure = new_figure(9, 4.2)
    series = list(dict.fromkeys(spot.series for cloud in clouds for spot in cloud.spots))
    for axes, cloud in zip(figure.subplots(1, len(clouds), squeeze=False)[0], clouds, strict=True):
        for spot in cloud.spots:
            color = COLORS[series.index(spot.series) % len(COLORS)]
            axes.plot((spot.x, spot.right), (spot.y, spot.y), color=color, linewidth=1)
            axes.scatter([spot.x], [spot.y], s=30, facecolors=color if spot.filled else "white", edgecolors=color, zorder=3)
        axes.set_title(cloud.title, loc="left", fontsize=9)
        axes.set_xlabel(x_label, fontsize=8)
        axes.grid(color="#dddddd", linewidth=0.6)
    for number, name in enumerate(series):
        figure.axes[0].scatter([], [], color=COLORS[number % len(COLORS)], label=name)
    figure.axes[0].scatter([], [], facecolors="white", edgecolors="#888888", label="open: as given")
    figure.axes[0].scatter([], [], color="#888888", label="filled: rotated")
    figure.suptitle(title, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return as_svg(figure, [asdict(cloud) for cloud in clouds])
