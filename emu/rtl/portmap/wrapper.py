"""The wrapper of a port map: module `dut` of the bench kit around an existing design, as readable Verilog that its user may keep.

Not here: its text (wrapper.sv.j2), which ports carry what (portmap_file checks it), rows that are left out (portmap_rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from emu.base.templates import filled
from emu.contracts.columns import Layout
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.wires import Wires, wires_of


def wrapper_text(model: PortMap, layout: Layout, name: str, judge: str) -> str:
    """Return the text of the wrapper.

    layout: columns of the suites; checked against the map by portmap_file.check_columns.   name: the map's file name.   judge: what
    the suites are, for the first line.   The same map gives the same text.   Tests: tests/rtl/test_rtl_portmap_wrapper.py.
    Of several units side by side those that do not take a row see an older one, never the one that they answer: so a wrong latency cannot
    pass, and a unit that looks at its neighbour is found out.
    """
    stages = [column for column in layout.results if column.role == "stage"]
    wires = wires_of(model, layout)
    return filled(
        Path(__file__).with_name("wrapper.sv.j2"),
        model=model,
        name=name,
        judge=judge,
        op=judge.partition("__")[0].partition("/")[0],
        timing=_timing_words(model),
        columns=_column_words(model, layout),
        inputs=layout.inputs,
        mapped=[column for column in layout.inputs if column.name in model.ports and model.ports[column.name].value is None],
        outputs=[column for column in layout.results if column.role == "out"],
        stages=stages if any(column.name in model.ports for column in stages) else [],
        wires=wires,
        arrays={array.port: array for array in model.unpacked},
        links=_links(model, wires),
    )


def _timing_words(model: PortMap) -> str:
    if model.valid is not None:
        queue = " The design may refuse a row: rows wait in a queue." if model.ready is not None else ""
        return f"Outputs come with {model.valid.out}.{queue}"
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
        elif column.name in model.missing:
            yield f"{what}: the design has no such port" + ("" if column in layout.inputs else "; not compared")


def _links(model: PortMap, wires: Wires) -> list[tuple[str, str]]:
    """Return (port, wire) of the instance of the design."""
    links = [(model.clock, "clk")] if model.clock else []
    if model.reset is not None:
        links.append((model.reset.port, "rst" if model.reset.active == "high" else "~rst"))
    if model.valid is not None:
        links += [(model.valid.in_, "in_valid" if model.ready is None else "send"), (model.valid.out, "done")]
    if model.ready is not None:
        links += [(model.ready.in_, "accepts"), (model.ready.out, "1'b1")]
    arrays = {array.port for array in model.unpacked}
    sides = [(side, port) for side, there in (("to", True), ("from", False)) for port in wires.widths(there)]
    return [*links, *((port, f"array_{port}" if port in arrays else f"{side}_{port}") for side, port in sides)]
