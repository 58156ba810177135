"""The section on the order of sums of the page of datapath errors."""

from __future__ import annotations

from typing import Any

from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, link, prose, table
from research.datapath.order import KINDS
from research.datapath.study import claims

WORDS = {True: "never changes", False: "may change", None: "not offered"}


def order_lines(record: dict[str, Any]) -> tuple[list[str], str]:
    """Return the lines of the section and its picture."""
    lines = [
        "## Does the order along K matter?",
        "",
        prose(
            "What follows from the facts alone (`research.datapath.order.invariant`; tests show each claim on rows, ",
            "and a row for each *may change*). ",
            "Products of a group are added exactly. The terms of one fused step are cut one by one, each to a unit ",
            "that only the largest exponent fixes, and ",
            "then added exactly. Between steps D is rounded, unless a register runs through K.",
        ),
        "",
        *table(
            ("datapath", *KINDS.values()),
            [(link("datapath", item["datapath"], "reference/"), *(WORDS[item[kind]] for kind in KINDS)) for item in claims()],
        ),
        "",
        prose(
            "Measured: 32 x 64 outputs, each in several orders (4 drawn ones of a kind, reversed, 4 ways to split). A ",
            "cell: share of outputs that some order ",
            "changes, and the largest spread in ulps of the exact value. Rows in which nothing changes are left out.",
        ),
        "",
        *table(("data", "recipe", "datapath", *KINDS), _rows(record["orders"])),
        "",
        _summary(record["orders"]),
        "",
        "![Spread over orders](datapath_errors_order.svg)",
        "",
    ]
    return lines, _picture(record)


def _rows(orders: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    found = []
    for row in orders:
        if any(item["changed"] for item in row["kinds"].values()):
            cells = (_cell(row["kinds"].get(kind)) for kind in KINDS)
            found.append((row["data"], code(row["recipe"]), code(row["datapath"]), *cells))
    return found


def _cell(found: dict[str, float] | None) -> str:
    if found is None:
        return "-"
    return f"{100 * found['changed']:.3g} %, {found['largest_ulp']:.3g}" if found["changed"] else "0"


def _summary(orders: list[dict[str, Any]]) -> str:
    still = [row for row in orders if not any(item["changed"] for item in row["kinds"].values())]
    return prose(
        f"In {len(still)} of {len(orders)} products no order changes any output: the whole sum fits binary32, ",
        "whatever the datapath promises.",
    )


def _picture(record: dict[str, Any]) -> str:
    """Draw the root mean square spread of every product, by datapath and kind."""
    paths = [path for path in record["datapaths"] if any(row["datapath"] == path for row in record["orders"])]
    kinds = list(KINDS)
    points = {
        (paths.index(row["datapath"]), kinds.index(kind), float(f"{found['rms_ulp']:.2g}"))
        for row in record["orders"]
        for kind, found in row["kinds"].items()
    }
    axis = Axis("root mean square spread over orders, ulp of the exact value", 1e-2, 1e4, _ticks(), True, "none")
    marks = [Mark(*point) for point in sorted(points)]
    return chart("Spread of results over orders along K", axis, paths, kinds, marks)


def _ticks() -> list[tuple[float, str]]:
    return [(10.0**i, f"{10.0**i:g}") for i in range(-2, 5)]
