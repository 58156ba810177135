"""The page of training runs, from their record. Not here: the runs (research.train), tables of one study (training_tables.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.pages.render import render
from research.pages import TEMPLATES
from research.pages.charts import Curves, draw_curves, draw_dots
from research.pages.training_forks import forks_section, ratios_chart
from research.pages.training_gradients import gradients_section
from research.pages.training_sizes import size_tables
from research.pages.training_tables import anchor_rows, gap_table, orders, reference_rows, same_weights
from research.train.results import RECORD, read_record

PAGE: Final = "docs/training.md"
PICTURE: Final = "docs/training.svg"
RATIOS: Final = "docs/training_ratios.svg"
SCRATCH: Final = "decoder_cpu"  # the study whose runs from scratch stand beside forks
DRAWN: Final = ("bf16", "ufp4", "nvufp4", "e2m1_baseline", "e2m1_rht3", "nvfp4_te_train", "mxfp4_train")
Study = dict[str, Any]


def training_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its pictures; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    name = RECORD.removeprefix("docs/")
    studies = [_study(study) for study in record.values()]
    forks = forks_section(root, record.get(SCRATCH))
    more = {"forks": forks, "gradients": gradients_section(root)}
    text = render("training", None, TEMPLATES, record_path=RECORD, record_name=name, studies=studies, **more)
    ratios = {} if forks is None else {RATIOS: draw_dots(ratios_chart(forks))}
    return {PAGE: text, PICTURE: draw_curves(loss_curves(record)), **ratios}


def _study(study: Study) -> Study:
    """Return what the template shows of one study: the study itself, and its tables."""
    return {
        **study,
        "done": len(study["runs"]),
        "missing": study["planned"] - len(study["runs"]),
        "orders": orders(study),
        "models": _models(study),
        "reference": reference_rows(study) if study["config"].get("reference") else None,
        "gap_table": gap_table(study),
        "same": same_weights(study),
        "sizes": size_tables(study),
        "anchors": anchor_rows(study),
    }


def _models(study: Study) -> list[list[Any]]:
    """Return the sizes of the models; nothing for a study without sizes."""
    config = study["config"]
    models = config["models"]
    if "width" in config:
        return []
    weights = {run["model"]: run["weights"] for run in study["runs"]}
    rows: list[list[Any]] = []
    for name, model in models.items():
        if name in weights:
            experts = f"{model['experts']}, one for each token" if model.get("experts") else ""
            rows.append([name, *(model[key] for key in ("width", "layers", "heads", "hidden")), experts, weights[name]])
    return rows


def loss_curves(record: dict[str, Study]) -> Curves:
    """Return the losses of the runs that are drawn, a panel for each study and model."""
    panels = []
    for study in record.values():
        for model in dict.fromkeys(run["model"] for run in study["runs"]):
            lines = [(run["training"], run["curve"]) for run in study["runs"] if run["model"] == model and run["seed"] == 0]
            chosen = [(name, curve) for name, curve in lines if name in DRAWN]
            if chosen:
                panels.append((f"{study['config']['id']}: {model}", chosen))
    return Curves("Training loss", panels)
