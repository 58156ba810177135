"""The chapter for architects: what a uniform 4-bit grid gains and costs, from the records of the studies. Not here: those pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.docgen.markdown import code, fence, link, prose, table
from emu.docgen.uniform_grid_cost import cost_lines, ratio_of
from emu.docgen.uniform_grid_training import training_lines, training_short
from research.cost import measure as cost
from research.datapath import study as datapath_study
from research.reproduction import record as study
from research.train import results as training

PAGE: Final = "docs/uniform_grid.md"
SOURCES: Final = (study, datapath_study, cost, training)
MARK: Final = "<!-- generated from docs/evidence by: emu docs build -->"
GRIDS: Final = ("e2m1_fp32scale", "e1m2_fp32scale")
DATA: Final = {"gaussian": "normal numbers", "laplace": "Laplace", "lognormal_1.0": "outliers in every block, N exp(N')"}
Record = dict[str, Any]


def uniform_grid_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the chapter; nothing where a record is missing. Raises: FileError (a damaged record)."""
    if not all((root / source.RECORD).is_file() for source in SOURCES):
        return {}
    found, errors, gates, runs = (source.read_record(root / source.RECORD) for source in SOURCES)
    lines = [MARK, "", *_head(runs), *_short(found, gates, runs), *_grid(found), *_gain(found), *_needs(found)]
    lines += [*cost_lines(gates, errors), *training_lines(runs), *_against(found), *_limits()]
    return {PAGE: "\n".join(lines) + "\n"}


def _head(runs: Record) -> list[str]:
    commands = [source.COMMAND for source in (study, datapath_study, cost)] + [item["command"] for item in runs.values()]
    return [
        "# A uniform 4-bit grid: what it gains and what it costs",
        "",
        prose(
            "For architects who decide whether the next matrix unit takes E1M2 (or INT4, or E0M3: one grid) beside E2M1. Every "
            "number here is ",
            "taken from a record that one command of this project makes; none is quoted from elsewhere. The pages behind the "
            "links have the rest.",
        ),
        "",
        *fence([*commands, "emu docs build                                        # this page"]),
        "",
    ]


def tensor_of(record: Record, data: str, recipe: str, rotated: bool) -> Record:
    """Return the figures of a tensor under an element grid with a binary32 scale. Raises: FileError (the record lacks it)."""
    return study_row(record["tensors"], data=data, recipe=recipe, rotated=rotated)


def study_row(rows: Iterable[Record], rotated: bool | None = None, **wanted: Any) -> Record:
    """Return the row with these facts. A recipe that rotates by itself stands for its grid, rotated. Raises: FileError (no such row)."""
    for row in rows:
        names = {"ufp4": "e1m2_fp32scale"}
        own = {**row, "recipe": names.get(row.get("recipe", ""), row.get("recipe"))}
        turned = row.get("transform") is not None or row.get("recipe") in names
        if all(own.get(key) == value for key, value in wanted.items()) and rotated in (None, turned):
            return row
    raise FileError(f"{study.RECORD}: no row with {wanted}, rotated: {rotated}: make it again: {study.COMMAND}")


def _short(found: Record, gates: Record, runs: Record) -> list[str]:
    lead = {
        (data, turned): tensor_of(found, data, GRIDS[1], turned)["sqnr_db"] - tensor_of(found, data, GRIDS[0], turned)["sqnr_db"]
        for data in DATA
        for turned in (False, True)
    }
    return [
        "## In short",
        "",
        prose(
            "- **With a rotation the uniform grid is the better one, without it only on data without outliers.** E1M2 against "
            "E2M1, same scales: ",
            "; ".join(f"{text} {lead[data, False]:+.2f} dB, rotated {lead[data, True]:+.2f} dB" for data, text in DATA.items()),
            ". [shrinkage.md](shrinkage.md)",
        ),
        prose(
            f"- **It needs less logic**: {ratio_of(gates, 'product')} of the gates for a product, "
            f"{ratio_of(gates, 'lane_nv_like')} for a whole ",
            f"lane of 64 products. As INT4, with its code for -8, it does not: {ratio_of(gates, 'product', 'int4')} and ",
            f"{ratio_of(gates, 'lane_nv_like', 'int4')}. [hardware_cost.md](hardware_cost.md)",
        ),
        "- **It needs a scale with a fraction.** Under powers of two (E8M0) it loses its lead, or nearly all of it: table below.",
        *training_short(runs),
        "",
    ]


