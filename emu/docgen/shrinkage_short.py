"""What the shrinkage page says first: what agrees with the paper, what does not; every number from the record."""

from __future__ import annotations

from typing import Any

from emu.docgen.markdown import prose
from emu.docgen.shrinkage_tables import e8m0_leads, plain
from research.reproduction.compare import E1M2, E2M1, FC2, OUTLIERS, VERDICTS, amplifications, names, pair, pick
from research.reproduction.data import FP32_ROTATION, ROTATION
from research.reproduction.record import RESTRICTED

Record = dict[str, Any]


def short_lines(record: Record) -> list[str]:
    """Return the section in short."""
    return ["## In short", "", *_agreeing(record), "", "What does not agree, or is less than it sounds:", "", *_contradicting(record), ""]


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


def _agreeing(record: Record) -> list[str]:
    found, model, gemm = record["tensors"], record["model"]["tensors"], record["gemm"]
    e2m1, e1m2 = (plain(pair(found, OUTLIERS, recipe, "sqnr_db"), 2) for recipe in (E2M1, E1M2))
    layers = names(model, FC2)
    turned = sum(_reversed(model, name) for name in layers)
    last, uniform = _end(record, E2M1), _end(record, E1M2)
    products = [plain(pair(gemm, OUTLIERS, recipe, "sqnr_db"), 2) for recipe in (E2M1, E1M2)]
    return [
        prose(
            f"- **RHT turns the order of the grids round** where there are outliers: SQNR {e2m1} dB for E2M1, ",
            f"{e1m2} dB for E1M2 (drawn); on the ",
            f"inputs of MiniLM's second feed-forward layers in {turned} of {len(layers)} layers{_captured(record)}; for products ",
            f"{products[0]} and {products[1]} dB.",
        ),
        prose(
            "- **The bins of E2M1 at 2 and 4 are biased**, those of E1M2, INT4 and E0M3 are not; normal ",
            "operands give a product with eta ",
            f"{pick(gemm, 'gaussian', E2M1, False)['eta']:.5f} against {pick(gemm, 'gaussian', E1M2, False)['eta']:.5f}.",
        ),
        prose(
            f"- **Gains multiply**: after {last['layers']} layers eta is {last['eta']:.4f} where the product ",
            "of the operands' gains says ",
            f"{last['alpha_product']:.4f} (E2M1), {uniform['eta']:.4f} and {uniform['alpha_product']:.4f} (E1M2).",
        ),
        prose(
            "- **INT4, E1M2 and E0M3 are one grid**: the same steps, scales and results bit for bit where the ",
            "operations have the same order.",
        ),
    ]


def _captured(record: Record) -> str:
    """Say on how many gradients of a captured training step the order turns round."""
    if not record.get("captured"):
        return ""
    found = record["captured"]["tensors"]
    gradients = names(found, "wgrad.dy")
    return (
        f", on the gradients that wgrad reads in a training step in {sum(_reversed(found, name) for name in gradients)} of {len(gradients)}"
    )


def _reversed(found: list[dict[str, Any]], name: str) -> bool:
    e2m1, e1m2 = (pair(found, name, recipe, "sqnr_db") for recipe in (E2M1, E1M2))
    return e2m1[0] > e1m2[0] and e2m1[1] < e1m2[1]


def _contradicting(record: Record) -> list[str]:
    found, model = record["tensors"], record["model"]["tensors"]
    drawn = amplifications(found)
    activations, weights = (amplifications([row for row in model if row["kind"] == kind]) for kind in ("activation", "weight"))
    counts = [f"{len(groups[VERDICTS[0]])} of {sum(map(len, groups.values()))}" for groups in (drawn, activations, weights)]
    share = max(row["coherent_share"] for row in found)
    last, uniform, part = _end(record, E2M1), _end(record, E1M2), _end(record, RESTRICTED[0])
    leads = [db for _, _, db in e8m0_leads(record)]
    shrinks = "does not shrink" if last["norm_ratio"] >= 1 else "shrinks"
    return [
        prose(
            f"- **RHT does not always amplify the shrinkage of E2M1.** alpha moves further below one on {counts[0]} drawn tensors ",
            f"({', '.join(drawn[VERDICTS[0]]) or 'none'}), {counts[1]} activations and {counts[2]} weights of ",
            "MiniLM. On strongly modulated blocks it moves ",
            f"towards one or above: {plain(pair(found, OUTLIERS, E2M1, 'alpha'), 5)} and ",
            f"{plain(pair(found, 'lognormal_1.2', E2M1, 'alpha'), 5)}.",
        ),
        prose(
            "- **The loss of SQNR is not the bias.** The coherent part, (1 - alpha)^2, is at most ",
            f"{100 * share:.1f} % of NMSE on the drawn tensors; ",
            "the bias concerns products of many layers.",
        ),
        prose(
            f"- **The length {shrinks}.** After {last['layers']} layers of E2M1 the projection is {last['eta']:.3f}, the length ",
            f"{last['norm_ratio']:.3f} of the exact one: noise fills in. With E1M2 the length grows to ",
            f"{uniform['norm_ratio']:.3f}, its gain to ",
            f"{uniform['eta']:.3f}; the angle is better (cosine {uniform['cosine']:.3f} against {last['cosine']:.3f}).",
        ),
        prose(
            f"- **No bias is not yet a good grid.** E2M1 up to 2 has eta {part['eta']:.3f} after ",
            f"{part['layers']} layers, and a cosine of ",
            f"{part['cosine']:.3f}.",
        ),
        _distance(record),
        _rounded(record),
        prose(
            "- **Without RHT the uniform grid is the worse one on outliers**, in the paper and here; with E8M0 scales it loses its lead: ",
            f"{min(leads):+.2f} to {max(leads):+.2f} dB against the best rule of E2M1, rotated or not.",
        ),
    ]


def _rounded(record: Record) -> str:
    """Say what rounding to bf16 after the rotation does to alpha."""
    found = {(row["source"], row["transform"], row["recipe"]): row["alpha"] for row in record["precision"]}
    wide, narrow = (found["fp32", rotation, E1M2] for rotation in (FP32_ROTATION, ROTATION))
    return prose(
        "- **The precision after the rotation, left open, moves the gain of the uniform grid**: alpha of E1M2 on normal numbers ",
        f"is {wide:.5f} with binary32 and {narrow:.5f} with bf16 values.",
    )


def _distance(record: Record) -> str:
    """Say where a product's gain is not the product of the gains."""
    found = record["model"]["gemm"]
    far = max(found, key=lambda row: abs(row["eta"] - row["alpha_product"]))
    near = max(abs(row["eta"] - row["alpha_product"]) for row in record["gemm"])
    return prose(
        f"- **eta is not alpha_A alpha_B on every real product.** On drawn ones they differ by at most {near:.4f}; on MiniLM's by up to ",
        f"{abs(far['eta'] - far['alpha_product']):.3f} (`{far['data']}`, {far['recipe']}{', rotated' if far['transform'] else ''}: ",
        f"{far['alpha_product']:.4f} and {far['eta']:.4f}): there the errors of the operands are no noise to each other.",
    )
