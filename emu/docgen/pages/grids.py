"""The page that compares the 4-bit grids: points on one scale, bins of nearest rounding, and what their unequal widths do to the mean."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from emu.docgen.format_facts import derived
from emu.docgen.grid import Grid, grid, is_uniform
from emu.docgen.markdown import fence, link, table
from emu.docgen.numbers import exact_text
from emu.engines.exact.value import finite
from emu.spec import derive, get, names

BITS = 4
LINE = 84
_INTRO = """A quantizer that maps the largest magnitude of a block to the largest code uses the grid on one scale: below, every grid from 0
to its largest positive value. `|` is a value, `^` the edge between two bins of nearest rounding."""
_BIAS = """With a uniform density inside each bin, the mean of what a code stands for is the middle of its bin. Where the spacing doubles
the value is not in the middle: everything read back there is too small, by the share of the value shown. A uniform grid has no such bin.

What this does to a whole tensor depends on its density. Over a density that is uniform across a whole gap nothing is lost: what rounds
down in the lower half comes back from the upper half. A density that falls with the magnitude, as of weights and activations, has more
mass in the lower halves, and more so the wider the gap: `emu analyze FILE` measures the shrinkage of real tensors, recipe by recipe."""


def four_bit_grids() -> dict[str, Grid]:
    """Return the grids of all 4-bit formats by id."""
    found = [(name, grid(get("format", name))) for name in names("format") if derive.codes(get("format", name)).bits == BITS]
    return {name: points for name, points in found if points is not None}


def grids_page() -> str:
    """Return the page."""
    grids = four_bit_grids()
    lines = ["# The 4-bit grids side by side", "", "![Bins of nearest rounding of the 4-bit grids](grids.svg)", "", _INTRO, ""]
    lines += fence(line for name, points in grids.items() for line in _line(name, points))
    rows = []
    for name, points in grids.items():
        facts = derived(get("format", name))
        largest, smallest = max(points.values), min(value for value in points.values if value > 0)
        rows.append(
            (
                link("format", name, ""),
                str(facts["values"]),
                str(facts["min"]),
                str(facts["max"]),
                _text(largest / smallest),
                "yes" if is_uniform(points) else "no",
            )
        )
    header = ("grid", "values", "min", "max", "max / smallest positive", "uniform")
    lines += ["", *table(header, rows, numbers=range(1, 5)), "", "## Bias of the bins", "", _BIAS, ""]
    return "\n".join([*lines, *_bias(grids)]) + "\n"


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


def _bias(grids: dict[str, Grid]) -> list[str]:
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
        rows.append((link("format", name, ""), f"{len(biased)} of {len(points.bins())}", at, span))
    return table(("grid", "biased bins", "at the values", "bias / value"), rows)


def _text(number: Fraction) -> str:
    return exact_text(finite(number)) if number.denominator < 9999 else f"about {int(number)}"
