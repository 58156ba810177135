"""The section of gradients of a real model on the page of training, from their record. Not here: comparisons (gradient_results)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu.pages.render import Code
from emu.spec.training import GEMMS
from research.forks.statistics import Outcome, detectable
from research.models.gradient_results import FIGURES, MARGIN, ORDERS, compared, lines_of, null_spread
from research.models.gradients import FORWARDS, KIND, RECORD, TRAININGS, plan

Data = dict[str, Any]
SHOWN = ("ufp4", "e2m1_baseline")


def gradients_section(root: Path) -> Data | None:
    """Return what the template shows of gradients; None where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return None
    record = KIND.read(root / RECORD)
    trainings = [name for name in TRAININGS if lines_of(record, name)]
    main = compared(record, "exact", *SHOWN)
    spreads = {figure: null_spread(record, figure) for figure in FIGURES}
    products = {name: [_product(record, gemm, name) for gemm in GEMMS] for name in trainings if name != "bf16"}
    every = [figures for some in products.values() for figures in some]
    each = {gemm: compared(record, gemm, *SHOWN) for gemm in GEMMS}
    return {
        **record,
        "record_path": RECORD,
        "record_name": RECORD.removeprefix("docs/"),
        "done": len(record["lines"]),
        "planned": len(plan()),
        "count": len(main.values),
        "ratio": _ratio(main),
        "wins": sum(value < 0 for value in main.values),
        "spread": f"{100 * spreads['exact']:.0f}",
        "each": {gemm: _ratio(found) for gemm, found in each.items()},
        "least_margin": f"{min(-found.mean / spreads[gemm] for gemm, found in each.items()):.0f}",
        "quantized": "differ" if _sure(compared(record, "quantized", *SHOWN)) else "cannot be told apart",
        "p": f"{main.p:.2g}",
        "whole_rows": [_whole_row(record, name) for name in trainings],
        "order_rows": [_order_row(record, order, spreads) for order in ORDERS],
        "null_row": ["null spread, %", "", *(f"{100 * spreads[figure]:.1f}" for figure in FIGURES)],
        "power_row": ["found with power 80 %, %", "", *(_least(compared(record, figure, *SHOWN)) for figure in FIGURES)],
        "product_rows": [[Code(name), *(f"{own[0]:.4f}" for own in some), *_depth(record, name)] for name, some in products.items()],
        "alphas": " to ".join(f"{pick(own[2] for own in every):.4f}" for pick in (min, max)),
        "most_coherent": f"{100 * max(own[3] for own in every):.1f}",
        "part_ends": _part_ends(record),
    }


def _ratio(found: Outcome) -> str:
    mean, low, high = found.shown(math.exp)
    return f"{mean:.3f}" + ("" if low is None or high is None else f" ({low:.3f} to {high:.3f})")


def _sure(found: Outcome) -> bool:
    return found.low is not None and found.high is not None and not found.low <= 0 <= found.high


def _least(found: Outcome) -> str:
    return f"{100 * (1 - math.exp(-detectable(found.spread, len(found.values)))):.1f}" if len(found.values) > 1 else ""


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]


def _figures(rows: Sequence[Sequence[float]]) -> list[str]:
    error, _, alpha, coherent = _mean(rows)  # the cosine follows from the others
    return [f"{error:.4f}", f"{alpha:.4f}", f"{100 * coherent:.2f}"]


def _whole_row(record: Data, name: str) -> list[Any]:
    lines = lines_of(record, name).values()
    return [Code(name), *(text for way in FORWARDS for text in _figures([line["gradient"][way]["all"] for line in lines]))]


def _order_row(record: Data, order: tuple[str, str], spreads: dict[str, float]) -> list[Any]:
    return [Code(order[0]), Code(order[1]), *(_cell(compared(record, figure, *order), spreads[figure]) for figure in FIGURES)]


def _cell(found: Outcome, spread: float) -> str:
    """Return a ratio, bold where its interval leaves 1 out by more than MARGIN null spreads of its mean."""
    return f"**{_ratio(found)}**" if _sure(found) and abs(found.mean) > MARGIN * spread else _ratio(found)


def _part_ends(record: Data) -> list[str]:
    """Return the smallest and the largest ratio of a product by itself over the types of layers."""
    products = next(iter(record["lines"].values()))["products"]
    found = {(part, gemm): compared(record, gemm, *SHOWN, part) for gemm in GEMMS for part in products[gemm]}
    ends = (pick(found, key=lambda key: found[key].mean) for pick in (min, max))
    return [f"{_ratio(found[part, gemm])} ({part}, {gemm})" for part, gemm in ends]


def _product(record: Data, gemm: str, name: str) -> list[float]:
    """Return NMSE, cosine, alpha and coherent share of a product by itself, over layers and windows."""
    return _mean([_mean(list(line["products"][gemm].values())) for line in lines_of(record, name).values()])


def _depth(record: Data, name: str) -> list[str]:
    """Return the NMSE of the gradient of the weights of the first layer, of one in the middle and of the last, exact forward."""
    mean = _mean([line["layers"]["exact"] for line in lines_of(record, name).values()])
    return [f"{mean[place]:.3f}" for place in (0, len(mean) // 2, len(mean) - 1)]
