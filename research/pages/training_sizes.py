"""Fits over the sizes of a study of training. Not here: the fitting (research.train.fit)."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code
from research.train.fit import Line, Power, line, power
from research.train.statistics import BASE, by_cell, estimate, gaps

Study = dict[str, Any]
Cells = dict[tuple[str, str], dict[int, float]]
Table = tuple[tuple[str, ...], list[list[Any]], range]
FEWEST = 3


def size_tables(study: Study) -> dict[str, Any] | None:
    """Return loss and gap over the number of weights; None where fewer than three sizes are finished."""
    cells = by_cell(study["runs"])
    weights = {run["model"]: run["weights"] for run in study["runs"]}
    sizes = [name for name in study["config"]["sizes"] if (name, BASE) in cells]
    trainings = [name for name in dict.fromkeys(training for _, training in cells) if all((size, name) in cells for size in sizes)]
    if len(sizes) < FEWEST:
        return None
    return {
        "names": [(Code(name), f" {weights[name]}") for name in sizes],
        "losses": _losses(cells, weights, sizes, trainings),
        "gaps": _gaps(cells, weights, sizes, [name for name in trainings if name != BASE]),
    }


def _rest(found: Line | Power, *before: str) -> list[str]:
    return [*before, f"{found.residual:.2f}", f"{found.worst:.2f}"]


def _losses(cells: Cells, weights: dict[str, int], sizes: list[str], trainings: list[str]) -> Table:
    rows: list[list[Any]] = []
    for training in trainings:
        points = [(weights[size], metric) for size in sizes for metric in cells[size, training].values()]
        found = power(*zip(*points, strict=True))
        means = [f"{estimate(list(cells[size, training].values())).mean:.4f}" for size in sizes]
        error = "" if found.error is None else f" ± {found.error:.4f}"
        rows.append([Code(training), *means, f"{found.exponent:.4f}{error}", *_rest(found, f"{found.factor:.3f}")])
    header = ("training", *(f"loss {size}" for size in sizes), "exponent ± standard error", "factor", "residual, rms %", "worst %")
    return header, rows, range(1, len(header))


def _gaps(cells: Cells, weights: dict[str, int], sizes: list[str], trainings: list[str]) -> Table:
    rows: list[list[Any]] = []
    for training in trainings:
        each = [(size, gaps(cells, size, training)) for size in sizes]
        points = [(weights[size], gap) for size, found in each for gap in found]
        fitted = line(*zip(*points, strict=True))
        means = [f"{estimate(found).mean:+.2f}" for _, found in each]
        error = "" if fitted.error is None else f" ± {fitted.error:.2f}"
        rows.append([Code(training), *means, f"{fitted.slope:+.2f}{error}", *_rest(fitted)])
    header = ("training", *(f"gap % {size}" for size in sizes), "slope, % a decade ± standard error", "residual, rms %", "worst %")
    return header, rows, range(1, len(header))
