"""Curves of loss over steps as SVG text: the same bytes on every machine, no library. Not here: which runs (training.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from emu.docgen.dot_chart import COLORS

WIDTH: Final = 900
PANEL: Final = 250
LEFT: Final = 60
RIGHT: Final = 20
TOP: Final = 40
GAP: Final = 60
TICKS: Final = 5
Points = Sequence[tuple[float, float]]


def curves(title: str, panels: Sequence[tuple[str, Sequence[tuple[str, Points]]]]) -> str:
    """Return a picture: a panel below the other, a curve for each name, losses on a logarithmic axis.

    panels: (title, [(name, [(step, loss), ...]), ...]); names keep their colour through all panels.
    """
    names = list(dict.fromkeys(name for _, lines in panels for name, _ in lines))
    height = TOP + len(panels) * (PANEL + GAP) + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for place, (words, lines) in enumerate(panels):
        out += _panel(words, lines, names, TOP + place * (PANEL + GAP))
    x = LEFT
    for number, name in enumerate(names):
        out.append(f'<path d="M{x} {height - 10}h16" stroke="{COLORS[number % len(COLORS)]}" stroke-width="2"/>')
        out.append(f'<text x="{x + 20}" y="{height - 6}" font-size="10">{escape(name)}</text>')
        x += 34 + 6 * len(name)
    return "\n".join([*out, "</svg>"]) + "\n"


def _panel(title: str, lines: Sequence[tuple[str, Points]], names: Sequence[str], top: int) -> list[str]:
    """Draw one panel with its axes."""
    points = [point for _, line in lines for point in line]
    last, low, high = max(step for step, _ in points), min(loss for _, loss in points), max(loss for _, loss in points)
    bottom = top + PANEL

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last

    def y(loss: float) -> float:
        return bottom - PANEL * math.log10(loss / low) / math.log10(high / low)

    out = [f'<text x="{LEFT}" y="{top - 6}">{escape(title)}</text>']
    for tick in range(TICKS):
        loss, step = low * (high / low) ** (tick / (TICKS - 1)), last * tick / (TICKS - 1)
        out.append(f'<path d="M{LEFT} {y(loss):.1f}H{WIDTH - RIGHT}" stroke="#eee"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(loss) + 4:.1f}" text-anchor="end" font-size="10">{loss:.3g}</text>')
        out.append(f'<text x="{x(step):.1f}" y="{bottom + 14}" text-anchor="middle" font-size="10">{step:.0f}</text>')
    for name, line in lines:
        path = "L".join(f"{x(step):.1f} {y(loss):.1f}" for step, loss in line)
        color = COLORS[names.index(name) % len(COLORS)]
        out.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.3"/>')
    return out
