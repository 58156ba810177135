"""Regime map: along a family of ever wider tensors, which grid loses least, and what it loses to: its range or its resolution.

Range-limited: more than half of the error comes from numbers that became zero or lie beyond the largest value. Resolution-limited: more
than half comes from numbers between two values. The family is lognormal(sigma) of emu.analysis.drawn_tensors: sigma 0 is normal,
1 has strong outliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import IO, Any, Final

import numpy as np

from emu.analysis import drawn_tensors as data
from emu.analysis.cells import CODECS, GRIDS, fp32_scaled, recipe_of
from emu.analysis.plot import COLORS, finish, panels, save
from emu.analysis.predict import Scaled, scaled
from emu.analysis.tensor import ROTATION
from emu.base.errors import OperandError
from emu.spec import Recipe, derive, get

Record = dict[str, Any]
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
    Tests: tests/research/reproduction/test_reproduction_regime.py.
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


def regime_record(**options: Any) -> Record:
    """Return the regime map: points, winners, crossings of E1M2 and E2M1. options: as regime_map. Raises: as it."""
    points = regime_map(**options)
    return {
        "family": "lognormal",
        "points": [{**asdict(point), "regime": point.regime} for point in points],
        "winners": [asdict(item) for item in winners(points)],
        "crossings": [asdict(item) for item in crossings(points)],
    }


def plot_regime(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR along the family for the 4-bit grids under fp32 scales; hollow marks: range-limited. record: of regime_record.

    Raises: OperandError (no points).
    """
    points = [row for row in record["points"] if row["bits"] == 4 and row["codec"] == "fp32"]
    figure, found = panels(2 if points else 0)
    elements = _equal_lines(points)
    for axes, rotated in zip(found, (False, True), strict=True):
        for number, (element, label) in enumerate(elements.items()):
            rows = [row for row in points if row["element"] == element and (row["transform"] is not None) == rotated]
            color = COLORS[number % len(COLORS)]
            axes.plot([row["sigma"] for row in rows], [row["sqnr_db"] for row in rows], "-", color=color, label=label, zorder=2)
            for limit, face in (("range", "white"), ("resolution", color)):
                own = [row for row in rows if row["regime"] == limit]
                axes.plot([row["sigma"] for row in own], [row["sqnr_db"] for row in own], "o", color=color, markerfacecolor=face, zorder=3)
        finish(axes, "rotated (RHT)" if rotated else "as it is", "sigma of the lognormal factor", "SQNR, dB")
    save(figure, found[0], "Which grid loses least (hollow: limited by its range)", stream, kind)


def _equal_lines(points: Sequence[Record]) -> dict[str, str]:
    """Return the first element of every set with equal lines, and the names of the set."""
    lines: dict[str, list[Any]] = {}
    for row in points:
        lines.setdefault(row["element"], []).append((row["sigma"], row["transform"], round(row["sqnr_db"], 1)))
    sets: dict[tuple[Any, ...], list[str]] = {}
    for element, line in lines.items():
        sets.setdefault(tuple(line), []).append(element)
    return {same[0]: " = ".join(same) for same in sets.values()}
