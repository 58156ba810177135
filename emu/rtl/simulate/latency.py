"""A wrong latency in a port map, told from its outputs: they are the expected ones of a neighbouring row."""

from __future__ import annotations

from collections.abc import Sequence

from emu.contracts.rows import Row, value_of
from emu.rtl.portmap.model import PortMap
from emu.vectors.files.suite import Suite

FARTHEST = 16
LEAST = 8  # rows whose outputs tell two latencies apart
SHARE = (19, 20)  # of them must fit


def latency_hint(model: PortMap, suite: Suite, lines: Sequence[str], first_slot: int = 0) -> str:
    """Return "outputs fit latency <n>: ..." when the outputs are those of another row throughout; else nothing.

    suite: as the bench saw it.   lines: its ROW lines of a run without gaps.   first_slot: the unit of the first row.
    Only rows before the second reset count: after it the order of units starts again.
    """
    assert model.latency is not None
    found = {int(line.split(" tc=")[1].split()[0]) - 1: line.rpartition("got=")[2] for line in lines}
    names = [column.name for column in suite.layout.results if column.role == "out"]
    wants = [_want(suite, row, names) for row in suite.rows]
    end = (len(wants) + 1) // 2 - model.latency - 1
    units = model.rows_per_beat
    best: tuple[int, int, int] | None = None
    for off in (delay * sign for delay in range(1, FARTHEST + 1) for sign in (1, -1)):
        if model.latency + off < 0:
            continue
        hits = tells = 0
        for place in range(FARTHEST + 1, max(end, FARTHEST + 1)):
            given = place - off
            row = given if (given + first_slot) % units == (place + first_slot) % units else given - units
            if place in found and 0 <= row < len(wants) and wants[row] is not None and wants[row] != wants[place]:
                tells += 1
                hits += wants[row] == found[place]
        if tells >= LEAST and hits * SHARE[1] >= tells * SHARE[0] and (best is None or hits > best[1]):
            best = (off, hits, tells)
    if best is None:
        return ""
    return f"outputs fit latency {model.latency + best[0]}: {best[1]} of {best[2]} rows that tell it apart from {model.latency}"


def _want(suite: Suite, row: Row, names: Sequence[str]) -> str | None:
    """Return the outputs of a row as the bench prints them; None where some bit is not compared."""
    layout = suite.layout
    columns = [layout.columns[layout.index(name)] for name in names]
    if any(value_of(layout, row, f"m_{column.name}") != (1 << column.bits) - 1 for column in columns):
        return None
    return ",".join(f"{value_of(layout, row, column.name):0{column.digits}x}" for column in columns)
