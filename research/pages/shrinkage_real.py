"""The section of the shrinkage page on real tensors: MiniLM, and tensors captured elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

from emu.pages.render import Code
from research.minilm import PARTS
from research.pages.charts import Axis, Dots, Mark
from research.pages.shrinkage_tables import GRID_NAMES, arrow, plain
from research.reproduction.compare import E1M2, E2M1, VERDICTS, amplifications, names, pair

Record = dict[str, Any]
Rows = list[dict[str, Any]]
Columns = list[tuple[str, Callable[[tuple[float, float]], str]]]
FIGURES: Columns = [("sqnr_db", arrow), ("alpha", lambda pair: plain(pair, 4))]


def real_tables(record: Record) -> dict[str, Any]:
    """Return the tables of the section, by the names that the template has for them."""
    model, captured = record["model"], record.get("captured")
    activations, weights = (_kind(model["tensors"], kind) for kind in ("activation", "weight"))
    real = {
        "activations": _means(activations, FIGURES),
        "weights": _means(weights, FIGURES),
        "products": _means(model["gemm"], [("sqnr_db", arrow), ("eta", lambda pair: plain(pair, 4))]),
        "verdicts": [_verdict(activations, "activation"), _verdict(weights, "weight")],
    }
    return {"real": real, "captured": _captured(captured) if captured else None}


def _kind(found: Rows, kind: str) -> Rows:
    return [row for row in found if row["kind"] == kind]


def _mean(found: Rows, part: str, recipe: str, name: str) -> tuple[float, float]:
    pairs = [pair(found, tensor, recipe, name) for tensor in names(found) if f"_{part}" in tensor]
    return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)


def _means(found: Rows, columns: Columns) -> list[tuple[str, ...]]:
    parts = [part for part in PARTS if any(f"_{part}" in row["data"] for row in found)]
    return [(part, *(show(_mean(found, part, recipe, name)) for name, show in columns for recipe in (E2M1, E1M2))) for part in parts]


def _verdict(found: Rows, what: str) -> tuple[str, int, list[int], list[str]]:
    """Return on how many tensors of a kind RHT raises SQNR, for both grids, and where alpha of E2M1 goes."""
    groups = amplifications(found)
    gains = {recipe: [pair(found, name, recipe, "sqnr_db") for name in names(found)] for recipe in (E2M1, E1M2)}
    better = [sum(after > before for before, after in pairs) for pairs in gains.values()]
    return what, len(names(found)), better, [f"{word} on {len(groups[word])}" for word in VERDICTS]


def _captured(captured: Record) -> Record:
    known = captured["from"]
    return {
        "run": (Code(known["run"]), f", step {known['step']}") if known else Code(captured["file"]),
        "count": len(captured["digests"]),
        "command": TRAIN,
        "file": captured["file"],
        "operands": _operands(captured["tensors"]),
        "products": _products(captured["gemm"]),
    }


TRAIN = "python -m research train --config decoder_cpu --only dense_64 --only ufp4 --seeds 0 --capture 100"


def _ending(found: Rows, parts: int) -> list[str]:
    """Return the last parts of the names of rows, each once."""
    return sorted({".".join(row["data"].split(".")[-parts:]) for row in found})


def _over(found: Rows, ending: str, recipe: str, name: str) -> tuple[float, float]:
    pairs = [pair(found, tensor, recipe, name) for tensor in names(found, ending)]
    return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)


def _operands(found: Rows) -> list[tuple[Any, ...]]:
    lines = []
    for operand in _ending(found, 2):
        figures = [arrow(_over(found, operand, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        gains = [plain(_over(found, operand, recipe, "alpha"), 4) for recipe in (E2M1, E1M2)]
        lines.append((Code(operand), *figures, *gains))
    return lines


def _products(found: Rows) -> list[tuple[Any, ...]]:
    lines = []
    for gemm in _ending(found, 1):
        figures = [arrow(_over(found, gemm, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        lines.append((gemm, *figures, *(plain(_over(found, gemm, recipe, "eta"), 4) for recipe in (E2M1, E1M2))))
    return lines


def real_chart(record: Record) -> Dots:
    """Return SQNR of the activations of the model."""
    found = _kind(record["model"]["tensors"], "activation")
    data = names(found)
    marks = [
        Mark(data.index(row["data"]), list(GRID_NAMES).index(row["recipe"]), row["sqnr_db"], row["transform"] is None) for row in found
    ]
    low, high = int(min(mark.value for mark in marks)), int(max(mark.value for mark in marks)) + 1
    axis = Axis("SQNR, dB", float(low), float(high), [(float(db), str(db)) for db in range(low, high + 1)])
    return Dots("SQNR of MiniLM's activations", axis, data, list(GRID_NAMES.values()), marks, ("as it is", "rotated"))
