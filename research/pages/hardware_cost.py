"""The page of hardware cost, from the record of `python -m research cost`. Not here: measuring, real cells (hardware_cells)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from emu.pages.render import Code, Links, render
from research.cost.measure import RECORD, read_record, rules
from research.datapath import study as datapath_study
from research.models import study as models
from research.pages import TEMPLATES
from research.pages import hardware_cells as cells
from research.pages.charts import Axis, Dots, Mark, draw_dots

PAGE: Final = "docs/hardware_cost.md"
PICTURE: Final = "docs/hardware_cost.svg"
ERRORS: Final = "docs/hardware_cost_error.svg"
BASE: Final = "e2m1"
GROUPS: Final = 4
TOP_RATIO: Final = 4.8
Designs = dict[tuple[str, str], dict[str, Any]]


def cost_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its picture; nothing where the tree lacks a record. Raises: FileError (a damaged record)."""
    if not all((root / path).is_file() for path in (RECORD, datapath_study.RECORD, models.RECORD)):
        return {}
    record, errors = read_record(root / RECORD), datapath_study.read_record(root / datapath_study.RECORD)
    whole = models.read_record(root / models.RECORD)
    designs = designs_of(record)
    pairs = [
        (designs["product_table", each], designs["product", each]) for each in _operands(designs) if ("product_table", each) in designs
    ]
    text = render(
        "hardware_cost",
        Links("reference/"),
        TEMPLATES,
        record=record,
        record_path=RECORD,
        record_name=RECORD.removeprefix("docs/"),
        rules=rules(),
        ratio=partial(_ratio, designs),
        area=partial(cells.ratio_of_area, record),
        energy=partial(cells.energy_ratio, record),
        middle=cells.MIDDLE,
        areas=cells.area_rows(record),
        seconds=cells.second_rows(record),
        lanes=cells.lane_rows(record, errors),
        totals=cells.total_rows(record),
        reuse=cells.REUSE,
        before=cells.unit_rows(record),
        energies=cells.energy_rows(record),
        columns=cells.NAMES,
        sizes=_sizes(designs),
        shares=_shares(designs),
        table_ratios=[f"{_size(one) / _size(other):.1f}" for one, other in pairs],
    )
    return {PAGE: text, PICTURE: draw_dots(ratio_chart(designs)), ERRORS: cells.error_area_chart(record, whole)}


def designs_of(record: dict[str, Any]) -> Designs:
    """Return (part, operands) -> design."""
    return {(design["part"], design["operands"]): design for design in record["designs"]}


def _size(design: dict[str, Any]) -> float:
    """Return gate equivalents."""
    return float(design["transistors"]) / int(rules()["transistors_of_one_ge"])


def _operands(designs: Designs) -> list[str]:
    return list(dict.fromkeys(operands for _, operands in designs))


def _parts(designs: Designs) -> list[str]:
    return list(dict.fromkeys(part for part, _ in designs))


def _ratio(designs: Designs, part: str, operands: str) -> str:
    if (part, operands) not in designs:
        return ""
    return f"{_size(designs[part, operands]) / _size(designs[part, BASE]):.2f}"


def _sizes(designs: Designs) -> tuple[list[Any], list[list[Any]], range]:
    """Return head, rows and number columns of the table of gate equivalents."""
    operands, parts = _operands(designs), rules()["parts"]
    rows = [
        [
            Code(part),
            parts[part]["text"],
            *(f"{_size(designs[part, each]):.1f}" if (part, each) in designs else "" for each in operands),
        ]
        for part in _parts(designs)
    ]
    header = ["part", "what", *map(Code, operands)]
    return header, rows, range(2, len(header))


def _shares(designs: Designs) -> list[list[Any]]:
    """Return where the gates of a lane are, a row for each pair of operands."""
    rows = []
    for operands in _operands(designs):
        lane, group, product = (_size(designs[part, operands]) for part in ("lane_nv_like", "dot16", "product"))
        parts = (GROUPS * 16 * product, GROUPS * (group - 16 * product), lane - GROUPS * group)
        rows.append([Code(operands), *(f"{part:.0f} ({100 * part / lane:.0f} %)" for part in parts)])
    return rows


def ratio_chart(designs: Designs) -> Dots:
    """Return the gate equivalents of every part against those of E2M1."""
    parts, series = _parts(designs), [each for each in _operands(designs) if each != BASE]
    marks = [
        Mark(parts.index(part), series.index(operands), _size(design) / _size(designs[part, BASE]))
        for (part, operands), design in designs.items()
        if operands != BASE
    ]
    ticks = [(value / 2, f"{value / 2:g}") for value in range(int(TOP_RATIO * 2) + 1)]
    return Dots("Gate equivalents, E2M1 = 1", Axis("ratio to E2M1", 0.0, TOP_RATIO, ticks), parts, series, marks)
