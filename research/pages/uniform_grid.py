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
from research.forks.record import COMMAND as FORKS
from research.models import study as models
from research.pages import TEMPLATES
from research.pages import hardware_cells as cells
from research.pages.charts import Axis, Dots, Mark, draw_dots
from research.pages.training_forks import forks_section
from research.pages.uniform_grid_models import losses_chart, models_part, parts_given, product_rows
from research.reproduction import record as study
from research.train import results as training

PAGE: Final = "docs/uniform_grid.md"
PICTURES: Final = {name: f"docs/uniform_grid_{name}.svg" for name in ("losses", "scales")}
SOURCES: Final = (study, cost, models, training)
GRIDS: Final = ("e2m1_fp32scale", "e1m2_fp32scale")
DATA: Final = {"gaussian": "normal numbers", "laplace": "Laplace", "lognormal_1.0": "outliers in every block, N exp(N')"}
FORMS: Final = ("prop_cvt_e1m2x2", "prop_cvt_e1m2x4", "prop_cvt_s4x2", "prop_mma_4bit", "prop_mma_4bit_fp32scale", "prop_rht_quantize")
Record = dict[str, Any]


def uniform_grid_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the chapter; nothing where a record is missing. Raises: FileError (a damaged record)."""
    if not all((root / source.RECORD).is_file() for source in SOURCES):
        return {}
    found, gates, whole, runs = (source.read_record(root / source.RECORD) for source in SOURCES)
    text = render(
        "uniform_grid",
        Links("reference/"),
        TEMPLATES,
        commands=[source.COMMAND for source in (study, datapath_study, cost, models)]
        + [FORKS, *(item["command"] for item in runs.values())],
        leads=[(text, best_lead(found, data), lead(found, data, False), lead(found, data, True)) for data, text in DATA.items()],
        same=same_grid(found["equivalence"]["recipes"]),
        forms=[Ref("instruction", name) for name in FORMS],
        products=product_rows(found["model"]["gemm"], GRIDS),
        **models_part(whole),
        drawn=f"{found['tensors'][0]['elements']:,}",
        verdicts=verdicts(whole),
        given=parts_given(whole),
        scales=scale_rows(found),
        area=partial(cells.ratio_of_area, gates),
        rotation=cells.unit_rows(gates)[0][-1],
        totals=dict(zip(cells.NAMES, cells.total_rows(gates), strict=True)),
        forks=forks_section(root),
        against={"lead": -lead(found, "lognormal_1.0", False), "share": max(row["coherent_share"] for row in found["tensors"])},
    )
    pictures = {"losses": losses_chart(whole), "scales": _scales_chart(found)}
    return {PAGE: text} | {PICTURES[name]: picture for name, picture in pictures.items()}


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


def same_grid(rows: list[Record]) -> Record:
    """Count the pairs of recipes in which nothing differs, and name the others."""
    same = [row for row in rows if not row["steps"] and not row["scales"] and not row["values"]]
    others = sorted({row["other"] for row in rows} - {row["other"] for row in same})
    return {"equal": len(same), "pairs": len(rows), "others": [Code(name) for name in others]}


def verdicts(whole: Record) -> list[tuple[str, str, float]]:
    """Return (model and operands, which grid loses less or "open", ratio), each grid as it is best."""
    return [(row[0], row[-1], float(row[3].split()[0])) for row in models_part(whole)["best_rows"]]


def best_lead(found: Record, data: str) -> float:
    """Return how many dB E1M2 leads by on one drawn tensor, each grid rotated or not as it is best."""
    low, high = (max(tensor_of(found, data, recipe, turned)["sqnr_db"] for turned in (False, True)) for recipe in GRIDS)
    return float(high - low)


def _scales_chart(found: Record) -> str:
    """Return the picture of the lead of E1M2 under each scale, in dB."""
    rows = scale_rows(found)
    marks = [Mark(place, series, float(row[cell])) for place, row in enumerate(rows) for series, cell in enumerate((2, 3))]
    ticks = [(place, f"{place:+d}") for place in range(-6, 4)]
    axis = Axis("lead of E1M2 over E2M1, dB; right of 0: E1M2 is better", -6, 3, ticks)
    names = [f"{row[0]}, blocks of {row[1]}".replace("`", "") for row in rows]
    return draw_dots(Dots("The scale decides: lead of E1M2 under each scale", axis, names, ("normal numbers", "outliers"), marks))


def scale_rows(found: Record) -> list[list[Any]]:
    """Return scale, block, then the lead of E1M2 over E2M1 in dB on normal numbers and on outliers, each as it is best."""
    keys = list(dict.fromkeys((row["codec"], row["block"]) for row in found["scales"]))
    rows = []
    for codec, block in keys:
        cells = []
        for data in ("gaussian", "lognormal_1.0"):
            best = {
                element: max(row["sqnr_db"] for row in found["scales"] if _is(row, codec, block, data, element))
                for element in ("e2m1", "e1m2")
            }
            cells.append(f"{best['e1m2'] - best['e2m1']:+.2f}")
        rows.append([Code(codec), block, *cells])
    return rows


def _is(row: Record, codec: str, block: int, data: str, element: str) -> bool:
    return bool(row["codec"] == codec and row["block"] == block and row["data"] == data and row["element"] == element)
