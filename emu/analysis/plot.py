"""Plots of reports. Not here: the figures (report.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import IO, Any

from emu.analysis.report import Report, total
from emu.base.errors import FileError, OperandError, SpecError
from emu.spec import get

KINDS = ("png", "svg", "pdf")
_COLORS = {False: "#4477AA", True: "#EE7733"}


def plot_kind(suffix: str) -> str:
    """Return the kind of picture of a file suffix. Raises: FileError."""
    kind = suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise FileError(f"plot suffix {suffix!r} is unknown: one of {', '.join(KINDS)}")
    return kind


def plot_reports(reports: Sequence[Report], stream: IO[bytes], kind: str = "png", title: str = "") -> None:
    """Draw SQNR and effective bucket ratio per recipe: a bar for all tensors together, a dot for each.

    reports: one per tensor, recipe and transform.   stream: where the picture goes.   kind: png, svg or pdf.
    Raises: OperandError (no reports).
    """
    if not reports:
        raise OperandError("a plot needs at least one report")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    recipes = list(dict.fromkeys(report.recipe for report in reports))
    with rc_context({"svg.hashsalt": "emu", "font.size": 9}):
        figure = Figure(figsize=(11, 1.6 + 0.6 * len(recipes)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, recipes, reports, "sqnr_db", "SQNR, dB (more is better)")
        _panel(right, recipes, reports, "bucket_ratio", "effective bucket ratio exp(H)/K (1: every code equally used)")
        left.set_yticks(range(len(recipes)), [_label(recipe) for recipe in recipes])
        left.invert_yaxis()
        right.set_xlim(0, 1.02)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        figure.suptitle(title)
        figure.savefig(stream, format=kind, dpi=150, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))


def _label(recipe: str) -> str:
    """Return a recipe's id and, under it, its title: an id alone says little to who did not choose it."""
    try:
        lines = wrap(get("recipe", recipe).title, 44)
    except SpecError:  # a report of a recipe that is no longer loaded
        return recipe
    return "\n".join([recipe, *lines])


def _panel(axes: Any, recipes: Sequence[str], reports: Sequence[Report], figure: str, label: str) -> None:
    """Draw one figure of every recipe, without and with rotation side by side."""
    for rotated in (False, True):
        chosen = [report for report in reports if (report.transform is not None) == rotated]
        bars = []
        for place, recipe in enumerate(recipes):
            own = [report for report in chosen if report.recipe == recipe]
            dots = [value for value in (getattr(report, figure) for report in own) if value is not None and math.isfinite(value)]
            height = place + (0.2 if rotated else -0.2)
            finite = [report for report in own if report.is_finite]
            whole = getattr(total(finite), figure) if finite else None
            bars.append((height, whole if whole is not None and math.isfinite(whole) else 0.0))
            if len(own) > 1:
                axes.plot(dots, [height] * len(dots), "|", color="black", markersize=6, alpha=0.35, zorder=3)
        if any(width for _, width in bars):
            name = "with rotation (RHT)" if rotated else "as it is"
            axes.barh([y for y, _ in bars], [width for _, width in bars], height=0.36, color=_COLORS[rotated], label=name, zorder=2)
    axes.set_xlabel(label)
    axes.grid(axis="x", color="#DDDDDD", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