def _grid(found: Record) -> list[str]:
    same = [row for row in found["equivalence"]["recipes"] if not row["steps"] and not row["scales"] and not row["values"]]
    other = sorted({f"`{row['other']}`" for row in found["equivalence"]["recipes"]} - {f"`{row['other']}`" for row in same})
    forms = ("prop_cvt_e1m2x2", "prop_cvt_e1m2x4", "prop_cvt_s4x2", "prop_mma_4bit", "prop_mma_4bit_fp32scale", "prop_rht_quantize")
    return [
        "## One grid, three codes",
        "",
        prose(
            f"{link('format', 'e1m2', 'reference/')} has the values k/4, {link('format', 'int4', 'reference/')} and ",
            f"{link('format', 'e0m3', 'reference/')} the values k, for k = -7 .. 7. In {len(same)} of "
            f"{len(found['equivalence']['recipes'])} pairs of ",
            "recipes that differ in the element alone, steps, scales and dequantized values are the same up to that power of "
            "two, bit for bit; the ",
            f"others ({', '.join(other)}) have their operations in another order. So a unit that multiplies one multiplies all "
            "three; only the ",
            "decoder in front of it differs.",
        ),
        "",
        "Semantics to build from, executable and with golden vectors: "
        + ", ".join(link("instruction", name, "reference/") for name in forms)
        + ".",
        "",
    ]


def _gain(found: Record) -> list[str]:
    rows = []
    for data, text in DATA.items():
        for turned in (False, True):
            low, high = (tensor_of(found, data, recipe, turned) for recipe in GRIDS)
            rows.append(
                [
                    text,
                    "yes" if turned else "no",
                    f"{low['sqnr_db']:.2f}",
                    f"{high['sqnr_db']:.2f}",
                    f"{high['sqnr_db'] - low['sqnr_db']:+.2f}",
                ]
                + [f"{item[key]:.4f}" for key in ("alpha", "bucket_ratio") for item in (low, high)]
            )
    last = max(row["layers"] for row in found["depth"])
    depth = {recipe: study_row(found["depth"], weights="orthogonal", recipe=recipe, layers=last, transform=None) for recipe in GRIDS}
    return [
        "## What it gains",
        "",
        *table(
            ("data", "rotated", "SQNR E2M1, dB", "SQNR E1M2, dB", "lead, dB", "alpha E2M1", "alpha E1M2", "B_eff E2M1", "B_eff E1M2"),
            rows, range(2, 9),
        ),
        "",
        prose(
            "alpha: gain of the quantized tensor; below one it shrank. B_eff: share of the codes in use. Blocks of 16, binary32 scales. ",
            f"Gains multiply with depth: {last} linear layers keep {depth[GRIDS[0]]['eta']:.3f} of the exact output with E2M1 and ",
            f"{depth[GRIDS[1]]['eta']:.3f} with E1M2 (projection), at a cosine of {depth[GRIDS[0]]['cosine']:.3f} and "
            f"{depth[GRIDS[1]]['cosine']:.3f}.",
        ),
        "",
        "`python -m research reproduce --part tensors`, `python -m research depth --full`",
        "",
        *_model(found),
    ]  # fmt: skip


