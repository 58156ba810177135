"""Regime map: along a family of ever wider tensors, which grid loses least, and what it loses to: its range or its resolution.

Range-limited: more than half of the error comes from numbers that became zero or lie beyond the largest value. Resolution-limited: more
than half comes from numbers between two values. The family is lognormal(sigma) of data.py: sigma 0 is normal, 1 has strong outliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from emu.analysis import drawn_tensors as data
from emu.analysis.cells import CODECS, GRIDS, fp32_scaled, recipe_of
from emu.analysis.predict import Scaled, scaled
from emu.analysis.tensor import ROTATION
from emu.base.errors import OperandError
from emu.spec import Recipe, derive, get

SIGMAS: Final = tuple(number / 5 for number in range(9))
SHAPE: Final = (256, 1024)
EQUAL_DB: Final = 0.02  # grids closer than this share a place: the order of a recipe's roundings alone moves an SQNR by 0.01 dB
Tick = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """One grid and codec at one place of the family. bits: of a code.   crest: block_crest of the tensor before a rotation.

    underflow, overflow: shares of the error from numbers that became zero, and from numbers beyond the largest value.
    """

    sigma: float
    crest: float
    element: str
    bits: int
    codec: str
    recipe: str
    transform: str | None
    sqnr_db: float
    alpha_minus_1: float
    underflow: float
    overflow: float

    @property
    def regime(self) -> str:
        """What most of the error comes from: range or resolution."""
        return "range" if self.underflow + self.overflow > 0.5 else "resolution"


@dataclass(frozen=True)
class Winner:
    """The grids that lose least at one place. crest: block_crest of the tensor as it is.

    elements: all within EQUAL_DB of the best.   lead_db: ahead of the next, None without one.
    """

    sigma: float
    crest: float
    bits: int
    codec: str
    transform: str | None
    elements: tuple[str, ...]
    sqnr_db: float
    lead_db: float | None
    regime: str


def point_of(found: Scaled, sigma: float, crest: float, codec: str, transform: str | None) -> Point:
    """Return the point of a scaled tensor. Raises: OperandError (every number zero, or nothing lost)."""
    lost = found.weights * (found.values - found.numbers) ** 2
    signal = float(np.sum(found.weights * found.numbers**2))
    error = float(np.sum(lost))
    if not signal or not error:
        raise OperandError(f"{found.recipe.id}: every number is zero or a value of the grid: there is no regime")
    cross = float(np.sum(found.weights * found.numbers * (found.values - found.numbers)))
    low = float(np.sum(lost[found.values == 0])) / error
    high = float(np.sum(lost[np.abs(found.numbers) > float(found.grid.largest)])) / error
    bits = derive.codes(get("format", found.grid.name)).bits
    decibel = 10 * float(np.log10(signal / error))
    return Point(sigma, crest, found.grid.name, bits, codec, found.recipe.id, transform, decibel, cross / signal, low, high)


def regime_map(
    sigmas: Sequence[float] = SIGMAS,
    *,
    codecs: Sequence[str] = CODECS,
    elements: Sequence[str] | None = None,
    shape: tuple[int, int] = SHAPE,
    seed: int = data.SEED,
    signs: int | None = None,
    engine: str = "auto",
    tick: Tick = lambda _: None,
) -> list[Point]:
    """Measure every grid under every codec along the family, as it is and rotated.

    sigmas: places, ascending.   codecs: of recipes.CELLS; fp32 has every element format of the spec with a recipe.   elements: only these.
    shape: of each tensor, the last axis a multiple of 32.   Raises: OperandError (unknown codec or element).
    Tests: tests/analysis/test_shrinkage_regime.py.
    """
    chosen = list(_recipes(codecs, elements))
    found = []
    for sigma in sigmas:
        x = data.lognormal(sigma, shape, seed)
        crest = data.spread_of(x).block_crest
        for codec, recipe in chosen:
            tick(f"sigma {sigma:g} {recipe.id}")
            for transform in (None, ROTATION):
                part: Any = scaled(x, recipe, transform, None if transform is None else signs, engine=engine, name=f"lognormal_{sigma:g}")
                found.append(point_of(part, sigma, crest, codec, transform))
    return found


def _recipes(codecs: Sequence[str], elements: Sequence[str] | None) -> Iterator[tuple[str, Recipe]]:
    known = fp32_scaled()
    for element in elements or ():
        if element not in known:
            raise OperandError(f"element {element!r} has no recipe with a binary32 scale: one of {', '.join(known)}")
    for codec in codecs:
        cell = known if codec == "fp32" else {element: recipe_of(element, codec) for element in GRIDS}
        yield from ((codec, recipe) for element, recipe in cell.items() if elements is None or element in elements)


def winners(points: Sequence[Point]) -> list[Winner]:
    """Return, per place, width, codec and rotation, the grids with the largest SQNR (those within EQUAL_DB together)."""
    groups: dict[tuple[float, int, str, str | None], list[Point]] = {}
    for point in points:
        groups.setdefault((point.sigma, point.bits, point.codec, point.transform), []).append(point)
    out = []
    for (sigma, bits, codec, transform), group in groups.items():
        best = max(item.sqnr_db for item in group)
        first = [item for item in group if item.sqnr_db >= best - EQUAL_DB]
        rest = [item.sqnr_db for item in group if item.sqnr_db < best - EQUAL_DB]
        lead = best - max(rest) if rest else None
        out.append(
            Winner(sigma, group[0].crest, bits, codec, transform, tuple(item.element for item in first), best, lead, first[0].regime)
        )
    return out


@dataclass(frozen=True)
class Crossing:
    """Where two grids lose the same, between two places of the map. sigma: straight line between them.   wins_above: who leads after it."""

    codec: str
    transform: str | None
    first: str
    second: str
    sigma: float
    wins_above: str


def crossings(points: Sequence[Point], first: str = "e1m2", second: str = "e2m1") -> list[Crossing]:
    """Return where the SQNR of two grids cross along the family, per codec and rotation; none where one leads everywhere."""
    lines: dict[tuple[str, str | None], dict[float, dict[str, float]]] = {}
    for point in points:
        if point.element in (first, second):
            lines.setdefault((point.codec, point.transform), {}).setdefault(point.sigma, {})[point.element] = point.sqnr_db
    out = []
    for (codec, transform), line in lines.items():
        steps = [(sigma, both[first] - both[second]) for sigma, both in sorted(line.items()) if len(both) == 2]
        for (low, before), (high, after) in pairwise(steps):
            if before * after < 0:
                place = low + (high - low) * before / (before - after)
                out.append(Crossing(codec, transform, first, second, place, first if after > 0 else second))
    return out
