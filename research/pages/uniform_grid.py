"""The chapter for architects: what a uniform 4-bit grid gains and costs, from the records of the studies. Not here: those pages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.pages.render import Code, Links, Ref, render
from research.cost import measure as cost
from research.datapath import study as datapath_study
from research.pages import TEMPLATES
from research.pages.uniform_grid_cost import cost_tables, ratio_of
from research.pages.uniform_grid_training import training_duels, training_table
from research.reproduction import record as study
from research.train import results as training

PAGE: Final = "docs/uniform_grid.md"
SOURCES: Final = (study, datapath_study, cost, training)
GRIDS: Final = ("e2m1_fp32scale", "e1m2_fp32scale")
DATA: Final = {"gaussian": "normal numbers", "laplace": "Laplace", "lognormal_1.0": "outliers in every block, N exp(N')"}
FORMS: Final = ("prop_cvt_e1m2x2", "prop_cvt_e1m2x4", "prop_cvt_s4x2", "prop_mma_4bit", "prop_mma_4bit_fp32scale", "prop_rht_quantize")
Record = dict[str, Any]


def uniform_grid_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the chapter; nothing where a record is missing. Raises: FileError (a damaged record)."""
    if not all((root / source.RECORD).is_file() for source in SOURCES):
        return {}
    found, errors, gates, runs = (source.read_record(root / source.RECORD) for source in SOURCES)
    text = render(
        "uniform_grid",
        Links("reference/"),
        TEMPLATES,
        commands=[source.COMMAND for source in (study, datapath_study, cost)] + [item["command"] for item in runs.values()],
        leads=[(text, lead(found, data, False), lead(found, data, True)) for data, text in DATA.items()],
        ratio=partial(ratio_of, gates),
        same=_same(found["equivalence"]["recipes"]),
        forms=[Ref("instruction", name) for name in FORMS],
        gains=_gains(found),
        depth=_depth(found["depth"]),
        model=_model(found),
        scales=_scales(found),
        **cost_tables(gates, errors),
        duels=training_duels(runs),
        training=training_table(runs),
        training_commands=[Code(item["command"]) for item in runs.values()],
        against={"lead": -lead(found, "lognormal_1.0", False), "share": max(row["coherent_share"] for row in found["tensors"])},
    )
    return {PAGE: text}


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


def lead(found: Record, data: str, rotated: bool) -> float:
    """Return how many dB the SQNR of E1M2 lies above that of E2M1, on one drawn tensor."""
    low, high = (tensor_of(found, data, recipe, rotated)["sqnr_db"] for recipe in GRIDS)
    return float(high - low)


def _same(rows: list[Record]) -> Record:
    """Count the pairs of recipes in which nothing differs, and name the others."""
    same = [row for row in rows if not row["steps"] and not row["scales"] and not row["values"]]
    others = sorted({row["other"] for row in rows} - {row["other"] for row in same})
    return {"equal": len(same), "pairs": len(rows), "others": [Code(name) for name in others]}


def _gains(found: Record) -> list[list[str]]:
    rows = []
    for data, text in DATA.items():
        for turned in (False, True):
            low, high = (tensor_of(found, data, recipe, turned) for recipe in GRIDS)
            figures = [f"{low['sqnr_db']:.2f}", f"{high['sqnr_db']:.2f}", f"{high['sqnr_db'] - low['sqnr_db']:+.2f}"]
            others = [f"{item[key]:.4f}" for key in ("alpha", "bucket_ratio") for item in (low, high)]
            rows.append([text, "yes" if turned else "no", *figures, *others])
    return rows


def _depth(rows: list[Record]) -> Record:
    last = max(row["layers"] for row in rows)
    low, high = (study_row(rows, weights="orthogonal", recipe=recipe, layers=last, transform=None) for recipe in GRIDS)
    return {"layers": last, "low": low, "high": high}


def _model(found: Record) -> list[list[str]]:
    parts = list(dict.fromkeys(row["data"].split("_")[1] for row in found["model"]["gemm"]))
    rows = []
    for part in parts:
        layers = sorted({row["data"] for row in found["model"]["gemm"] if row["data"].split("_")[1] == part})
        cells = []
        for turned in (False, True):
            leads = [_lead(found["model"]["gemm"], name, turned) for name in layers]
            cells += [f"{sum(leads) / len(leads):+.2f}", f"{sum(lead > 0 for lead in leads)} of {len(leads)}"]
        rows.append([part, *cells])
    return rows


def _lead(rows: list[Record], data: str, turned: bool) -> float:
    low, high = (study_row(rows, data=data, recipe=recipe, rotated=turned)["sqnr_db"] for recipe in GRIDS)
    return float(high - low)


def _scales(found: Record) -> list[list[Any]]:
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
        rows.append([Code(codec), block, *cells])
    return rows


def _is(row: Record, codec: str, block: int, data: str, element: str) -> bool:
    return bool(row["codec"] == codec and row["block"] == block and row["data"] == data and row["element"] == element)
