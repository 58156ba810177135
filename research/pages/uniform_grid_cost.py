"""The part of the architects' chapter about hardware: area, adder widths with their losses. Not here: the page of hardware cost."""

from __future__ import annotations

from functools import partial
from typing import Any

from research.pages import hardware_cells as cells

Record = dict[str, Any]


def cost_part(record: Record, errors: Record) -> Record:
    """Return what the chapter says of hardware: functions of area and switched capacitance against E2M1, and a row for each element."""
    lanes = cells.lane_rows(record, errors)
    return {
        "area": partial(cells.ratio_of_area, record),
        "energy": partial(cells.energy_ratio, record),
        "rotation": cells.unit_rows(record)[0][-1],
        "totals": dict(zip(cells.NAMES, cells.total_rows(record), strict=True)),
        "hardware": [
            [name, *(cells.ratio_of_area(record, part, operands) for part in cells.SIZED), *row[1:4]]
            for (operands, name), row in zip(cells.NAMES.items(), lanes, strict=True)
        ],
    }
