"""The part of the architects' chapter about gates and adder widths."""

from __future__ import annotations

from typing import Any

from emu.docgen.markdown import code, table
from research.cost.measure import rules

Record = dict[str, Any]
PARTS = ("product", "dot16", "lane_nv_like", "lane_int64", "convert_fp32", "convert_bf16")


def _gates(record: Record, part: str, operands: str) -> float:
    found = next(design for design in record["designs"] if (design["part"], design["operands"]) == (part, operands))
    return float(found["transistors"]) / int(rules()["transistors_of_one_ge"])


def ratio_of(record: Record, part: str, operands: str = "e1m2", base: str = "e2m1") -> str:
    """Return gates of a part for one pair of operands against another, two digits."""
    return f"{_gates(record, part, operands) / _gates(record, part, base):.2f}"


def cost_lines(gates: Record, errors: Record) -> list[str]:
    """Say what the parts of a datapath take with each element."""
    rows = [
        [
            code(part),
            *(f"{_gates(gates, part, element):.0f}" for element in ("e2m1", "e1m2", "int4")),
            ratio_of(gates, part),
            ratio_of(gates, part, "int4"),
        ]
        for part in PARTS
    ]
    widths = [
        [
            row["pair"].replace(" x ", " x "),
            str(row["group_sum"]),
            str(row["adder_bits"]),
            str(row["reported_adder_bits"]),
            str(row["fixed_point_bits"]),
        ]
        for row in errors["proof"]["pairs"]
    ]
    return [
        "## What it costs in gates",
        "",
        *table(("part", "E2M1, GE", "E1M2, GE", "INT4, GE", "E1M2 / E2M1", "INT4 / E2M1"), rows, range(1, 6)),
        "",
        f"Gate equivalents after synthesis by {gates['yosys']}: sizes to compare with each other, no area and no delay.",
        "",
        "Widths that follow from the formats (UE4M3 scales, groups of 16, four groups and C):",
        "",
        *table(
            ("operands", "largest group sum", "adder, exact sum", "adder, reported F", "fixed point, one instruction"),
            widths, range(1, 5),
        ),
        "",
        "`python -m research cost`, `python -m research datapath --part proof`",
        "",
    ]  # fmt: skip
