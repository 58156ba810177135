"""What the record of gradients says: one training against another over windows, null draws. Not here: tables (research.pages)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from research.forks.statistics import Outcome, outcome, rms
from research.models.gradients import FORWARDS, TWICE, WINDOWS, Cell

MARGIN: Final = 3  # null spreads from none that an order needs to be asserted again in a short run
FIGURES: Final = (*FORWARDS, "fprop", "dgrad", "wgrad")
ORDERS: Final = (
    ("ufp4", "e2m1_baseline"),
    ("ufp4", "e1m2_no_rht"),
    ("e2m1_baseline", "e2m1_rht3"),
    ("e2m1_baseline", "e1m2_no_rht"),
    ("e2m1_baseline", "nvfp4_te_train"),
)
Record = dict[str, Any]


def lines_of(record: Record, training: str, draw: int = 0) -> dict[int, dict[str, Any]]:
    """Return window -> line of a training."""
    names = {window: Cell(training, window, draw).name for window in range(WINDOWS)}
    return {window: record["lines"][name] for window, name in names.items() if name in record["lines"]}


def nmse(line: dict[str, Any], figure: str, part: str = "") -> float:
    """Return an NMSE of a line: of the gradient of all weights on a forward pass, or of a product; part: of this one, else of all."""
    if figure in FORWARDS:
        return float(line["gradient"][figure][part or "all"][0])
    values = [figures[0] for name, figures in line["products"][figure].items() if part in ("", name)]
    return math.fsum(values) / len(values)


def logarithms(record: Record, figure: str, first: tuple[str, int], second: tuple[str, int], part: str = "") -> list[float]:
    """Return log(NMSE of the first / NMSE of the second), one a window that has both. first, second: training and draw."""
    left, right = lines_of(record, *first), lines_of(record, *second)
    return [math.log(nmse(left[n], figure, part) / nmse(right[n], figure, part)) for n in left if n in right]


def compared(record: Record, figure: str, better: str, worse: str, part: str = "") -> Outcome:
    """Return the comparison of two trainings, a value a window; negative where the first has the smaller error."""
    return outcome(logarithms(record, figure, (better, 0), (worse, 0), part))


def null_spread(record: Record, figure: str) -> float:
    """Return what other signs and random bits alone do to the logarithm of an NMSE: the root mean square over windows and trainings."""
    return rms([value for name in TWICE for value in logarithms(record, figure, (name, 1), (name, 0))])


@dataclass(frozen=True)
class Order:
    """An order that the full record established. margin: in null spreads.   values: logarithms in the short run, a window each."""

    text: str
    margin: float
    values: Sequence[float]

    @property
    def holds(self) -> bool:
        """Tell whether it came out again."""
        return bool(self.values) and all(value < 0 for value in self.values)


def asserted(full: Record, short: Record) -> list[Order]:
    """Return the orders that the full record established by more than MARGIN null spreads, with what a short record says of them.

    Only orders of which the short record has both trainings.
    """
    found = []
    for better, worse in ORDERS:
        for figure in FIGURES:
            values = logarithms(short, figure, (better, 0), (worse, 0))
            margin = -compared(full, figure, better, worse).mean / null_spread(full, figure)
            if values and margin > MARGIN:
                found.append(Order(f"{figure}: {better} below {worse}", margin, values))
    return found