def _model(found: Record) -> list[str]:
    parts = list(dict.fromkeys(row["data"].split("_")[1] for row in found["model"]["gemm"]))
    rows = []
    for part in parts:
        layers = sorted({row["data"] for row in found["model"]["gemm"] if row["data"].split("_")[1] == part})
        cells = []
        for turned in (False, True):
            leads = [_lead(found["model"]["gemm"], name, turned) for name in layers]
            cells += [f"{sum(leads) / len(leads):+.2f}", f"{sum(lead > 0 for lead in leads)} of {len(leads)}"]
        rows.append([part, *cells])
    return [
        (
            "Products X W^T of a real model (MiniLM, both operands quantized), SQNR of E1M2 above E2M1, mean over layers, and in how "
            "many it is above:"
        ),
        "",
        *table(("product", "as given, dB", "layers", "rotated, dB", "layers"), rows, (1, 3)),
        "",
        "`python -m research reproduce --part model`",
        "",
    ]


def _lead(rows: list[Record], data: str, turned: bool) -> float:
    low, high = (study_row(rows, data=data, recipe=recipe, rotated=turned)["sqnr_db"] for recipe in GRIDS)
    return float(high - low)


def _needs(found: Record) -> list[str]:
    keys = list(dict.fromkeys((row["codec"], row["block"]) for row in found["scales"]))
    rows = []
    for codec, block in keys:
        cells = []
        for data in ("gaussian", "lognormal_1.0"):
            best = {
                element: max(row["sqnr_db"] for row in found["scales"] if _is(row, codec, block, data, element))
                for element in ("e2m1", "e1m2")
            }
            cells += [f"{best['e2m1']:.2f}", f"{best['e1m2']:.2f}", f"{best['e1m2'] - best['e2m1']:+.2f}"]
        rows.append([code(codec), str(block), *cells])
    return [
        "## What it needs: a scale with a fraction",
        "",
        prose(
            "SQNR in dB, each element with or without rotation, whichever is better. A scale that is a power of two puts the "
            "maximum of a block ",
            "anywhere in an octave; E2M1 has small steps left below it, the uniform grid has not.",
        ),
        "",
        *table(
            ("scale", "block", "normal: E2M1", "E1M2", "lead", "outliers: E2M1", "E1M2", "lead"), rows, range(2, 8),
        ),
        "",
        "`emu study scales`",
        "",
    ]  # fmt: skip


def _is(row: Record, codec: str, block: int, data: str, element: str) -> bool:
    return bool(row["codec"] == codec and row["block"] == block and row["data"] == data and row["element"] == element)


def _against(found: Record) -> list[str]:
    lead = tensor_of(found, "lognormal_1.0", GRIDS[0], False)["sqnr_db"] - tensor_of(found, "lognormal_1.0", GRIDS[1], False)["sqnr_db"]
    share = max(row["coherent_share"] for row in found["tensors"])
    return [
        "## What speaks against it",
        "",
        (
            f"- Tensors that cannot be rotated: E2M1 leads by {lead:.2f} dB on outliers in every block. A unit without a rotation in "
            "front should keep E2M1."
        ),
        prose(
            f"- The bias itself is small: its part of the squared error is at most {100 * share:.1f} % on these tensors. What the "
            "grid gains on one ",
            "tensor it gains by finer steps near the maximum; the bias counts over many layers. What pulls in is the bins at 2 and 4; the ",
            "outermost bin and the slope of the density push out, and more of the shrinkage is the error itself: `emu study bias`, ",
            "[howto_study.md](howto_study.md).",
        ),
        (
            "- The rotation costs additions, registers and a pass over the data. How much time, no GPU has told here yet: "
            "[gpu_evidence.md](gpu_evidence.md)."
        ),
        (
            "- Four bits can do better than either grid on tensors that are not rotated: NF4's codebook, `emu study tensor --regime`. "
            "It has no cheap multiplier."
        ),
        (
            "- MXFP4 checkpoints have E8M0 scales and E2M1 codes; a unit for both needs E2M1 anyway, and then the mixed product of "
            "[hardware_cost.md](hardware_cost.md)."
        ),
        "",
    ]


def _limits() -> list[str]:
    return [
        "## What is not known here",
        "",
        "Energy, area and delay in a real process; training at the size of the models that the decision is about; what vendors plan.",
    ]
