"""The section on the order of sums of the page of datapath errors."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code, Ref
from research.datapath.order import KINDS
from research.datapath.study import claims

WORDS = {True: "never changes", False: "may change", None: "not offered"}


def order_tables(record: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of the section, by the names that the template has for them."""
    orders = record["orders"]
    stated = [(Ref("datapath", item["datapath"]), *(WORDS[item[kind]] for kind in KINDS)) for item in claims()]
    return {
        "claims": (("datapath", *KINDS.values()), stated),
        "orders": (("data", "recipe", "datapath", *KINDS), _rows(orders)),
        "still": sum(not any(item["changed"] for item in row["kinds"].values()) for row in orders),
    }


def _rows(orders: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found = []
    for row in orders:
        if any(item["changed"] for item in row["kinds"].values()):
            cells = (_cell(row["kinds"].get(kind)) for kind in KINDS)
            found.append((row["data"], Code(row["recipe"]), Code(row["datapath"]), *cells))
    return found


def _cell(found: dict[str, float] | None) -> str:
    if found is None:
        return "-"
    return f"{100 * found['changed']:.3g} %, {found['largest_ulp']:.3g}" if found["changed"] else "0"
