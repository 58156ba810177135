"""The part of the architects' chapter about training runs."""

from __future__ import annotations

import math
from typing import Any, Final

from emu.docgen.markdown import code, prose, table
from research.train.statistics import by_cell, estimate, gaps, wins

Record = dict[str, Any]
SHOWN: Final = ("ufp4", "nvufp4", "e2m1_baseline", "nvfp4_te_train", "mxfp4_train")
DUELS: Final = (("ufp4", "e2m1_baseline"), ("nvufp4", "nvfp4_te_train"))


def training_short(record: Record) -> list[str]:
    """Say how often the uniform grid trained better, study by study, and how often chance alone would do as well."""
    texts = []
    for study in record.values():
        cells = by_cell(study["runs"])
        for first, second in DUELS:
            found = [wins(cells, model, first, second) for model in study["config"]["models"]]
            won, seeds = (sum(column) for column in zip(*found, strict=True))
            if seeds:
                title = study["config"]["title"].split(",")[0]
                texts.append(f"{title}: {code(first)} below {code(second)} in {won} of {seeds} (chance: {100 * chance(won, seeds):.0f} %)")
    if not texts:
        return []
    words = "- **Training**, pairs of runs of one seed in which the uniform grid ends lower, and how likely a fair coin does as well: "
    return [prose(words, "; ".join(texts), ". [training.md](training.md)")]


def chance(won: int, count: int) -> float:
    """Return how likely `won` or more heads are in `count` throws of a fair coin."""
    return float(sum(math.comb(count, k) for k in range(won, count + 1)) / 2**count)


def training_lines(record: Record) -> list[str]:
    """Return how far the recipes end above BF16, a line for each model."""
    rows = []
    for study in record.values():
        cells = by_cell(study["runs"])
        for model in study["config"]["models"]:
            found = [gaps(cells, model, training) for training in SHOWN]
            if any(found):
                rows.append([model, *(_percent(values) for values in found)])
    commands = ", ".join(code(study["command"]) for study in record.values())
    return [
        "## What training says",
        "",
        prose(
            "How far the last figure of a run lies above that of BF16 with the same weights at the start and the same batches, "
            "in percent, ",
            "mean over seeds and its 95 % interval. Small models, short runs: signs and orders, not sizes.",
        ),
        "",
        *table(("model", *(code(training) for training in SHOWN)), rows, range(1, 1 + len(SHOWN))),
        "",
        commands,
        "",
    ]


def _percent(values: list[float]) -> str:
    if not values:
        return ""
    found = estimate(values)
    return f"{found.mean:+.2f}" + ("" if found.half is None else f" ± {found.half:.2f}")
