"""The wrapper of a port map: module `dut` of the bench kit around an existing design, as readable Verilog that its user may keep.

Not here: which ports carry what (portmap_file checks it), rows that are left out (portmap_rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emu.contracts.columns import Column, Layout
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.wires import Wires, wires_of

MARGIN = "    "


def wrapper_text(model: PortMap, layout: Layout, name: str, judge: str) -> str:
    """Return the text of the wrapper.

    layout: columns of the suites; checked against the map by portmap_file.check_columns.   name: the map's file name.   judge: what
    the suites are, for the first line.   The same map gives the same text.   Tests: tests/rtl/test_rtl_portmap_wrapper.py.
    """
    stages = [column for column in layout.results if column.role == "stage"]
    stages = stages if any(column.name in model.ports for column in stages) else []
    outputs = [column for column in layout.results if column.role == "out"]
    wires = wires_of(model, layout)
    lines = [
        f"// dut for the bench of `{judge.partition('__')[0].partition('/')[0]}`: {model.module}, by {name} (emu rtl wrap).",
        f"// Judged by {judge}. {_timing_words(model)}",
        *(f"// {line}" for line in _column_words(model, layout)),
        "module dut (",
        *_ports(layout.inputs, outputs, stages),
        ");",
        *_body(model, layout, outputs, stages, wires),
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


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
            yield f"{what}: the design takes {place.value}; other rows are not compared"
        elif place is not None:
            ports = place.ports or ((place.port,) if place.port else tuple(piece.port for piece in place.pieces or ()))
            shown = ", ".join(ports if len(ports) < 5 else (*ports[:2], "...", ports[-1]))
            yield f"{what} {arrow} {shown}" + (", element 0 highest" if place.order == "element_0_highest" else "")
        elif column.name == "fl" and model.flags is not None:
            yield f"{what} <- {model.flags.port}, highest bit first: {' '.join(model.flags.order)}"
        elif column.name in model.missing:
            yield f"{what}: the design has no such port" + ("" if column in layout.inputs else "; not compared")


def _ports(inputs: Sequence[Column], outputs: Sequence[Column], stages: Sequence[Column]) -> list[str]:
    """Return the port list; stage columns only where the bench asks for them."""

    def line(way: str, bits: int | None, name: str) -> str:
        return f"{MARGIN}{way:<6} wire {f'[{bits - 1}:0]' if bits else '':<8} {name}"

    plain = [line("input", None, name) for name in ("clk", "rst", "in_valid")] + [line("output", None, "out_valid")]
    plain += [line("input", column.bits, column.name) for column in inputs]
    plain += [line("output", column.bits, column.name) for column in outputs]
    body = [f"{text}," for text in plain[:-1]] + [plain[-1]]
    if stages:
        body += ["`ifdef EMU_STAGES", *(f"{MARGIN}, {line('output', column.bits, column.name).strip()}" for column in stages), "`endif"]
    return body


def _body(model: PortMap, layout: Layout, outputs: Sequence[Column], stages: Sequence[Column], wires: Wires) -> Iterator[str]:
    if model.ready is not None:
        yield from _queue(layout.inputs)
    taken = {column.name: f"{column.name}_q" if model.ready else column.name for column in layout.inputs}
    sent = "send" if model.ready else "in_valid"
    if model.rows_per_beat > 1:
        accepted = "send && accepts" if model.ready else sent
        yield from _slots_in(model.rows_per_beat, [column for column in layout.inputs if _mapped(model, column)], taken, sent, accepted)
        taken = {name: f"{name}_all" for name in taken}
    yield from wires.declared()
    yield from wires.driven(taken)
    yield from _design(model, wires, sent)
    yield from _valid(model, sent)
    yield from wires.collected({column.name: f"{column.name}_all" if model.rows_per_beat > 1 else column.name for column in outputs})
    if model.rows_per_beat > 1:
        yield from _slots_out(model.rows_per_beat, [column for column in outputs if column.name not in model.missing])
    for column in outputs:
        if column.name in model.missing:
            yield f"{MARGIN}assign {column.name} = {column.bits}'d0;  // not compared"
    if stages:
        yield "`ifdef EMU_STAGES"
        yield from wires.collected({column.name: column.name for column in stages})
        for column in stages:
            if column.name not in model.ports:
                yield f"{MARGIN}assign {column.name} = {column.bits}'d0;  // not compared"
        yield "`endif"
    yield from wires.checks()


def _mapped(model: PortMap, column: Column) -> bool:
    return column.name in model.ports and model.ports[column.name].value is None


def _design(model: PortMap, wires: Wires, sent: str) -> Iterator[str]:
    """Yield the instance of the design."""
    links = [(model.clock, "clk")] if model.clock else []
    if model.reset is not None:
        links.append((model.reset.port, "rst" if model.reset.active == "high" else "~rst"))
    if model.valid is not None:
        links += [(model.valid.in_, sent), (model.valid.out, "done")]
    if model.ready is not None:
        links += [(model.ready.in_, "accepts"), (model.ready.out, "1'b1")]
    links += wires.links()
    if model.valid is not None:
        yield f"{MARGIN}wire done;"
    head = f"{MARGIN}{model.module} "
    if model.parameters:
        yield f"{head}#({', '.join(f'.{item.name}({_number(item.value)})' for item in model.parameters)}) u_design ("
    else:
        yield f"{head}u_design ("
    for number, (port, wire) in enumerate(links):
        yield f"{MARGIN * 2}.{port}({wire}){',' if number < len(links) - 1 else ''}"
    yield f"{MARGIN});"


def _number(value: int | str) -> str:
    return str(value) if isinstance(value, int) else f"'h{value[2:]}"


def _valid(model: PortMap, sent: str) -> Iterator[str]:
    """Yield out_valid: the design's, or the inputs' valid after so many clock edges."""
    gate = " & ~rst" if model.reset is not None and model.reset.kind == "async" else ""
    if model.valid is not None:
        yield f"{MARGIN}assign out_valid = done{gate};"
    elif not model.latency:
        yield f"{MARGIN}assign out_valid = in_valid;"
    else:
        last = model.latency - 1
        yield f"{MARGIN}reg [{last}:0] in_flight;  // bit i: a row that went in i + 1 clock edges ago"
        shifted = f"{{in_flight[{last - 1}:0], {sent}}}" if last else sent
        yield f"{MARGIN}always @(posedge clk) in_flight <= rst ? {model.latency}'d0 : {shifted};"
        yield f"{MARGIN}assign out_valid = in_flight[{last}]{gate};"
    if model.clock is None and model.rows_per_beat == 1:
        yield f"{MARGIN}wire unused = &{{1'b0, clk, rst}};"


def _slots_in(rows: int, inputs: Sequence[Column], taken: dict[str, str], offered: str, accepted: str) -> Iterator[str]:
    """Yield the choice of the unit that takes a row. The other units see an older row, never the one that they answer: so a wrong latency
    cannot pass, and a unit that looks at its neighbour is found out."""
    yield f"{MARGIN}// {rows} units side by side: row after row goes to the next unit (+slot=<unit> says where the first one goes);"
    yield f"{MARGIN}// the other units see the row {rows} before"
    yield f"{MARGIN}integer first, slot_in, slot_out;"
    yield f"{MARGIN}initial begin"
    yield f'{MARGIN * 2}if (!$value$plusargs("slot=%d", first)) first = 0;'
    yield f"{MARGIN * 2}slot_in = first;"
    yield f"{MARGIN * 2}slot_out = first;"
    yield f"{MARGIN}end"
    for column in inputs:
        yield f"{MARGIN}reg [{rows * column.bits - 1}:0] {column.name}_held;  // the last {rows} rows, the oldest highest"
        yield f"{MARGIN}wire [{rows * column.bits - 1}:0] {column.name}_all;"
    yield f"{MARGIN}genvar slot;"
    yield f"{MARGIN}generate for (slot = 0; slot < {rows}; slot = slot + 1) begin : slots"
    for column in inputs:
        name, bits, old = column.name, column.bits, f"{column.name}_held[{rows * column.bits - 1}:{(rows - 1) * column.bits}]"
        yield f"{MARGIN * 2}assign {name}_all[slot * {bits} +: {bits}] = !{offered} || slot_in == slot ? {taken[name]} : {old};"
    yield f"{MARGIN}end endgenerate"
    yield f"{MARGIN}always @(posedge clk)"
    yield f"{MARGIN * 2}if (rst) slot_in <= first;"
    yield f"{MARGIN * 2}else if ({accepted}) begin"
    yield f"{MARGIN * 3}slot_in <= slot_in == {rows - 1} ? 0 : slot_in + 1;"
    for column in inputs:
        name = column.name
        yield f"{MARGIN * 3}{name}_held <= {{{name}_held[{(rows - 1) * column.bits - 1}:0], {taken[name]}}};"
    yield f"{MARGIN * 2}end"


def _slots_out(rows: int, outputs: Sequence[Column]) -> Iterator[str]:
    """Yield the choice of the unit whose outputs are compared."""
    yield f"{MARGIN}always @(posedge clk) slot_out <= rst ? first : !out_valid ? slot_out : slot_out == {rows - 1} ? 0 : slot_out + 1;"
    yield from (f"{MARGIN}assign {item.name} = {item.name}_all[slot_out * {item.bits} +: {item.bits}];" for item in outputs)


def _queue(inputs: Sequence[Column]) -> Iterator[str]:
    """Yield a queue as long as the suite, for a design that refuses rows at times."""
    bits = sum(column.bits for column in inputs)
    packed = ", ".join(column.name for column in inputs)
    yield f"{MARGIN}// rows wait here until the design takes them; no row is lost: the queue is as long as the suite"
    yield f"{MARGIN}reg [{bits - 1}:0] queue [0:`TC_N];"
    yield f"{MARGIN}integer filled, sent;"
    yield f"{MARGIN}wire accepts;"
    yield f"{MARGIN}wire send = !rst && sent != filled;"
    yield from (f"{MARGIN}wire [{column.bits - 1}:0] {column.name}_q;" for column in inputs)
    yield f"{MARGIN}assign {{{', '.join(f'{column.name}_q' for column in inputs)}}} = queue[sent];"
    yield f"{MARGIN}always @(posedge clk)"
    yield f"{MARGIN * 2}if (rst) begin"
    yield f"{MARGIN * 3}filled <= 0;"
    yield f"{MARGIN * 3}sent <= 0;"
    yield f"{MARGIN * 2}end else begin"
    yield f"{MARGIN * 3}if (in_valid) queue[filled] <= {{{packed}}};"
    yield f"{MARGIN * 3}if (in_valid) filled <= filled + 1;"
    yield f"{MARGIN * 3}if (send && accepts) sent <= sent + 1;"
    yield f"{MARGIN * 2}end"
