"""What the page of datapath errors says first: a row for each element, the orders with their nulls; every number from the record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from emu.pages.render import Code
from research.forks.statistics import rms
from research.pages.charts import Axis, Dots, Mark
from research.pages.comparison import Comparison, ratio

Record = dict[str, Any]
ELEMENTS: Final = {"e2m1": "E2M1", "e1m2": "E1M2", "int4": "INT4, codes -7 to 7", "e0m3": "E0M3"}
WIDTH_OF: Final = {"int4": "e0m3"}  # without -8 INT4 has the sums of E0M3
SCALE: Final = "ue4m3"
WAYS: Final = ((True, False, "E1M2 rotated, E2M1 as given"), (False, False, "both as given"), (True, True, "both rotated"))


def cells(record: Record) -> Iterator[tuple[Record, str, dict[str, float]]]:
    """Yield (row, datapath, figures) of every measured cell."""
    for row in record["errors"]:
        for name, found in row["datapaths"].items():
            yield row, name, found


def short_figures(record: Record) -> Record:
    """Return the figures that the sentences stand on."""
    found, rows = list(cells(record)), record["errors"]
    pairs = [
        (paths["nv_like"], paths["nv_like_exact"], paths["ideal"])
        for paths in (row["datapaths"] for row in rows)
        if {"nv_like", "nv_like_exact", "ideal"} <= set(paths)
    ]
    better = orders(record)
    return {
        "elements": _elements(record),
        "low": min(row["quantization"] for row in rows),
        "high": max(row["quantization"] for row in rows),
        "products": len(rows),
        "worst": max(item["relative"] for _, _, item in found),
        "ratio": _round_down(min(row["quantization"] / item["relative"] for row, _, item in found if item["relative"])),
        "exact": sum(not item["relative"] for _, _, item in found),
        "cells": len(found),
        "lossy": _lossy(found),
        "same": sum(first["relative"] == second["relative"] for first, second, _ in pairs),
        "pairs": len(pairs),
        "times": [first["relative"] / third["relative"] for first, _, third in pairs if third["relative"]],
        "orders": [(scale, way, *item.cells(*ratio(), ("E2M1", "E1M2"))[2:]) for scale, way, item in better],
        "best": [(scale, math.exp(item.found.mean), item.verdict) for scale, way, item in better if way == WAYS[0][2]],
        "rotated": [(scale, math.exp(item.found.mean), item.verdict) for scale, way, item in better if way == WAYS[2][2]],
    }


def _lossy(found: list[tuple[Record, str, dict[str, float]]]) -> str:
    """Say where results of operands as given are not all the exact sum: `promote`, which takes binary32 scales, apart from the others."""
    given = [(row["data"], name, item["relative"]) for row, name, item in found if row["rotation"] == "none"]
    wide, others = ([item for item in given if (item[1] == "promote") == one] for one in (True, False))
    data = [f"`{name}`" for name in dict.fromkeys(name for name, _, lost in others if lost)]
    words = [f"{sum(bool(item[2]) for item in side)} of {len(side)} cells" for side in (wide, others)]
    return f"{words[0]} of `promote`, which takes binary32 scales, and in {words[1]} of the others, all of {' and '.join(data)}"


def _round_down(number: float) -> str:
    """Return a count with one significant digit, rounded down."""
    digits = len(str(int(number))) - 1
    return f"{int(number) // 10**digits * 10**digits:,}".replace(",", " ")


def _facts(record: Record) -> dict[str, tuple[str, str]]:
    return {item["recipe"]: (item["element"], item["scale"]) for item in record["recipes"]}


def _elements(record: Record) -> tuple[Any, ...]:
    """Return head, rows and number columns of the table of elements; equal widths: that of the reported adder, and the least with its F."""
    wide = record["proof"]["reported_adder_bits"]
    narrow = min(item["reported_adder_bits"] for item in record["proof"]["pairs"])
    head = ("element", "recipe", "quantization, as given", "rotated", "datapath, largest", "adder for exact sums, bits",
            "adder with F = 35, bits: lossy", *(f"lossy in {bits} bits" for bits in (wide, narrow)))  # fmt: skip
    return head, [_element_row(record, element, (wide, narrow)) for element in ELEMENTS], range(2, len(head))


def _element_row(record: Record, element: str, equal: tuple[int, ...]) -> tuple[Any, ...]:
    """Return mean errors of products under UE4M3 scales, the largest datapath error, and widths with the sums that they lose."""
    facts, proof = _facts(record), record["proof"]
    rows = [row for row in record["errors"] if facts[row["recipe"]] == (element, SCALE)]
    means = [
        math.exp(math.fsum(logs) / len(logs))
        for turned in (False, True)
        if (logs := [math.log(row["quantization"]) for row in rows if (row["rotation"] != "none") == turned])
    ]
    pair = " x ".join([WIDTH_OF.get(element, element)] * 2)
    widths = next(item for item in proof["pairs"] if item["pair"] == pair)
    lost = {item["adder_bits"]: item["lost"] for item in proof["widths"] if item["pair"] == pair}
    like = next(item for item in proof["rows"] if item["pair"] == pair)
    worst = max(row["datapaths"]["nv_like"]["relative"] for row in rows)
    reported = f"{widths['reported_adder_bits']}: {like['cancelling']['nv_like']} of {like['rows']}"
    return (
        ELEMENTS[element], Code(rows[0]["recipe"]), *(f"{mean:.3f}" for mean in means), f"{worst:.1e}", widths["adder_bits"], reported,
        *(f"{lost[bits]} of {like['rows']}" for bits in equal),
    )  # fmt: skip


def orders(record: Record) -> list[tuple[str, str, Comparison]]:
    """Return (scale, way, logarithms of error with E1M2 over error with E2M1, one for each product)."""
    facts = _facts(record)
    found = {(facts[row["recipe"]], row["data"], row["rotation"] != "none"): row["quantization"] for row in record["errors"]}
    signs = {(facts[row["recipe"]], row["data"]): row["rotated"] for row in record["nulls"]}
    data, result = [item["name"] for item in record["data"]], list[tuple[str, str, Comparison]]()
    for scale in dict.fromkeys(scale for _, scale in facts.values()):
        for high, low, way in WAYS:
            values: list[float] = []
            null: list[float] = []
            for name in data:
                keys = (("e1m2", scale), name), (("e2m1", scale), name)
                one, other = (found[*key, turned] for key, turned in zip(keys, (high, low), strict=True))
                values.append(math.log(one / other))
                for place in range(len(signs[keys[0]])):
                    again = [signs[key][place] if turned else found[*key, turned] for key, turned in zip(keys, (high, low), strict=True)]
                    null.append(math.log(again[0] / again[1]) - values[-1])
            result.append((scale, way, Comparison(f"{scale}, {way}", tuple(values), rms(null) if high or low else None)))
    return result


def widths_chart(record: Record) -> Dots:
    """Return the share of cancelling sums that lose a bit, by the width of the adder."""
    found = record["proof"]["widths"]
    rows, series = (list(dict.fromkeys(item[name] for item in found)) for name in ("adder_bits", "pair"))
    count = record["proof"]["rows"][0]["rows"]
    marks = [Mark(rows.index(item["adder_bits"]), series.index(item["pair"]), 100 * item["lost"] / count) for item in found]
    axis = Axis("sums that lose a bit, %: one group cancels under large scales", 0, 100, [(i, str(i)) for i in range(0, 101, 20)])
    return Dots("Lost sums by the width of the adder", axis, [f"{bits} bits" for bits in rows], series, marks)
