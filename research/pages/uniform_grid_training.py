"""The part of the architects' chapter about training runs."""

from __future__ import annotations

import math
from typing import Any, Final

from research.train.statistics import by_cell, gaps, wins

Record = dict[str, Any]
DUELS: Final = (("ufp4", "e2m1_baseline"), ("nvufp4", "nvfp4_te_train"))


def training_duels(record: Record) -> list[Record]:
    """Return how often the uniform grid trained better, study by study, with the mean difference of the pairs and its power."""
    duels = []
    for study in record.values():
        cells = by_cell(study["runs"])
        for first, second in DUELS:
            found = [wins(cells, model, first, second) for model in study["config"]["models"]]
            won, seeds = (sum(column) for column in zip(*found, strict=True))
            if seeds:
                title = study["config"]["title"].split(",")[0]
                pairs = [value for model in study["config"]["models"] for value in gaps(cells, model, first, second)]
                duels.append({"title": title, "first": first, "second": second, "won": won, "seeds": seeds} | paired(pairs))
    return duels


def paired(values: list[float]) -> Record:
    """Return mean and standard error of differences of pairs, and the power: how likely a true difference of this size stands out at 5 %.

    values: one for each pair. With one pair error and power are None.
    """
    count, mean = len(values), sum(values) / len(values)
    if count < 2:
        return {"mean": mean, "error": None, "power": None}
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    return {"mean": mean, "error": error, "power": 1.0 if error == 0 else 0.5 * math.erfc((1.959964 - abs(mean) / error) / math.sqrt(2))}
