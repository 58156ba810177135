"""Plots of the records of study.py; the same record gives the same bytes of SVG. Not here: the figures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import IO, Any

from emu.base.errors import OperandError

_COLORS = ("#4477AA", "#EE7733", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#BBBBBB", "#000000")
_STYLE: Any = {"font.size": 9, "svg.hashsalt": "emu"}
Record = dict[str, Any]


def plot_bias(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw the bias of every bin at or above zero, in steps of the grid's top, a panel per format. record: of study.bias_record.

    kind: png, svg or pdf.   Raises: OperandError (no bins).
    """
    formats = list(dict.fromkeys(row["format"] for row in record["bins"]))
    figure, panels = _panels(len(formats))
    for axes, name in zip(panels, formats, strict=True):
        rows = [row for row in record["bins"] if row["format"] == name and Fraction(row["value"]) >= 0 and row["bias"] is not None]
        labels = list(dict.fromkeys(row["value"] for row in rows))
        densities = list(dict.fromkeys(row["density"] for row in rows))
        for number, density in enumerate(densities):
            found = {row["value"]: float(Fraction(row["bias"])) for row in rows if row["density"] == density}
            places = [place + (number - (len(densities) - 1) / 2) * 0.8 / len(densities) for place in range(len(labels))]
            axes.bar(
                places, [found.get(label, 0.0) for label in labels], 0.8 / len(densities), label=density, color=_COLORS[number], zorder=2
            )
        axes.set_xticks(range(len(labels)), labels)
        axes.axhline(0, color="black", linewidth=0.8)
        _finish(axes, name, "value of the bin", "E[value - x]: below 0 shrinks")
    _save(figure, panels[0], f"Bias per bin, blocks of {record['block']} with an exact scale", stream, kind)


def plot_tensor(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR and alpha - 1 of every recipe, as it is and rotated, a pair of panels per tensor. record: of study.tensor_record.

    Raises: OperandError (no rows).
    """
    names = list(dict.fromkeys(row["data"] for row in record["rows"]))
    if not names:
        raise OperandError("a plot needs at least one row")
    recipes = list(dict.fromkeys(row["recipe"] for row in record["rows"]))
    figure, panels = _panels(2 * len(names), 2, 1.2 + 0.28 * len(recipes))
    for number, name in enumerate(names):
        for axes, key, label, factor in (
            (panels[2 * number], "sqnr_db", "SQNR, dB", 1.0),
            (panels[2 * number + 1], "alpha_minus_1", "alpha - 1, % (below 0: shrunk)", 100.0),
        ):
            for rotated in (False, True):
                found = {
                    row["recipe"]: row[key] for row in record["rows"] if row["data"] == name and (row["transform"] is not None) == rotated
                }
                points = [(found[recipe] * factor, place) for place, recipe in enumerate(recipes) if isinstance(found.get(recipe), float)]
                mark = "D" if rotated else "o"
                axes.plot(
                    *zip(*points, strict=True), mark, color=_COLORS[rotated], label="rotated (RHT)" if rotated else "as it is"
                ) if points else None
            axes.set_yticks(range(len(recipes)), recipes, fontsize=7)
            axes.invert_yaxis()
            _finish(axes, name, label, "", "both")
    _save(figure, panels[0], "What recipes do to a tensor", stream, kind)


def plot_scales(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR per scale codec and grid, a panel per tensor and rotation. record: of study.scales_record.

    Raises: OperandError (no rows).
    """
    groups = list(dict.fromkeys((row["data"], row["transform"]) for row in record["rows"]))
    codecs = list(dict.fromkeys(row["codec"] for row in record["rows"]))
    grids = list(dict.fromkeys(row["element"] for row in record["rows"]))
    figure, panels = _panels(len(groups))
    for axes, (name, transform) in zip(panels, groups, strict=True):
        for number, grid in enumerate(grids):
            rows = [row for row in record["rows"] if (row["data"], row["transform"], row["element"]) == (name, transform, grid)]
            found = {row["codec"]: row["sqnr_db"] for row in rows}
            places = [place + (number - (len(grids) - 1) / 2) * 0.8 / len(grids) for place in range(len(codecs))]
            axes.bar(places, [found.get(codec) or 0.0 for codec in codecs], 0.8 / len(grids), label=grid, color=_COLORS[number], zorder=2)
        axes.set_xticks(range(len(codecs)), codecs, rotation=30, ha="right")
        low = min(row["sqnr_db"] for row in record["rows"] if isinstance(row["sqnr_db"], float))
        axes.set_ylim(bottom=max(low - 2, 0))
        _finish(axes, f"{name}, {'rotated' if transform else 'as it is'}", "", "SQNR, dB")
    _save(figure, panels[0], "Scale codecs", stream, kind)


def plot_regime(record: Record, stream: IO[bytes], kind: str = "png") -> None:
    """Draw SQNR along the family for the 4-bit grids under fp32 scales; hollow marks: range-limited. record: of study.regime_record.

    Raises: OperandError (no points).
    """
    points = [row for row in record["points"] if row["bits"] == 4 and row["codec"] == "fp32"]
    figure, panels = _panels(2 if points else 0)
    elements = _equal_lines(points)
    for axes, rotated in zip(panels, (False, True), strict=True):
        for number, (element, label) in enumerate(elements.items()):
            rows = [row for row in points if row["element"] == element and (row["transform"] is not None) == rotated]
            color = _COLORS[number % len(_COLORS)]
            axes.plot([row["sigma"] for row in rows], [row["sqnr_db"] for row in rows], "-", color=color, label=label, zorder=2)
            for limit, face in (("range", "white"), ("resolution", color)):
                own = [row for row in rows if row["regime"] == limit]
                axes.plot([row["sigma"] for row in own], [row["sqnr_db"] for row in own], "o", color=color, markerfacecolor=face, zorder=3)
        _finish(axes, "rotated (RHT)" if rotated else "as it is", "sigma of the lognormal factor", "SQNR, dB")
    _save(figure, panels[0], "Which grid loses least (hollow: limited by its range)", stream, kind)


def _equal_lines(points: Sequence[Record]) -> dict[str, str]:
    """Return the first element of every set with equal lines, and the names of the set."""
    lines: dict[str, list[Any]] = {}
    for row in points:
        lines.setdefault(row["element"], []).append((row["sigma"], row["transform"], round(row["sqnr_db"], 1)))
    sets: dict[tuple[Any, ...], list[str]] = {}
    for element, line in lines.items():
        sets.setdefault(tuple(line), []).append(element)
    return {same[0]: " = ".join(same) for same in sets.values()}


def _panels(count: int, columns: int = 2, height: float = 3.0) -> tuple[Any, Sequence[Any]]:
    """Return a figure and its panels. Raises: OperandError (none)."""
    if not count:
        raise OperandError("a plot needs at least one row")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    with rc_context(_STYLE):
        figure = Figure(figsize=(5.2 * min(columns, count), height * rows + 0.5), layout="constrained")
        panels = figure.subplots(rows, min(columns, count), squeeze=False).reshape(-1)
        for axes in panels[count:]:
            axes.set_visible(False)
    return figure, list(panels[:count])


def _finish(axes: Any, title: str, x: str, y: str, grid: str = "y") -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis=grid, color="#DDDDDD", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, first: Any, title: str, stream: IO[bytes], kind: str) -> None:
    from matplotlib import rc_context

    handles, labels = first.get_legend_handles_labels()
    with rc_context(_STYLE):
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
        figure.suptitle(title)
        figure.savefig(stream, format=kind, dpi=150, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))
