"""What the page of datapath errors says first: sentences, each with the numbers it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]


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
    return {
        "low": min(row["quantization"] for row in rows),
        "high": max(row["quantization"] for row in rows),
        "products": len(rows),
        "worst": max(item["relative"] for _, _, item in found),
        "ratio": _round_down(min(row["quantization"] / item["relative"] for row, _, item in found if item["relative"])),
        "exact": sum(not item["relative"] for _, _, item in found),
        "cells": len(found),
        "same": sum(first["relative"] == second["relative"] for first, second, _ in pairs),
        "pairs": len(pairs),
        "times": [first["relative"] / third["relative"] for first, _, third in pairs if third["relative"]],
        "grids": _grids(record),
    }


def _round_down(ratio: float) -> str:
    """Return a count with one significant digit, rounded down."""
    digits = len(str(int(ratio))) - 1
    return f"{int(ratio) // 10**digits * 10**digits:,}".replace(",", " ")


def _grids(record: Record) -> list[str]:
    """Count where the uniform grid has the smaller quantization error, by rotation and scale format."""
    facts = {item["recipe"]: (item["element"], item["scale"]) for item in record["recipes"]}
    found = {
        (row["rotation"] != "none", facts[row["recipe"]][1], row["data"], facts[row["recipe"]][0]): row["quantization"]
        for row in record["errors"]
    }
    scales = list(dict.fromkeys(scale for _, scale in facts.values()))
    texts = []
    for rotated in (False, True):
        won = {
            scale: [found[key] < found[*key[:3], "e2m1"] for key in found if key[:2] == (rotated, scale) and key[3] == "e1m2"]
            for scale in scales
        }
        counts = ", ".join(f"{scale} {sum(duels)}" for scale, duels in won.items())
        texts.append(
            f"{sum(map(sum, won.values()))} of {sum(map(len, won.values()))} products {'rotated' if rotated else 'as given'} ({counts})"
        )
    return texts
