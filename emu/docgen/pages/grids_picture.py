"""docs/reference/grids.svg: the 4-bit grids on one scale, their bins, and the means that biased bins stand for. Whole coordinates only."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from emu.docgen.grid import Bin, Grid
from emu.docgen.numbers import exact_text
from emu.engines.exact.value import finite

LEFT, WIDE, ROW, TOP = 130, 760, 74, 46
BAR = 26
LONGEST_LABEL = 4
_STYLE = (
    "text{font:13px sans-serif;fill:#1b2733} .small{font-size:11px;fill:#54616d} .even{fill:#e6eef8} .odd{fill:#f3f6fa} "
    ".biased{fill:#f6c8a8} rect{stroke:#ffffff} .value{stroke:#1b2733;stroke-width:2} .mean{stroke:#c0392b;stroke-width:2}"
)
_NOTE = "orange: the mean of the bin (red) lies beyond its value, so what is read back is too small"


def grids_picture(grids: dict[str, Grid]) -> str:
    """Return the SVG text. grids: format id -> grid, in the order of the rows."""
    height = TOP + ROW * len(grids) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + 40} {height}" role="img">',
        "<title>Bins of nearest rounding of the 4-bit grids</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{LEFT + WIDE + 40}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18">values (black) and the bins that round to them, from 0 to the largest value</text>',
        f'<text class="small" x="{LEFT}" y="34">{_NOTE}</text>',
    ]
    for number, (name, points) in enumerate(grids.items()):
        lines += _row(name, points, TOP + ROW * number)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _row(name: str, points: Grid, y: int) -> list[str]:
    largest = points.values[-1]
    values = [value for value in points.values if value >= 0]
    told = f"{sum(bool(item.bias) for item in points.bins())} of {len(points.bins())} biased"
    lines = [f'<text x="12" y="{y + 18}">{name}</text>', f'<text class="small" x="12" y="{y + 34}">{told}</text>']
    for number, item in enumerate(_bins(points, values)):
        left, right = _x(max(item.low, Fraction(0)), largest), _x(item.high, largest)
        kind = "biased" if item.bias and 0 < item.value < largest else "even" if number % 2 == 0 else "odd"
        lines.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{right - left}" height="{BAR}"/>')
        if kind == "biased":
            lines.append(_mark("mean", _x(item.mean, largest), y + 5, y + BAR - 5))
    lines += [_mark("value", _x(value, largest), y - 3, y + BAR + 3) for value in values]
    return lines + list(_labels(values, y + BAR + 17))


def _bins(points: Grid, values: list[Fraction]) -> list[Bin]:
    """Return the bins from 0 upwards; the last one ends at the largest value."""
    found = [item for item in points.bins() if item.value >= 0]
    return [*found, Bin(values[-1], (values[-2] + values[-1]) / 2, values[-1])]


def _labels(values: list[Fraction], y: int) -> Iterator[str]:
    """Yield the labels that have room."""
    free = 0
    for value in values:
        label = exact_text(finite(value))
        middle, half = _x(value, values[-1]), 4 * len(label)
        if len(label) <= LONGEST_LABEL and middle - half >= free:
            yield f'<text class="small" x="{middle}" y="{y}" text-anchor="middle">{label}</text>'
            free = middle + half + 4


def _mark(kind: str, x: int, top: int, bottom: int) -> str:
    return f'<line class="{kind}" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'


def _x(value: Fraction, largest: Fraction) -> int:
    return LEFT + int(value / largest * WIDE + Fraction(1, 2))
