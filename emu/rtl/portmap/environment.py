"""What surrounds a design in a proof over time: module `emu_environment` presents rows and takes answers as a port map says, at any edges.

The same text is read by yosys and by the simulator that replays what a solver found. Not here: golden functions and comparison (export).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emu.base.templates import filled
from emu.contracts.columns import Column, Layout
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.wires import wires_of
from emu.rtl.portmap.wrapper import links_of, stream_words

MOST_STALLS: Final = 4  # edges at which answers wait, in all


@dataclass(frozen=True)
class Environment:
    """The text of `emu_environment` and what its ports are.

    mapped: input columns that the design has as ports.   outputs: result columns that it shows.   edges: that an answer may take.
    widths: port of the design -> bits that
    the map knows of it.   beats_in, beats_out: clock edges of a row.
    """

    text: str
    mapped: tuple[Column, ...]
    outputs: tuple[Column, ...]
    any_bits: dict[str, int]
    widths: dict[str, int]
    rows: int
    units: int
    edges: int
    beats_in: int
    beats_out: int

    @property
    def limit(self) -> int:
        """The largest value of port limit: edges to the last beat of an answer."""
        return max(self.edges + self.beats_out - 1, 1)


def environment(model: PortMap, layout: Layout, name: str, rows: int, edges: int) -> Environment:
    """Return the environment of a design with one clock, or of none.

    layout: columns that the map fits.   name: the map's file name.   rows: how many follow a reset.   edges: bound on an answer.
    Tests: tests/rtl/test_rtl_prove_sequence.py.
    """
    wires = wires_of(model, layout)
    mapped = tuple(column for column in layout.inputs if column.name in model.ports and model.ports[column.name].value is None)
    outputs = tuple(column for column in layout.results if column.role == "out" and column.name in model.ports)
    words = stream_words(model, layout, outputs)
    beats_in, beats_out = words["beats_in"], words["beats_out"]
    latency = model.latency if isinstance(model.latency, int) else 0
    text = filled(
        Path(__file__).with_name("environment.sv.j2"),
        model=model,
        name=name,
        rows=rows,
        limit=max(edges + beats_out - 1, 1),
        latency=latency,
        mapped=mapped,
        outputs=outputs,
        wires=wires,
        arrays={array.port: array for array in model.unpacked},
        links=links_of(model, wires),
        waits=model.presses,
        most_stalls=MOST_STALLS,
        **words,
    )
    any_bits = {column.name: model.rows_per_beat * words["parts"][column.name].bits for column in mapped}
    return Environment(
        text, mapped, outputs, any_bits, wires.widths(True) | wires.widths(False), rows, model.rows_per_beat, edges, beats_in, beats_out
    )
