"""Plots of reports and of the records of studies; the same figures give the same bytes of SVG. Not here: the figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from textwrap import wrap
from typing import IO, Any

from emu.analysis.report import Report, total
from emu.base.errors import FileError, OperandError, SpecError
from emu.base.text import visible
from emu.spec import get

KINDS = ("png", "svg", "pdf")
COLORS = ("#4477AA", "#EE7733", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#BBBBBB", "#000000")
_STYLE: Any = {"font.size": 9, "svg.hashsalt": "emu", "text.parse_math": False}  # a name with $ is a name
Record = dict[str, Any]


def plot_kind(suffix: str) -> str:
    """Return the kind of picture of a file suffix. Raises: FileError."""
    kind = suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise FileError(f"plot suffix {suffix!r} is unknown: one of {', '.join(KINDS)}")
    return kind


def plot_reports(reports: Sequence[Report], stream: IO[bytes], kind: str, title: str) -> None:
    """Draw SQNR and effective bucket ratio per recipe: a bar for all tensors together, a dot for each.

    reports: one per tensor, recipe and transform.   stream: where the picture goes.   kind: png, svg or pdf.
    Raises: OperandError (no reports).
    """
    if not reports:
        raise OperandError("a plot needs at least one report")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    recipes = list(dict.fromkeys(report.recipe for report in reports))
    with rc_context(_STYLE):
        figure = Figure(figsize=(11, 1.6 + 0.6 * len(recipes)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, recipes, reports, "sqnr_db", "SQNR, dB (more is better)")
        _panel(right, recipes, reports, "bucket_ratio", "effective bucket ratio exp(H)/K (1: every code equally used)")
        left.set_yticks(range(len(recipes)), [_label(recipe) for recipe in recipes])
        left.invert_yaxis()
        right.set_xlim(0, 1.02)
    save(figure, left, title, stream, kind)


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
            axes.barh([y for y, _ in bars], [width for _, width in bars], height=0.36, color=COLORS[rotated], label=name, zorder=2)
    finish(axes, "", label, "", "x")


def plot_bias(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw the bias of every bin at or above zero, in steps of the grid's top, a panel per format. record: of records.bias_record.

    kind: png, svg or pdf.   Raises: OperandError (no bins).
    """
    formats = list(dict.fromkeys(row["format"] for row in record["bins"]))
    figure, parts = panels(len(formats))
    for axes, name in zip(parts, formats, strict=True):
        rows = [row for row in record["bins"] if row["format"] == name and Fraction(row["value"]) >= 0 and row["bias"] is not None]
        labels = list(dict.fromkeys(row["value"] for row in rows))
        densities = list(dict.fromkeys(row["density"] for row in rows))
        for number, density in enumerate(densities):
            found = {row["value"]: float(Fraction(row["bias"])) for row in rows if row["density"] == density}
            places = [place + (number - (len(densities) - 1) / 2) * 0.8 / len(densities) for place in range(len(labels))]
            axes.bar(
                places, [found.get(label, 0.0) for label in labels], 0.8 / len(densities), label=density, color=COLORS[number], zorder=2
            )
        axes.set_xticks(range(len(labels)), labels)
        axes.axhline(0, color="black", linewidth=0.8)
        finish(axes, name, "value of the bin", "E[value - x]: below 0 shrinks")
    save(figure, parts[0], f"Bias per bin, blocks of {record['block']} with an exact scale", stream, kind)


def plot_tensor(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR and alpha - 1 of every recipe, as it is and rotated, a pair of panels per tensor. record: of records.tensor_record.

    Raises: OperandError (no rows).
    """
    names = list(dict.fromkeys(row["data"] for row in record["rows"]))
    if not names:
        raise OperandError("a plot needs at least one row")
    recipes = list(dict.fromkeys(row["recipe"] for row in record["rows"]))
    figure, parts = panels(2 * len(names), 2, 1.2 + 0.28 * len(recipes))
    for number, name in enumerate(names):
        for axes, key, label, factor in (
            (parts[2 * number], "sqnr_db", "SQNR, dB", 1.0),
            (parts[2 * number + 1], "alpha_minus_1", "alpha - 1, % (below 0: shrunk)", 100.0),
        ):
            for rotated in (False, True):
                found = {
                    row["recipe"]: row[key] for row in record["rows"] if row["data"] == name and (row["transform"] is not None) == rotated
                }
                points = [(found[recipe] * factor, place) for place, recipe in enumerate(recipes) if isinstance(found.get(recipe), float)]
                mark = "D" if rotated else "o"
                axes.plot(
                    *zip(*points, strict=True), mark, color=COLORS[rotated], label="rotated (RHT)" if rotated else "as it is"
                ) if points else None
            axes.set_yticks(range(len(recipes)), recipes, fontsize=7)
            axes.invert_yaxis()
            finish(axes, name, label, "", "both")
    save(figure, parts[0], "What recipes do to a tensor", stream, kind)


def plot_scales(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR per scale codec and grid, a panel per tensor and rotation. record: of records.scales_record.

    Raises: OperandError (no rows).
    """
    groups = list(dict.fromkeys((row["data"], row["transform"]) for row in record["rows"]))
    codecs = list(dict.fromkeys(row["codec"] for row in record["rows"]))
    grids = list(dict.fromkeys(row["element"] for row in record["rows"]))
    figure, parts = panels(len(groups))
    for axes, (name, transform) in zip(parts, groups, strict=True):
        for number, grid in enumerate(grids):
            rows = [row for row in record["rows"] if (row["data"], row["transform"], row["element"]) == (name, transform, grid)]
            found = {row["codec"]: row["sqnr_db"] for row in rows}
            places = [place + (number - (len(grids) - 1) / 2) * 0.8 / len(grids) for place in range(len(codecs))]
            axes.bar(places, [found.get(codec) or 0.0 for codec in codecs], 0.8 / len(grids), label=grid, color=COLORS[number], zorder=2)
        axes.set_xticks(range(len(codecs)), codecs, rotation=30, ha="right")
        low = min(row["sqnr_db"] for row in record["rows"] if isinstance(row["sqnr_db"], float))
        axes.set_ylim(bottom=max(low - 2, 0))
        finish(axes, f"{name}, {'rotated' if transform else 'as it is'}", "", "SQNR, dB")
    save(figure, parts[0], "Scale codecs", stream, kind)


def panels(count: int, columns: int = 2, height: float = 3.0) -> tuple[Any, Sequence[Any]]:
    """Return a figure and its panels. Raises: OperandError (none)."""
    if not count:
        raise OperandError("a plot needs at least one row")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    with rc_context(_STYLE):
        figure = Figure(figsize=(5.2 * min(columns, count), height * rows + 0.5), layout="constrained")
        parts = figure.subplots(rows, min(columns, count), squeeze=False).reshape(-1)
        for axes in parts[count:]:
            axes.set_visible(False)
    return figure, list(parts[:count])


def finish(axes: Any, title: str, x: str, y: str, grid: str = "y") -> None:
    """Set title, labels and grid of a panel."""
    axes.set_title(visible(title), fontsize=9, parse_math=False)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis=grid, color="#DDDDDD", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Any, first: Any, title: str, stream: IO[bytes], kind: str) -> None:
    """Write a figure with the legend of its first panel."""
    from matplotlib import rc_context

    handles, labels = first.get_legend_handles_labels()
    with rc_context(_STYLE):
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
        figure.suptitle(visible(title))
        figure.savefig(stream, format=kind, dpi=150, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))
