"""A chart of marks in rows as SVG text: the same bytes on every machine, no library. Not here: which figures (datapath_page.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

COLORS: Final = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#888888")
LEFT: Final = 215
WIDTH: Final = 900
RIGHT: Final = 20
TOP: Final = 34
ROW: Final = 22
RADIUS: Final = 4


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

    def extent(self, value: float) -> float:
        """Return where a value stands, 0 to 1; 0 and what lies below the axis at the left end."""
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return 0.0
        first = 0.08 if self.zero else 0.0
        at = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return first + (1 - first) * min(max(at, 0.0), 1.0)


def chart(title: str, axis: Axis, rows: Sequence[str], series: Sequence[str], marks: Sequence[Mark], legend: Sequence[str] = ()) -> str:
    """Return an SVG picture: one line per row, marks coloured by series.

    legend: two words for filled and open marks, where both are used.
    """
    bottom = TOP + ROW * len(rows)
    height = bottom + 62
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    lines += _grid(axis, rows, bottom)
    lines += [_mark(mark, axis, len(series)) for mark in marks]
    lines += _legend(series, legend, height - 12)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _x(at: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * at:.1f}"


def _grid(axis: Axis, rows: Sequence[str], bottom: int) -> list[str]:
    lines = []
    for row, text in enumerate(rows):
        y = TOP + ROW * row + ROW // 2
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(text)}</text>')
        lines.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#eee"/>')
    ticks = [(axis.extent(value), text) for value, text in axis.ticks] + ([(0.0, axis.zero)] if axis.zero else [])
    for at, text in ticks:
        lines.append(f'<path d="M{_x(at)} {TOP}V{bottom}" stroke="#ccc"/>')
        lines.append(f'<text x="{_x(at)}" y="{bottom + 14}" text-anchor="middle">{escape(text)}</text>')
    lines.append(f'<text x="{_x(0.5)}" y="{bottom + 30}" text-anchor="middle">{escape(axis.label)}</text>')
    return lines


def _mark(mark: Mark, axis: Axis, count: int) -> str:
    """Draw a mark; the series of a row stand a little apart."""
    color = COLORS[mark.series % len(COLORS)]
    y = TOP + ROW * mark.row + ROW / 2 + (mark.series - (count - 1) / 2) * (ROW - 8) / max(count, 1)
    paint = f'fill="{color}"' if mark.filled else f'fill="white" stroke="{color}"'
    return f'<circle cx="{_x(axis.extent(mark.value))}" cy="{y:.1f}" r="{RADIUS if mark.filled else RADIUS - 1}" {paint}/>'


def _legend(series: Sequence[str], legend: Sequence[str], y: int) -> list[str]:
    lines, x = [], 20
    for number, text in enumerate(series):
        lines.append(f'<circle cx="{x}" cy="{y - 4}" r="{RADIUS}" fill="{COLORS[number % len(COLORS)]}"/>')
        lines.append(f'<text x="{x + 8}" y="{y}" font-size="10">{escape(text)}</text>')
        x += 20 + 58 * len(text) // 10
    for filled, text in zip((True, False), legend, strict=False):
        paint = 'fill="black"' if filled else 'fill="white" stroke="black"'
        lines.append(f'<circle cx="{x}" cy="{y - 4}" r="{RADIUS if filled else RADIUS - 1}" {paint}/>')
        lines.append(f'<text x="{x + 8}" y="{y}" font-size="10">{escape(text)}</text>')
        x += 20 + 58 * len(text) // 10
    return lines
