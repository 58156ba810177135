"""The section of the page of datapath errors on what datapaths add."""

from __future__ import annotations

from typing import Any

from emu.docgen.datapath_errors_quantization import data_names
from emu.docgen.datapath_errors_short import cells
from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, prose, table

PICTURE = "datapath_errors_datapath.svg"
Record = dict[str, Any]


def datapath_lines(record: Record) -> list[str]:
    """Return the section on datapath errors."""
    lines = [
        "## Datapath error",
        "",
        prose(
            "What the datapath makes of the quantized operands against their exact dot product, which is added in ",
            "integers ",
            "(`research/datapath/exact.py`, nothing of a datapath in it). D is compared before tensor scales ",
            "multiply it. A cell: relative error, ",
            "as above; in brackets the share of results that are the exact sum rounded once to nearest. `exact`: all ",
            "results are the exact sum. Not rotated; the record ",
            "has the rotated ones too.",
        ),
        "",
    ]
    for name in data_names(record):
        lines += [f"### {name}", "", *_datapath_table(record, name), ""]
    picture = f"![Datapath error by datapath]({PICTURE})"
    return [*lines, picture, "", *_bias(record), ""]


def _datapath_table(record: Record, data: str) -> list[str]:
    rows = [row for row in record["errors"] if row["data"] == data and row["rotation"] == "none"]
    paths = [name for name in record["datapaths"] if any(name in row["datapaths"] for row in rows)]
    lost = [row for row in rows if any(found["relative"] for found in row["datapaths"].values())]
    rest = [code(row["recipe"]) for row in rows if row not in lost]
    lines = table(
        ("recipe", *map(code, paths)), [(code(row["recipe"]), *(_cell(row["datapaths"].get(name)) for name in paths)) for row in lost]
    )
    return [*(lines if lost else []), *(["", f"All results exact, in every datapath that takes them: {', '.join(rest)}."] if rest else [])]


def _cell(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    return "exact" if not found["relative"] else f"{found['relative']:.2g} ({100 * found['nearest']:.4g} %)"


def _bias(record: Record) -> list[str]:
    """Say how far results lie on one side, where there is most to lose."""
    worst: dict[str, tuple[float, Record, dict[str, float]]] = {}
    for row, name, found in cells(record):
        if found["relative"] > worst.get(name, (0.0,))[0]:
            worst[name] = (found["relative"], row, found)
    rows = [
        (
            code(name),
            row["data"],
            code(row["recipe"]),
            f"{found['relative']:.2g}",
            f"{found['largest_ulp']:.3g}",
            f"{found['mean_ulp']:+.2g}",
        )
        for name, (_, row, found) in sorted(worst.items(), key=lambda item: list(record["datapaths"]).index(item[0]))
    ]
    return [
        prose(
            "The worst product of each datapath, rotated ones included. Largest and mean error are in ulps of the ",
            "exact value: a sum that nearly cancels ",
            "has a small ulp, so the largest says how far cancellation went; a negative mean is a drift toward zero.",
        ),
        "",
        *table(("datapath", "data", "recipe", "relative", "largest ulp", "mean ulp"), rows, numbers=(3, 4, 5)),
    ]


def datapath_picture(record: Record) -> str:
    """Draw the error of every product by datapath."""
    data = data_names(record)
    paths = [path for path in record["datapaths"] if any(path == name for _, name, _ in cells(record))]
    points = {(paths.index(name), data.index(row["data"]), float(f"{found['relative']:.2g}")) for row, name, found in cells(record)}
    axis = Axis("relative error of the sum", 1e-9, 1e-6, [(10.0**-i, f"1e-{i}") for i in (9, 8, 7, 6)], True, "exact")
    return chart("Datapath error: each mark one recipe, rotated or not", axis, paths, data, [Mark(*point) for point in sorted(points)])
