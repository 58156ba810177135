"""Plots of products and of chains, as files. Not here: the figures (gemm.py, depth.py), the pictures of the page (research.pages)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from emu.base.errors import OperandError
from research.reproduction.depth import Chain

COLORS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#888888")


def plot_gemms(rows: Sequence[dict[str, Any]], stream: IO[bytes], kind: str) -> None:
    """Draw SQNR and gain of products, one line for each data and recipe; an open mark is with rotation.

    rows: figures of products, with `data`.   kind: png, svg or pdf.   Raises: OperandError (no rows).
    """
    if not rows:
        raise OperandError("a plot needs at least one product")
    labels = list(dict.fromkeys(f"{row['data']}  {row['recipe']}" for row in rows))
    figure = _figure((9, 1.4 + 0.3 * len(labels)))
    axes = figure.subplots(1, 2, sharey=True)
    for panel, name, title in zip(
        axes, ("sqnr_db", "eta"), ("SQNR of the product, dB", "gain of the product (1: nothing shrinks)"), strict=True
    ):
        for row in rows:
            if isinstance(row[name], float):
                place, color = labels.index(f"{row['data']}  {row['recipe']}"), COLORS[0]
                panel.plot(row[name], place, "o", color=color, markerfacecolor="white" if row["transform"] else color)
        panel.set_xlabel(title)
        panel.grid(axis="x", color="#DDDDDD")
    axes[1].axvline(1, color="#888888", linewidth=0.8)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    _save(figure, stream, kind)


def plot_chains(groups: Sequence[tuple[str, Sequence[Chain]]], stream: IO[bytes], kind: str) -> None:
    """Draw the gain over depth: mean over seeds, and the product of the operands' gains dashed.

    groups: (label, runs of one recipe and rotation).   kind: png, svg or pdf.   Raises: OperandError (no groups).
    """
    if not groups:
        raise OperandError("a plot needs at least one chain")
    figure = _figure((7, 4.5))
    panel = figure.subplots()
    for number, (label, runs) in enumerate(groups):
        depth = range(1, len(runs[0].steps) + 1)
        color = COLORS[number % len(COLORS)]
        eta = [sum(run.steps[layer - 1].whole.gain or 0.0 for run in runs) / len(runs) for layer in depth]
        panel.plot(depth, eta, color=color, label=label)
        panel.plot(depth, [sum(run.alpha_product(layer) for run in runs) / len(runs) for layer in depth], "--", color=color)
    panel.set_xlabel("layers")
    panel.set_ylabel("gain of the chain; dashed: product of the operands' gains")
    panel.legend(frameon=False, fontsize=8)
    panel.grid(color="#DDDDDD")
    _save(figure, stream, kind)


def _figure(size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _save(figure: Any, stream: IO[bytes], kind: str) -> None:
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "emu", "font.size": 9}):
        figure.savefig(stream, format=kind, dpi=150, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))
