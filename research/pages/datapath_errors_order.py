"""The section on the order of sums of the page of datapath errors."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Ref
from research.datapath.order import KINDS
from research.datapath.study import claims

WORDS = {True: "never changes", False: "may change", None: "not offered"}


def order_tables(record: dict[str, Any]) -> dict[str, Any]:
    """Return the table of the section and the count of products that no order changes, by the names that the template has for them."""
    orders = record["orders"]
    rows = [(Ref("datapath", item["datapath"]), *(_cell(item, kind, orders) for kind in KINDS)) for item in claims()]
    return {
        "claims": (("datapath", *KINDS.values()), rows),
        "products": len(orders),
        "still": sum(not any(item["changed"] for item in row["kinds"].values()) for row in orders),
    }


def _cell(claim: dict[str, Any], kind: str, orders: list[dict[str, Any]]) -> str:
    """Return what the facts say of one kind of order, and the largest change that was measured where they allow one."""
    found = [row["kinds"][kind] for row in orders if row["datapath"] == claim["datapath"] and kind in row["kinds"]]
    if claim[kind] is not False or not found:
        return WORDS[claim[kind]]
    changed, ulps = (max(item[key] for item in found) for key in ("changed", "largest_ulp"))
    return f"{WORDS[False]}: {100 * changed:.3g} %, {ulps:.3g}"
