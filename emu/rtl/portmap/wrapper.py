"""The wrapper of a port map: module `dut` of the bench kit around an existing design, as readable Verilog that its user may keep.

Not here: its text (wrapper.sv.j2), which ports carry what (portmap_file checks it), rows that are left out (portmap_rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emu.base.templates import filled
from emu.contracts.columns import Column, Layout
from emu.rtl.portmap.model import Framing, PortMap
from emu.rtl.portmap.wires import Wires, in_beats, wires_of

BENCH_CLOCK: Final = 100  # percent: the clock of the bench itself


def wrapper_text(model: PortMap, layout: Layout, name: str, judge: str) -> str:
    """Return the text of the wrapper.

    layout: columns of the suites; checked against the map by portmap_file.check_columns.   name: the map's file name.   judge: what
    the suites are, for the first line.   The same map gives the same text.   Tests: tests/rtl/test_rtl_portmap_wrapper.py.
    Of several units side by side those that do not take a row see an older one, never the one that they answer: so a wrong latency cannot
    pass, and a unit that looks at its neighbour is found out.
    """
    stages = [column for column in layout.results if column.role == "stage"]
    wires = wires_of(model, layout)
    outputs = [column for column in layout.results if column.role == "out"]
    return filled(
        Path(__file__).with_name("streams.sv.j2" if model.streams else "wrapper.sv.j2"),
        model=model,
        name=name,
        judge=judge,
        op=judge.partition("__")[0].partition("/")[0],
        timing=_timing_words(model),
        columns=_column_words(model, layout),
        inputs=layout.inputs,
        mapped=[column for column in layout.inputs if column.name in model.ports and model.ports[column.name].value is None],
        outputs=outputs,
        stages=stages if any(column.name in model.ports for column in stages) else [],
        wires=wires,
        arrays={array.port: array for array in model.unpacked},
        links=links_of(model, wires),
        **(stream_words(model, layout, outputs) if model.streams else {}),
    )


@dataclass(frozen=True)
class Beats:
    """How a column comes in beats. bits: of one beat.   share: of them for one element.   across: a beat holds a part of every element."""

    beats: int
    bits: int
    share: int
    across: bool
    rising: bool

    def place(self, beat: str) -> str:
        """Return which part comes in a beat, as an expression. beat: the signal that counts them."""
        return beat if self.rising else f"({self.beats - 1} - {beat})"


def stream_words(model: PortMap, layout: Layout, outputs: Sequence[Column]) -> dict[str, Any]:
    """Return what only a wrapper of several clocks or beats, or a proof over time, asks for."""
    parts = {}
    for column in (*layout.inputs, *outputs):
        place = model.ports.get(column.name)
        if place is not None and place.value is None:
            one = in_beats(place, column)
            parts[column.name] = Beats(place.beats, one.bits, one.lane_bits, place.beat == "bits", place.first == "lowest")
        elif column.name == "fl" and model.flags is not None:
            parts["fl"] = Beats(1, column.bits, 1, False, True)
    compared = [column.name for column in outputs if column.name in parts]
    made = [clock for clock in model.clocks if clock.percent != BENCH_CLOCK]
    clocks = [{"port": clock.port, "percent": clock.percent, "offset": f"0.{37 + 2 * number:03d}"} for number, clock in enumerate(made)]
    return {
        "parts": parts,
        "clocks": clocks,
        "clock_in": _clock_wire(model, model.clock_of("in")),
        "clock_out": _clock_wire(model, model.clock_of("out")),
        "framing": model.valid_beats or Framing.model_validate({}),
        "beats_in": max((parts[column.name].beats for column in layout.inputs if column.name in parts), default=1),
        "beats_out": max((parts[name].beats for name in compared), default=1),
        "all_beat": sum(parts[name].bits for name in compared),
        "beat_of": "{" + ", ".join(f"{name}_beat" for name in compared) + "}",
    }


def _clock_wire(model: PortMap, port: str | None) -> str:
    """Return the wire of a clock port: clk of the bench, or a clock of its own."""
    return next((f"clock_{clock.port}" for clock in model.clocks if clock.port == port and clock.percent != BENCH_CLOCK), "clk")


def _timing_words(model: PortMap) -> str:
    if model.valid is not None:
        queue = " The design may refuse a row: rows wait in a queue." if model.ready is not None else ""
        beats = " A row takes several beats." if any(place.beats > 1 for place in model.ports.values()) else ""
        return f"Outputs come with {model.valid.out}.{queue}{beats}"
    if model.latency == "find":
        return "Outputs come a fixed number of clock edges after the inputs: +latency=<edges> says how many."
    if not model.latency:
        return "Combinational."
    return f"Outputs come {model.latency} clock edge{'s' if model.latency > 1 else ''} after the inputs."


def _column_words(model: PortMap, layout: Layout) -> Iterator[str]:
    """Yield one line per column: where it is."""
    for column in (*layout.inputs, *layout.results):
        place = model.ports.get(column.name)
        arrow = "->" if column in layout.inputs else "<-"
        what = f"{column.name:<6} {column.bits} bits"
        what += f", {column.lanes} of {column.format or column.lane_bits}" if column.lanes > 1 else ""
        if place is not None and place.value is not None:
            yield f"{what}: the design takes {place.value}; rows are made with it"
        elif place is not None:
            ports = place.names or tuple(piece.port for piece in place.pieces or ())
            shown = ", ".join(ports if len(ports) < 5 else (*ports[:2], "...", ports[-1]))
            yield f"{what} {arrow} {shown}" + (", element 0 highest" if place.order == "element_0_highest" else "")
        elif column.name == "fl" and model.flags is not None:
            yield f"{what} <- {model.flags.port}, highest bit first: {' '.join(model.flags.order)}"
        elif column.name in model.absent:
            yield f"{what}: the design has no such port" + ("" if column in layout.inputs else "; not compared")


def links_of(model: PortMap, wires: Wires) -> list[tuple[str, str]]:
    """Return (port, wire) of the instance of the design."""
    links = [(model.clock, "clk")] if model.clock else []
    links += [(clock.port, _clock_wire(model, clock.port)) for clock in model.clocks]
    if model.reset is not None:
        links.append((model.reset.port, "rst" if model.reset.active == "high" else "~rst"))
    if model.valid is not None:
        sent = "starts" if model.streams else "in_valid" if model.ready is None else "send"
        links += [(model.valid.in_, sent), (model.valid.out, "done")]
    for pair, wires_of_pair in ((model.ready, ("accepts", "takes" if model.streams else "1'b1")), (model.last, ("last_in", "last_out"))):
        if pair is not None:
            links += [(port, wire) for port, wire in zip((pair.in_, pair.out), wires_of_pair, strict=True) if port is not None]
    arrays = {array.port for array in model.unpacked}
    sides = [(side, port) for side, there in (("to", True), ("from", False)) for port in wires.widths(there)]
    return [*links, *((port, f"array_{port}" if port in arrays else f"{side}_{port}") for side, port in sides)]
