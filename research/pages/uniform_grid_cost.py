"""The part of the architects' chapter about gates and adder widths."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code
from research.cost.measure import rules

Record = dict[str, Any]
PARTS = ("product", "dot16", "lane_nv_like", "lane_int64", "convert_fp32", "convert_bf16")


def _gates(record: Record, part: str, operands: str) -> float:
    found = next(design for design in record["designs"] if (design["part"], design["operands"]) == (part, operands))
    return float(found["transistors"]) / int(rules()["transistors_of_one_ge"])


def ratio_of(record: Record, part: str, operands: str = "e1m2", base: str = "e2m1") -> str:
    """Return gates of a part for one pair of operands against another, two digits."""
    return f"{_gates(record, part, operands) / _gates(record, part, base):.2f}"


def cost_tables(gates: Record, errors: Record) -> Record:
    """Return what the parts of a datapath take with each element, and the widths that follow from the formats."""
    return {
        "gates": [
            (
                Code(part),
                *(f"{_gates(gates, part, element):.0f}" for element in ("e2m1", "e1m2", "int4")),
                ratio_of(gates, part),
                ratio_of(gates, part, "int4"),
            )
            for part in PARTS
        ],
        "widths": [
            [row[key] for key in ("pair", "group_sum", "adder_bits", "reported_adder_bits", "fixed_point_bits")]
            for row in errors["proof"]["pairs"]
        ],
        "yosys": gates["yosys"],
    }
