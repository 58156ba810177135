"""The page that compares the 4-bit grids: points on one scale, bins of nearest rounding, and what their unequal widths do to the mean."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from emu.contracts.examples import exact_text
from emu.engines.exact.value import finite
from emu.pages.format_facts import derived
from emu.pages.grid import Grid, grid, is_uniform
from emu.pages.render import Links, Ref, render
from emu.spec import derive, get, names

BITS = 4
LINE = 84


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
    return render("grids", Links(""), lines=lines, facts=rows, bias=_bias(grids))


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
