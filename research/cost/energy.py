"""Switched capacitance of the mapped designs on real operands; each netlist must give the bits of the engines. Not here: the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.engines.exact.decode import decode_code
from emu.spec import get
from research.cost.liberty import Library
from research.cost.measure import Task
from research.cost.operands import CODES, ORDERS, Stream, streams
from research.cost.toggles import Netlist, Rows, bits_of

MAPPING: Final = "balanced"
LANE: Final = "lane_nv_like"
PARTS: Final = ("product", "dot16", LANE)
NOT_RUN: Final = "e2m1xe1m2"  # no such pair in the model
ROWS: Final = 4096
DATA: Final = {"e2m1": ("given", "rotated", "random"), "e1m2": ("given", "rotated", "random")}  # others: rotated and random
MODES: Final = {"both": ("e2m1", "e1m2")}
Bits = NDArray[Any]


def lines(task: Task, library: Library, work: Path, model: Path | None, found: dict[Any, Stream]) -> Iterator[dict[str, Any]]:
    """Yield the switched capacitance of a design on each kind of operands. work: where map_cells left the netlists.

    model: folder of MiniLM; None: random codes only.   found: streams by their choice, kept between designs.
    Raises: EngineError (the netlist gives other sums than the engines).
    """
    netlist = Netlist(work / f"{MAPPING}.json", task.top, library)
    for element in MODES.get(task.operands, (task.operands,)):
        for data in DATA.get(element, ("rotated", "random")):
            for order in ORDERS:
                if data != "random" and model is None:
                    continue
                key = (CODES.get(element, element), data, order)
                if key not in found:
                    found[key] = streams(element, data, model, order)
                rows, port, wanted = _rows(task, element, found[key], order)
                values = netlist.settled(rows)
                if not np.array_equal(netlist.output(values, port, len(wanted)), wanted):
                    raise EngineError(f"{task.name}: the netlist differs from the engines on {data} {element}")
                line: dict[str, Any] = {"part": task.part, "operands": task.operands, "element": element, "data": data, "order": order}
                line |= {"rows": len(wanted), "settled_ff": round(netlist.settled_switched(rows), 3)}
                if task.part != LANE:  # one path of 200 cells without registers: passing values of a lane say nothing
                    line["passing_ff"] = round(netlist.passing_switched(rows), 3)
                yield line


def _rows(task: Task, element: str, stream: Stream, order: str) -> tuple[Rows, str, Bits]:
    """Return the bits of the input ports of a design, its output port and the bits that it must give."""
    own = {"uniform_a": 1, "uniform_b": 1} if task.operands in MODES and element == "e1m2" else {}
    if task.part == LANE:
        rows = {"a": bits_of(stream.a, 4), "b": bits_of(stream.b, 4), "sa": bits_of(stream.scale_a, 8), "sb": bits_of(stream.scale_b, 8)}
        rows["c"] = bits_of(stream.c[:, None], 32)
        port, wanted = "d", bits_of(stream.d[:, None], 32)
    else:
        width = 16 if task.part == "dot16" else 1
        places = [side.reshape(len(side), -1, width) for side in (stream.a, stream.b)]
        if order == "weights_held":  # one place of the lane at a time
            places = [side.swapaxes(0, 1) for side in places]
        a, b = (side.reshape(-1, width)[:ROWS] for side in places)
        rows = {"a": bits_of(a, 4), "b": bits_of(b, 4)}
        sums = (_units(element)[a.astype(np.int64)] * _units(element)[b.astype(np.int64)]).sum(1)
        port = {"dot16": "sum" if task.top == "dot_both" else "sg", "product": "product" if task.top == "multiply_both" else "p"}[task.part]
        wanted = bits_of(sums[:, None], _width(task))
    for name, bit in own.items():
        rows[name] = np.full((len(wanted), 1), bit, np.uint8)
    return rows, port, wanted


def _width(task: Task) -> int:
    return task.unit.defines.get("PRODUCT_BITS", 9) + (4 if task.part == "dot16" else 0)


def _units(element: str) -> NDArray[np.int64]:
    """Return the values of the codes of an element format in units of its finest value."""
    values = [decode_code(code, get("format", CODES.get(element, element))).signed for code in range(16)]
    finest = min(abs(value) for value in values if value)
    return np.array([int(value / finest) for value in values], np.int64)
