"""Loss curves as a picture. Not here: the page's own chart (research.pages.loss_chart)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from research.train.results import thinned

POINTS = 60


def plot_curves(curves: Sequence[tuple[str, Sequence[float]]], stream: IO[bytes], kind: str, title: str = "") -> None:
    """Draw the loss of named runs over their steps. curves: (name, loss of each step).   kind: png or svg."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "emu", "font.size": 9}):
        figure = Figure(figsize=(9, 5), layout="constrained")
        axes = figure.subplots()
        for name, curve in curves:
            points = thinned(curve, POINTS)
            axes.plot([step for step, _ in points], [loss for _, loss in points], label=name, linewidth=1)
        axes.set_xlabel("step")
        axes.set_ylabel("training loss")
        axes.set_yscale("log")
        axes.legend(fontsize=7, ncols=2)
        figure.suptitle(title)
        figure.savefig(stream, format=kind, dpi=150, metadata={"svg": {"Date": None}}.get(kind))
