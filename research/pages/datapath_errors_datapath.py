"""The section of the page of datapath errors on what datapaths add."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code
from research.pages.charts import Axis, Dots, Mark
from research.pages.datapath_errors_quantization import data_names
from research.pages.datapath_errors_short import cells

Record = dict[str, Any]


def datapath_tables(record: Record) -> dict[str, Any]:
    """Return the table of the section, by the name that the template has for it."""
    return {"worst": _worst(record)}


def _worst(record: Record) -> list[tuple[Any, ...]]:
    """Say how far results lie on one side, where there is most to lose."""
    worst: dict[str, tuple[float, Record, dict[str, float]]] = {}
    for row, name, found in cells(record):
        if found["relative"] > worst.get(name, (0.0,))[0]:
            worst[name] = (found["relative"], row, found)
    return [
        (
            Code(name),
            row["data"],
            Code(row["recipe"]),
            f"{found['relative']:.2g}",
            f"{found['largest_ulp']:.3g}",
            f"{found['mean_ulp']:+.2g}",
        )
        for name, (_, row, found) in sorted(worst.items(), key=lambda item: list(record["datapaths"]).index(item[0]))
    ]


def datapath_chart(record: Record) -> Dots:
    """Return the error of every product by datapath."""
    data = data_names(record)
    paths = [path for path in record["datapaths"] if any(path == name for _, name, _ in cells(record))]
    points = {(paths.index(name), data.index(row["data"]), float(f"{found['relative']:.2g}")) for row, name, found in cells(record)}
    axis = Axis("relative error of the sum", 1e-9, 1e-6, [(10.0**-i, f"1e-{i}") for i in (9, 8, 7, 6)], True, "exact")
    return Dots("Datapath error: each mark one recipe, rotated or not", axis, paths, data, [Mark(*point) for point in sorted(points)])
