"""Tables of one study of training: figures with intervals, gaps to BF16, orders on every seed. Not here: fits (training_sizes.py)."""

from __future__ import annotations

import math
from typing import Any

from emu.pages.render import Code, joined
from research.train.statistics import BASE, Estimate, by_cell, estimate, gaps, wins

Study = dict[str, Any]
Cells = dict[tuple[str, str], dict[int, float]]
Table = tuple[tuple[str, ...], list[list[Any]], range]


def with_half(found: Estimate, digits: int, sign: str = "") -> str:
    """Return a mean with its half width."""
    half = "" if found.half is None else f" ± {found.half:.{digits}f}"
    return f"{found.mean:{sign}.{digits}f}{half}"


def orders(study: Study) -> list[list[Any]]:
    """Return the orders that were looked for: pairs, margin with interval, power of so many pairs. Sizes of a model are taken together."""
    cells = by_cell(study["runs"])
    rows = []
    for order in study["config"]["orders"]:
        for models in [order["models"]] if study["config"].get("sizes") else [[model] for model in order["models"]]:
            kept = [model for model in models if (model, order["better"]) in cells and (model, order["worse"]) in cells]
            margins = [value for model in kept for value in gaps(cells, model, order["worse"], order["better"])]
            if margins:
                won = sum(wins(cells, model, order["better"], order["worse"])[0] for model in kept)
                likely = paired(margins)["power"]
                shown = "" if likely is None else "> 0.99" if likely > 0.99 else f"{likely:.2f}"
                text = (Code(order["better"]), " < ", Code(order["worse"]))
                half = with_half(estimate(margins), 2, "+")
                rows.append([text, kept, f"{won} of {len(margins)}", half, shown, order["claim"]])
    return rows


def paired(values: list[float]) -> dict[str, Any]:
    """Return mean and standard error of differences of pairs, and the power: how likely a true difference of this size stands out at 5 %.

    values: one for each pair. With one pair error and power are None.
    """
    count, mean = len(values), sum(values) / len(values)
    if count < 2:
        return {"mean": mean, "error": None, "power": None}
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    return {"mean": mean, "error": error, "power": 1.0 if error == 0 else 0.5 * math.erfc((1.959964 - abs(mean) / error) / math.sqrt(2))}


def reference_rows(study: Study) -> list[list[Any]]:
    """Return our figures beside those of another implementation of the same experiment."""
    config, cells = study["config"], by_cell(study["runs"])
    given = {(item["model"], item["training"]): item["metrics"] for item in config["reference"]}
    rows = []
    for (model, training), metrics in cells.items():
        ours, sheet = estimate(list(metrics.values())), given.get((model, training))
        seeds = " / ".join(f"{metrics[seed]:.5f}" for seed in sorted(metrics))
        other = estimate(sheet) if sheet else None
        told = ("", "") if other is None else (f"{other.mean:.5f}", f"{ours.mean / other.mean:.3f}")
        above = gaps(cells, model, training)
        rows.append([model, Code(training), seeds, with_half(ours, 5), *told, f"{estimate(above).mean:+.0f}" if above else ""])
    return rows


def gap_table(study: Study) -> Table:
    """Return the figures of BF16 and the gaps to them, a column for each model, sorted by the gaps of the model with most trainings."""
    cells = by_cell(study["runs"])
    models = [name for name in study["config"]["models"] if (name, BASE) in cells]
    found = {key: estimate(above) for key in cells if key[1] != BASE and (above := gaps(cells, *key))}
    most = max(models, key=lambda name: sum(model == name for model, _ in found), default="")
    trainings = dict.fromkeys(training for _, training in found)
    order = sorted(trainings, key=lambda name: found[most, name].mean if (most, name) in found else math.inf)
    base = [f"{with_half(estimate(list(cells[name, BASE].values())), 4)} ({len(cells[name, BASE])})" for name in models]
    rows: list[list[Any]] = [[Code(BASE), *base]]
    for training in order:
        given = [(found.get((name, training)), cells.get((name, training), {})) for name in models]
        rows.append([Code(training), *("" if gap is None else f"{with_half(gap, 2, '+')} ({len(seeds)})" for gap, seeds in given)])
    return ("training", *models), rows, range(1, 1 + len(models))


def same_weights(study: Study) -> Any:
    """Return which trainings ended in the same weights, bit for bit, on every seed that both have."""
    bits: dict[tuple[str, str], dict[int, str]] = {}
    for run in study["runs"]:
        bits.setdefault((run["model"], run["training"]), {})[run["seed"]] = run["bits"]
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (model, training), found in bits.items():
        groups.setdefault((model, tuple(found[seed] for seed in sorted(found))), []).append(training)
    same = [(joined(" = ", map(Code, names)), " on ", Code(model)) for (model, _), names in groups.items() if len(names) > 1]
    return joined("; ", same)


def anchor_rows(study: Study) -> list[list[Any]]:
    """Return published gaps."""
    rows = []
    for anchor in study["config"].get("anchors") or []:
        told = f"{anchor['gap_percent']:+.2f}" if anchor.get("gap_percent") is not None else "lower than E2M1"
        rows.append([Code(anchor["training"]), anchor["what"], told, anchor["status"]])
    return rows
