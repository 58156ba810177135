"""What the forks of a record say: comparisons over clusters, nulls, lengths. Not here: the tests themselves (statistics.py)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from research.forks.plan import BASE
from research.forks.statistics import Outcome, outcome, rms

MARGIN: Final = 3  # null spreads from none that an order needs to be asserted again in a short run
Line = dict[str, Any]
Key = tuple[str, int, int]  # model, seed and fork
Cluster = tuple[str, int]  # model and seed of a BF16 run


def figure(line: Line, what: str) -> float:
    """Return a figure of a fork: kl or gap at its last length, or the NMSE of its gradient on an exact forward pass."""
    return float(line["gradient"]["exact"][0] if what == "gradient" else line[what][-1])


def chosen(lines: Iterable[Line], training: str, draw: int = 0, model: str | None = None, long: bool = False) -> dict[Key, Line]:
    """Return (model, seed, fork) -> line of a training."""
    return {
        (line["model"], line["seed"], line["fork"]): line
        for line in lines
        if line["training"] == training and line["draw"] == draw and (line["part"] == "length") == long and model in (None, line["model"])
    }


def paired(lines: Sequence[Line], first: str, second: str, model: str | None = None) -> tuple[list[Line], list[Line]]:
    """Return the lines of two trainings on the forks that have both, in the same order."""
    one, two = chosen(lines, first, model=model), chosen(lines, second, model=model)
    return [line for key, line in one.items() if key in two], [two[key] for key in one if key in two]


def by_cluster(pairs: Iterable[tuple[Key, float]]) -> dict[Cluster, float]:
    """Return the mean of each cluster's forks."""
    found: dict[Cluster, list[float]] = {}
    for (model, seed, _), value in pairs:
        found.setdefault((model, seed), []).append(value)
    return {cluster: math.fsum(values) / len(values) for cluster, values in found.items()}


def compared(lines: Sequence[Line], what: str, better: str, worse: str, model: str | None = None) -> dict[Cluster, float]:
    """Return one value a cluster: log(better / worse), for the gap better - worse in nats; negative where the claim holds."""
    first, second = chosen(lines, better, model=model), chosen(lines, worse, model=model)
    return by_cluster((key, _difference(figure(first[key], what), figure(second[key], what), what)) for key in first if key in second)


def _difference(first: float, second: float, what: str) -> float:
    return first - second if what == "gap" else math.log(first / second)


def judged(lines: Sequence[Line], comparison: dict[str, Any], model: str | None = None) -> Outcome | None:
    """Return the test of a comparison of the configuration; None where no cluster has both."""
    values = list(compared(lines, comparison["figure"], comparison["better"], comparison["worse"], model).values())
    return outcome(values) if values else None


def null(lines: Sequence[Line], training: str, what: str, model: str | None = None) -> dict[Cluster, float]:
    """Return one value a cluster: as `compared`, of a training against itself with other signs and random bits."""
    first, second = chosen(lines, training, 0, model), chosen(lines, training, 1, model)
    return by_cluster((key, _difference(figure(second[key], what), figure(first[key], what), what)) for key in first if key in second)


def margin(lines: Sequence[Line], comparison: dict[str, Any]) -> float:
    """Return how many null spreads of the primary trainings an order lies from none; negative: the other way round."""
    spread = rms([value for name in ("ufp4", "e2m1_baseline") for value in null(lines, name, comparison["figure"]).values()])
    found = judged(lines, comparison)
    return 0.0 if found is None else -found.mean / spread


def asserted(full: Sequence[Line], short: Sequence[Line], comparisons: Iterable[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return the orders that the full set established by more than MARGIN null spreads: text, and whether every short run has it."""
    found = []
    for item in comparisons:
        away, seen = margin(full, item), judged(short, item)
        if away > MARGIN:
            text = f"{item['figure']}: {item['better']} below {item['worse']} ({away:.0f} null spreads)"
            found.append((text, seen is not None and all(value < 0 for value in seen.values)))
    return found


def floor(lines: Sequence[Line], model: str | None = None) -> list[float]:
    """Return the divergences of BF16 forks that start one ulp apart."""
    return [figure(line, "kl") for line in chosen(lines, BASE, 1, model).values()]


def relative_gap(lines: Iterable[Line], what: str = "gap") -> dict[Cluster, float]:
    """Return the loss above the BF16 fork's, in percent of it, one value a cluster."""
    return by_cluster(((line["model"], line["seed"], line["fork"]), 100 * line[what][-1] / line["loss_bf16"][-1]) for line in lines)


def at_length(lines: Sequence[Line], place: int, training: str, what: str, draw: int = 0) -> list[float]:
    """Return a figure at one of the lengths, one value a cluster."""
    return [float(line[what][place]) for line in chosen(lines, training, draw, long=True).values()]


def null_at_length(lines: Sequence[Line], place: int, trainings: Iterable[str]) -> float | None:
    """Return the null spread of the divergence at one of the lengths: the root mean square over runs and trainings.

    A value is the logarithm of the ratio of one training to itself with other signs and random bits. None where no run has both.
    """
    drawn = [[at_length(lines, place, name, "kl", draw) for draw in (0, 1)] for name in trainings]
    found = [math.log(b / a) for first, second in drawn if len(first) == len(second) for a, b in zip(first, second, strict=True)]
    return rms(found) if found else None
