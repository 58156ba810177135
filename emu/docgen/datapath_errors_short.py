"""What the page of datapath errors says first: sentences, each with the numbers it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.docgen.markdown import prose

Record = dict[str, Any]


def cells(record: Record) -> Iterator[tuple[Record, str, dict[str, float]]]:
    """Yield (row, datapath, figures) of every measured cell."""
    for row in record["errors"]:
        for name, found in row["datapaths"].items():
            yield row, name, found


def short_lines(record: Record) -> list[str]:
    """Say what the figures say, each sentence with the numbers it stands on."""
    found = list(cells(record))
    rows = record["errors"]
    low, high = (pick(row["quantization"] for row in rows) for pick in (min, max))
    worst = max(item["relative"] for _, _, item in found)
    ratio = min(row["quantization"] / item["relative"] for row, _, item in found if item["relative"])
    exact = [item for item in found if not item[2]["relative"]]
    lines = [
        "## In short",
        "",
        prose(
            f"- **Quantization decides.** Its relative error lies between {low:.3g} and {high:.3g} over all ",
            f"{len(rows)} products; the largest that any ",
            f"datapath adds is {worst:.2g}, at least {_round_down(ratio)} times less than the quantization error of ",
            "the same product.",
        ),
        prose(
            f"- **Often the datapath adds nothing at all**: in {len(exact)} of {len(found)} cells every result is the ",
            "exact sum. ",
            "Products of 4-bit elements under 4-bit scale significands are so short that even a long sum fits the 24 ",
            "bits of binary32.",
        ),
        *_toward_zero(record),
        *_grids(record),
    ]
    return [*lines, ""]


def _round_down(ratio: float) -> str:
    """Return a count with one significant digit, rounded down."""
    digits = len(str(int(ratio))) - 1
    return f"{int(ratio) // 10**digits * 10**digits:,}".replace(",", " ")


def _toward_zero(record: Record) -> list[str]:
    """Compare F of the reported adder with F exact, and rounding toward zero with nearest even."""
    pairs = [
        (paths["nv_like"], paths["nv_like_exact"], paths["ideal"])
        for paths in (row["datapaths"] for row in record["errors"])
        if {"nv_like", "nv_like_exact", "ideal"} <= set(paths)
    ]
    same = sum(first["relative"] == second["relative"] for first, second, _ in pairs)
    wide = [item for item in pairs if item[2]["relative"]]
    times = [first["relative"] / third["relative"] for first, _, third in wide]
    return [
        prose(
            "- **Rounding costs more than alignment.** With UE4M3 scales, `nv_like` (F = 35) and `nv_like_exact` ",
            "(nothing lost before the ",
            f"rounding) have the same error in {same} of {len(pairs)} products. Rounding each instruction toward zero ",
            "instead of to nearest makes it ",
            f"{min(times):.2g} to {max(times):.2g} times as large where there is any.",
        ),
    ]


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
    return [
        prose(
            f"- **E1M2 against E2M1**, same scales and data: the uniform grid has the smaller error in {' and in '.join(texts)}. ",
            f"Each scale format stands for {len(record['data'])} products; the E8M0 recipes share a rule that suits E2M1.",
        ),
    ]
