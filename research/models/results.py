"""What the record of whole models says: ratios of losses with intervals, null pairs, power. Not here: tables (research.pages)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError
from research.models.plan import COMMAND, E1M2, E2M1, GRIDS, MODES, OPERANDS, RECORD, Cell
from research.models.quantizers import SIGN_SETS
from research.models.study import CHOOSE, REPORT

Array = NDArray[np.float64]
DRAWS: Final = 2000
SEED: Final = 17
Z95: Final = 1.959964
Record = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """How one side of a comparison quantizes. rotated: with every sign set that the record has. The rest is as in Cell."""

    recipe: str
    rotated: bool = False
    treatment: str = "none"
    source: str = ""
    only: str = ""
    weights: str = ""

    def cell(self, model: str, operands: str, signs: int | None) -> Cell:
        """Return the cell of one sign set."""
        return Cell(model, operands, self.recipe, signs, self.only, self.treatment, self.source, self.weights)


RAW_E2M1, TURNED_E2M1, RAW_E1M2, TURNED_E1M2 = (Way(recipe, rotated) for recipe in (E2M1, E1M2) for rotated in (False, True))


@dataclass(frozen=True)
class Ratio:
    """Loss of one way over another's, same documents. low, high: 95 % interval, documents and sign sets drawn again, crossed.   null: what
    chance alone makes of the ratio, the root mean square over pairs of sign sets, as a share; None without two sets.   power: how likely
    an effect of this size leaves 1 out of the interval.   signs: sign sets of the two sides, 0 where not rotated.
    """

    value: float
    low: float
    high: float
    null: float | None
    power: float
    documents: int
    signs: tuple[int, int]

    @property
    def settled(self) -> bool:
        """Tell whether the interval leaves 1 out, by more than three times what sign sets alone do."""
        return not self.low <= 1 <= self.high and abs(math.log(self.value)) > 3 * (self.null or 0.0)


def losses(record: Record, model: str, operands: str, way: Way, figure: str = "loss") -> Array:
    """Return a figure of every document: [sign sets, documents], one row where not rotated; no rows where the cell was not run."""
    numbers = range(SIGN_SETS) if way.rotated else (None,)
    names = [way.cell(model, operands, number).name for number in numbers]
    return np.array([record["lines"][name][figure] for name in names if name in record["lines"]], np.float64)


def ratio(first: Array, second: Array) -> Ratio:
    """Compare two ways on the same documents. first, second: as losses gives them. Raises: FileError (a side has no rows)."""
    if not len(first) or not len(second):
        raise FileError(f"{RECORD}: a cell of the comparison is missing: {COMMAND}")
    drawn = np.log(redrawn(first) / redrawn(second))
    value = math.log(first.mean() / second.mean())
    low, high = np.quantile(drawn, (0.025, 0.975))
    spread = float(drawn.std())
    power = 1.0 if not spread else 0.5 * math.erfc((Z95 - abs(value) / spread) / math.sqrt(2))
    nulls = [null_pairs(side) for side in (first, second)]
    known = [null for null in nulls if null is not None]
    signs = (0 if len(first) == 1 else len(first), 0 if len(second) == 1 else len(second))
    return Ratio(math.exp(value), math.exp(low), math.exp(high), max(known, default=None), power, first.shape[1], signs)


def redrawn(side: Array) -> Array:
    """Return means of a figure with its documents and its sign sets drawn again, crossed. Two sides of one shape are drawn alike.

    side: [sign sets, documents], as losses gives it.
    """
    rng = np.random.Generator(np.random.Philox(key=SEED))
    sets, documents = side.shape
    picks = rng.integers(0, documents, (DRAWS, documents))
    rows = rng.integers(0, sets, (DRAWS, sets))
    found: Array = side[rows[:, :, None], picks[:, None, :]].mean((1, 2))
    return found


def null_pairs(side: Array) -> float | None:
    """Return the root mean square of the logarithms of ratios between sign sets of one way; None with fewer than two sets."""
    if len(side) < 2:
        return None
    means = np.log(side.mean(1))
    return float(np.sqrt(2 * means.var(ddof=1)))


def best(record: Record, model: str, operands: str, recipe: str, treatment: str = "none") -> tuple[bool, Array]:
    """Choose rotated or not on the documents of CHOOSE, and return the choice with the losses of those of REPORT."""
    both = [losses(record, model, operands, Way(recipe, rotated, treatment)) for rotated in (False, True)]
    if not all(len(side) for side in both):
        raise FileError(f"{RECORD}: {model} {operands} {recipe} is missing, rotated or not: {COMMAND}")
    rotated = bool(both[1][:, CHOOSE].mean() < both[0][:, CHOOSE].mean())
    return rotated, both[rotated][:, REPORT]


@dataclass(frozen=True)
class GridLoss:
    """The loss of a whole model on one grid. low, high: 95 % interval, documents and sign sets drawn again.   best: is this way, rotated or
    not, the better one of the grid, as chosen on other documents than the loss is reported on.
    """

    grid: str
    rotated: bool
    loss: float
    low: float
    high: float
    best: bool


def grid_losses(record: Record, model: str, operands: str = "wa", treatment: str = "none") -> list[GridLoss]:
    """Return the loss of a model on E2M1 and E1M2, each as given and rotated; a way that was not run is left out.

    E0M3, and INT4 within +-7, hold the values of E1M2 times a power of two: their loss is that of E1M2.
    """
    found: list[GridLoss] = []
    for grid, recipe in zip(("e2m1", "e1m2"), GRIDS, strict=True):
        sides = {rotated: losses(record, model, operands, Way(recipe, rotated, treatment)) for rotated in (False, True)}
        chosen = {rotated: side[:, CHOOSE].mean() for rotated, side in sides.items() if len(side)}
        for rotated in chosen:
            own = sides[rotated][:, REPORT]
            low, high = (float(end) for end in np.quantile(redrawn(own), (0.025, 0.975)))
            found.append(GridLoss(grid, rotated, float(own.mean()), low, high, rotated == min(chosen, key=lambda key: chosen[key])))
    return found


@dataclass(frozen=True)
class Order:
    """One assertion of the short run on MiniLM: with these operands the way `low` loses less than `high`."""

    operands: str
    low: Way
    high: Way

    def cells(self) -> list[Cell]:
        """Return the two cells, with the first sign set where rotated."""
        return [way.cell("minilm", self.operands, 0 if way.rotated else None) for way in (self.low, self.high)]

    def reversal(self, record: Record) -> str:
        """Return what a record has the other way round, or an empty text where the order holds. Raises: KeyError (a cell is missing)."""
        low, high = (mean(record["lines"][cell.name]["loss"]) for cell in self.cells())
        words = [f"{way.recipe}{' rotated' if way.rotated else ''}" for way in (self.low, self.high)]
        return "" if low < high else f"MiniLM {MODES[self.operands]}: {words[0]} loses {low:.4g}, not less than {words[1]} with {high:.4g}"


def orders(record: Record) -> list[Order]:
    """Return the orders of the two grids, as given and rotated, that a record settles: what the short run asserts."""
    found: list[Order] = []
    for operands in MODES:
        for pair in combinations((RAW_E2M1, TURNED_E2M1, RAW_E1M2, TURNED_E1M2), 2):
            sides = [losses(record, "minilm", operands, way) for way in pair]
            if any(not len(side) or (way.rotated and len(side) < 2) for way, side in zip(pair, sides, strict=True)):
                continue
            compared = ratio(*sides)
            if compared.settled:
                found.append(Order(operands, *(pair if compared.value < 1 else pair[::-1])))
    return found


def summary(record: Record) -> list[list[Any]]:
    """Return a row for each way of the record: model, operands, recipe, rotation, part, error, weights, sign sets, mean loss."""
    rows: dict[tuple[str, ...], list[float]] = {}
    for name, line in record["lines"].items():
        model, operands, recipe, way, *rest = name.split("/")
        key = (model, OPERANDS[operands], recipe, "raw" if way == "raw" else "rotated", *rest)
        rows.setdefault(key, []).append(float(np.mean(line["loss"])))
    return [[*key, len(values), f"{mean(values):.5g}"] for key, values in rows.items()]


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)
