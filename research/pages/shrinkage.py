"""The page of the shrinkage study, from the record of `python -m research reproduce`. Not here: the figures (research.reproduction)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.pages.render import Markdown, render
from research.pages import TEMPLATES
from research.pages.charts import draw_dots
from research.pages.comparison import difference
from research.pages.shrinkage_intervals import leads, shifts
from research.pages.shrinkage_real import real_chart, real_tables
from research.pages.shrinkage_short import short_figures
from research.pages.shrinkage_tables import depth_chart, drawn_tables, tensor_chart
from research.reproduction.compare import DB, RATIO, ComparedClaim, rows
from research.reproduction.paper import NOTES, PAPER
from research.reproduction.record import COMMAND, RECORD, read_record

PAGE: Final = "docs/shrinkage.md"
PICTURES: Final = "docs/shrinkage"  # _tensors.svg, _depth.svg, _minilm.svg
Record = dict[str, Any]


def shrinkage_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its pictures; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    tables = {**drawn_tables(record), **real_tables(record)}
    text = render("shrinkage", None, TEMPLATES, **_frame(record), short=short_figures(record), **tables)
    return {
        PAGE: text,
        f"{PICTURES}_tensors.svg": draw_dots(tensor_chart(record)),
        f"{PICTURES}_depth.svg": draw_dots(depth_chart(record)),
        f"{PICTURES}_minilm.svg": draw_dots(real_chart(record)),
    }


def _frame(record: Record) -> Record:
    moved = shifts(record)
    return {
        "record_path": RECORD,
        "record_name": RECORD.removeprefix("docs/"),
        "command": COMMAND,
        "paper": PAPER,
        "notes": NOTES,
        "db": DB,
        "bucket_ratio": RATIO,
        "setting": record["setting"],
        "nulls": record["nulls"],
        "leads": [item.cells(*difference(2), ("E1M2", "E2M1")) for item in leads(record)],
        "shifts": [item.cells(*difference(5), ("up", "down")) for item in moved if item.side],
        "still": [item.found.mean for item in moved if not item.side],
        "compared": [_compared(row) for row in rows(record)],
    }


def _compared(row: ComparedClaim) -> tuple[Any, ...]:
    """Return a claim of the paper beside what comes out here."""
    ours = Markdown(row.ours.replace("docs/training.md", "[training.md](training.md)"))
    paper = f"{row.paper} ({row.claim.status})" if row.claim.values else "unknown"
    return row.claim.where, row.claim.what, paper, row.data or "-", ours, row.sign, row.size
