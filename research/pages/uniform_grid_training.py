"""The part of the architects' chapter about training runs."""

from __future__ import annotations

import math
from typing import Any, Final

from emu.pages.render import Code
from research.train.statistics import by_cell, estimate, gaps, wins

Record = dict[str, Any]
SHOWN: Final = ("ufp4", "nvufp4", "e2m1_baseline", "nvfp4_te_train", "mxfp4_train")
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


def training_table(record: Record) -> tuple[tuple[Any, ...], list[list[str]], range]:
    """Return head, rows and number columns: how far the recipes end above BF16, a line for each model."""
    rows = []
    for study in record.values():
        cells = by_cell(study["runs"])
        for model in study["config"]["models"]:
            found = [gaps(cells, model, training) for training in SHOWN]
            if any(found):
                rows.append([model, *(_percent(values) for values in found)])
    return ("model", *map(Code, SHOWN)), rows, range(1, 1 + len(SHOWN))


def _percent(values: list[float]) -> str:
    if not values:
        return ""
    found = estimate(values)
    return f"{found.mean:+.2f}" + ("" if found.half is None else f" ± {found.half:.2f}")
