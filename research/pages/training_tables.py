"""Tables of one study of training: figures with intervals, gaps to BF16, orders on every seed. Not here: fits (training_sizes.py)."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code, joined
from research.pages.uniform_grid_training import paired
from research.train.statistics import BASE, Estimate, by_cell, estimate, gaps, wins

Study = dict[str, Any]


def with_half(found: Estimate, digits: int, sign: str = "") -> str:
    """Return a mean with its half width."""
    half = "" if found.half is None else f" ± {found.half:.{digits}f}"
    return f"{found.mean:{sign}.{digits}f}{half}"


def orders(study: Study) -> list[list[Any]]:
    """Return the orders that were looked for: pairs, margin with interval, and the power of so many pairs."""
    cells = by_cell(study["runs"])
    rows = []
    for order in study["config"]["orders"]:
        for model in order["models"]:
            won, seeds = wins(cells, model, order["better"], order["worse"])
            if seeds:
                margins = gaps(cells, model, order["worse"], order["better"])
                likely = paired(margins)["power"]
                shown = "" if likely is None else "> 0.99" if likely > 0.99 else f"{likely:.2f}"
                text = (Code(order["better"]), " < ", Code(order["worse"]))
                rows.append([text, model, f"{won} of {seeds}", with_half(estimate(margins), 2, "+"), shown, order["claim"]])
    return rows


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


def run_tables(study: Study) -> list[tuple[str, list[list[Any]]]]:
    """Return (model, rows of figures and gaps to BF16, sorted by the gap)."""
    cells = by_cell(study["runs"])
    found = []
    for model in study["config"]["models"]:
        rows = [_row(cells, model, training, metrics) for (name, training), metrics in cells.items() if name == model]
        if rows:
            found.append((model, [row[:4] + row[5:] for row in sorted(rows, key=lambda row: row[4])]))
    return found


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


def _row(cells: dict[Any, dict[int, float]], model: str, training: str, metrics: dict[int, float]) -> list[Any]:
    above = gaps(cells, model, training)
    gap = estimate(above) if above and training != BASE else None
    each = "" if gap is None else " / ".join(f"{value:+.2f}" for value in above)
    shown = "" if gap is None else with_half(gap, 2, "+")
    figure = estimate(list(metrics.values()))
    return [Code(training), len(metrics), with_half(figure, 4), shown, -1e9 if gap is None else gap.mean, each]


def anchor_rows(study: Study) -> list[list[Any]]:
    """Return published gaps beside ours."""
    cells = by_cell(study["runs"])
    rows = []
    for anchor in study["config"].get("anchors") or []:
        own = [
            f"{model} {estimate(found).mean:+.2f}"
            for model in study["config"]["models"]
            if (found := gaps(cells, model, anchor["training"]))
        ]
        told = f"{anchor['gap_percent']:+.2f}" if anchor.get("gap_percent") is not None else "lower than E2M1"
        rows.append([Code(anchor["training"]), anchor["what"], told, anchor["status"], anchor["source"], own])
    return rows
