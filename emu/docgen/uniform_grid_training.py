"""The part of the architects' chapter about training runs."""

from __future__ import annotations

from typing import Any, Final

from emu.docgen.markdown import code, prose, table
from emu.train.statistics import by_cell, estimate, gaps, wins

Record = dict[str, Any]
SHOWN: Final = ("ufp4", "nvufp4", "e2m1_baseline", "nvfp4_te_train", "mxfp4_train")
DUELS: Final = (("ufp4", "e2m1_baseline"), ("nvufp4", "nvfp4_te_train"))


def training_short(record: Record) -> list[str]:
    """Say how often the uniform grid trained better."""
    lines = []
    for first, second in DUELS:
        won = seeds = 0
        models = set()
        for study in record.values():
            cells = by_cell(study["runs"])
            for model in study["config"]["models"]:
                better, count = wins(cells, model, first, second)
                won, seeds = won + better, seeds + count
                models |= {model} if count else set()
        if seeds:
            lines.append(
                f"- **Small models train better with it**: {code(first)} ends below {code(second)} in {won} of {seeds} pairs of runs "
                f"({len(models)} models, same seed each). [training.md](training.md)"
                if won > seeds / 2
                else f"- **Small models do not show it**: {code(first)} ends below {code(second)} in {won} of {seeds} pairs of runs "
                f"({len(models)} models, same seed each). [training.md](training.md)"
            )
    return lines


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
