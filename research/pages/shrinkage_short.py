"""What the shrinkage page says first: what agrees with the paper, what does not; every number from the record."""

from __future__ import annotations

from typing import Any

from research.pages.shrinkage_tables import e8m0_leads, plain
from research.reproduction.compare import E1M2, E2M1, FC2, OUTLIERS, VERDICTS, amplifications, names, pair, pick
from research.reproduction.data import FP32_ROTATION, ROTATION
from research.reproduction.record import RESTRICTED

Record = dict[str, Any]


def short_figures(record: Record) -> Record:
    """Return the figures that the sentences of the section stand on."""
    found, model, gemm = record["tensors"], record["model"], record["gemm"]
    drawn = amplifications(found)
    kinds = (amplifications([row for row in model["tensors"] if row["kind"] == kind]) for kind in ("activation", "weight"))
    layers = names(model["tensors"], FC2)
    alphas = {(row["source"], row["transform"], row["recipe"]): row["alpha"] for row in record["precision"]}
    return {
        "outliers": [plain(pair(found, OUTLIERS, recipe, "sqnr_db"), 2) for recipe in (E2M1, E1M2)],
        "products": [plain(pair(gemm, OUTLIERS, recipe, "sqnr_db"), 2) for recipe in (E2M1, E1M2)],
        "turned": sum(_reversed(model["tensors"], name) for name in layers),
        "layers": len(layers),
        "gradients": _gradients(record),
        "eta": [pick(gemm, "gaussian", recipe, False)["eta"] for recipe in (E2M1, E1M2)],
        "last": _end(record, E2M1),
        "uniform": _end(record, E1M2),
        "part": _end(record, RESTRICTED[0]),
        "amplified": drawn[VERDICTS[0]],
        "counts": [f"{len(groups[VERDICTS[0]])} of {sum(map(len, groups.values()))}" for groups in (drawn, *kinds)],
        "modulated": [plain(pair(found, name, E2M1, "alpha"), 5) for name in (OUTLIERS, "lognormal_1.2")],
        "share": max(row["coherent_share"] for row in found),
        "far": max(model["gemm"], key=lambda row: abs(row["eta"] - row["alpha_product"])),
        "near": max(abs(row["eta"] - row["alpha_product"]) for row in gemm),
        "wide": alphas["fp32", FP32_ROTATION, E1M2],
        "narrow": alphas["fp32", ROTATION, E1M2],
        "leads": [db for _, _, db in e8m0_leads(record)],
    }


def _end(record: Record, recipe: str, rotated: bool = False) -> dict[str, Any]:
    layers = record["setting"]["depth"]["layers"]
    return next(
        row
        for row in record["depth"]
        if row["recipe"] == recipe
        and (row["transform"] is not None) == rotated
        and row["weights"] == "orthogonal"
        and row["layers"] == layers
    )


def _gradients(record: Record) -> tuple[int, int] | None:
    """Return on how many gradients of a captured training step the order turns round, of how many."""
    if not record.get("captured"):
        return None
    found = record["captured"]["tensors"]
    gradients = names(found, "wgrad.dy")
    return sum(_reversed(found, name) for name in gradients), len(gradients)


def _reversed(found: list[dict[str, Any]], name: str) -> bool:
    e2m1, e1m2 = (pair(found, name, recipe, "sqnr_db") for recipe in (E2M1, E1M2))
    return e2m1[0] > e1m2[0] and e2m1[1] < e1m2[1]
