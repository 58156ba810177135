"""The page of datapath errors, from the record of `python -m research datapath`. Not here: the figures (emu.analysis)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.pages.render import Links, render
from research.datapath.study import RECORD, read_record
from research.pages import TEMPLATES
from research.pages.charts import draw_dots
from research.pages.datapath_errors_datapath import datapath_chart, datapath_tables
from research.pages.datapath_errors_order import order_tables
from research.pages.datapath_errors_proof import proof_figures
from research.pages.datapath_errors_quantization import quantization_chart, quantization_tables
from research.pages.datapath_errors_short import short_figures, widths_chart

PAGE: Final = "docs/datapath_errors.md"
PICTURES: Final = "docs/datapath_errors"  # _quantization.svg, _datapath.svg, _widths.svg
Record = dict[str, Any]


def study_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its pictures; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    text = render(
        "datapath_errors",
        Links("reference/"),
        TEMPLATES,
        record=record,
        record_path=RECORD,
        record_name=RECORD.removeprefix("docs/"),
        short=short_figures(record),
        **quantization_tables(record),
        **datapath_tables(record),
        **order_tables(record),
        proof=proof_figures(record["proof"]),
    )
    return {
        PAGE: text,
        f"{PICTURES}_quantization.svg": draw_dots(quantization_chart(record)),
        f"{PICTURES}_datapath.svg": draw_dots(datapath_chart(record)),
        f"{PICTURES}_widths.svg": draw_dots(widths_chart(record)),
    }
