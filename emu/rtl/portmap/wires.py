"""The wires between the columns of a suite and the ports of a design: slices, element order, bit order, ties; and the check of widths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from emu.contracts.columns import Column, Layout
from emu.rtl.portmap.model import Flags, PortMap, Wiring

MARGIN = "    "


@dataclass(frozen=True)
class Run:
    """Elements of a column in one port. first: lowest bit of the column; element i lies at port bit lsb + i * stride, or from the top."""

    port: str
    first: int
    elements: int
    bits: int
    lsb: int = 0
    stride: int = 0
    falling: bool = False
    mirrored: bool = False

    @property
    def is_slice(self) -> bool:
        """Tell whether column and port run side by side without a gap."""
        return not self.mirrored and (self.elements == 1 or (not self.falling and self.stride == self.bits))

    @property
    def top(self) -> int:
        """The first bit of the port above this run, unread bits of the last element included."""
        return self.lsb + (self.elements * self.stride if self.elements > 1 or self.stride > self.bits else self.bits)


def in_beats(place: Wiring, column: Column) -> Column:
    """Return what one beat of a column is: the column itself, some of its elements, a part of its one element, or a part of every one."""
    if place.beats == 1:
        return column
    lanes = column.lanes if place.beat == "bits" or column.lanes == 1 else column.lanes // place.beats
    return replace(column, bits=column.bits // place.beats, lanes=lanes)


def runs_of(place: Wiring, column: Column, rows: int) -> list[Run]:
    """Return the runs of a column. rows: units side by side, each with a whole column."""
    if place.pieces is not None:
        out, top = [], rows * column.bits
        for piece in place.pieces:
            top -= piece.bits
            out.append(Run(piece.port, top, 1, piece.bits, piece.lsb))
        return out
    ports = place.names
    each, width = rows * column.lanes // max(len(ports), 1), column.lane_bits
    if place.low_bits is not None:
        each, width = 1, place.low_bits
    falling, mirrored = place.order == "element_0_highest", place.bits == "msb_lowest"
    return [
        Run(port, number * each * width, each, width, place.lsb, place.element_bits or width, falling, mirrored)
        for number, port in enumerate(ports)
    ]


def flag_runs(flags: Flags, column: Column) -> list[Run]:
    """Return the runs of the column fl: one bit each, those that port and contract both have. column: with the names of its bits."""
    assert len(column.flags) == column.bits, f"{column.name}: nobody says which bit is which flag"
    top = flags.lsb + len(flags.order) - 1
    found = [(name, top - number) for number, name in enumerate(flags.order)]
    return [Run(flags.port, column.flags.index(name), 1, 1, place) for name, place in found if name in column.flags]


def flags_left_out(model: PortMap, column: Column) -> list[str]:
    """Return the flags of a column of the contract that the design's port lacks; none where no port carries flags by name."""
    return [] if model.flags is None or column.name != "fl" else [name for name in column.flags if name not in model.flags.order]


@dataclass(frozen=True)
class Wires:
    """The wires of a wrapper. ins, outs: column -> runs; ties: (port, lsb, bits, value).

    unread: column -> its bits that no port carries.   least: output port -> bits that it has, where no run says so.
    """

    ins: Mapping[str, Sequence[Run]]
    outs: Mapping[str, Sequence[Run]]
    unread: Mapping[str, int]
    ties: Sequence[tuple[str, int, int, str]]
    least: Mapping[str, int]

    def widths(self, inputs: bool) -> dict[str, int]:
        """Return port -> bits, as far as the map knows it."""
        out: dict[str, int] = {} if inputs else dict(self.least)
        for runs in (self.ins if inputs else self.outs).values():
            for run in runs:
                out[run.port] = max(out.get(run.port, 0), run.top)
        if inputs:
            for port, lsb, bits, _ in self.ties:
                out[port] = max(out.get(port, 0), lsb + bits)
        return out

    def driven(self, ending: str) -> Iterator[str]:
        """Yield the assignments to the design's inputs. ending: of the signal that holds a column, behind its name."""
        for column, runs in self.ins.items():
            for number, run in enumerate(runs):
                yield from _assign(run, column + ending, f"to_{run.port}", True, f"{column}_{number}")
        for port, lsb, bits, value in self.ties:
            yield f"{MARGIN}assign to_{port}[{lsb + bits - 1}:{lsb}] = {bits}'h{value[2:]};"
        for port, bits in self.widths(True).items():
            for low, high in self.gaps(port, bits):
                yield f"{MARGIN}assign to_{port}[{high}:{low}] = {high - low + 1}'d0;"

    def gaps(self, port: str, bits: int) -> list[tuple[int, int]]:
        """Return (lowest, highest) of every run of bits of an input port that nothing drives."""
        driven: set[int] = set()
        for runs in self.ins.values():
            for run in runs:
                if run.port == port:
                    starts = [run.lsb] if run.elements == 1 else [run.lsb + i * run.stride for i in range(run.elements)]
                    driven |= {bit for start in starts for bit in range(start, start + run.bits)}
        for name, lsb, wide, _ in self.ties:
            driven |= set(range(lsb, lsb + wide)) if name == port else set()
        out: list[tuple[int, int]] = []
        for bit in range(bits):
            if bit not in driven:
                out = [*out[:-1], (out[-1][0], bit)] if out and out[-1][1] == bit - 1 else [*out, (bit, bit)]
        return out

    def collected(self, columns: Sequence[Column], ending: str) -> Iterator[str]:
        """Yield the assignments from the design's outputs to some columns. ending: of the signal that takes a column, behind its name."""
        for column, runs in ((item.name, self.outs[item.name]) for item in columns if item.name in self.outs):
            signal = column + ending
            if ending:
                bits = sum(run.elements * run.bits for run in runs) + self.unread.get(column, 0).bit_count()
                yield f"{MARGIN}wire [{bits - 1}:0] {signal};"
            for number, run in enumerate(runs):
                yield from _assign(run, signal, f"from_{run.port}", False, f"{column}_{number}")
            if self.unread.get(column):
                yield from (
                    f"{MARGIN}assign {signal}[{bit}] = 1'bx;  // no such flag: not compared"
                    for bit in range(self.unread[column].bit_length())
                    if self.unread[column] >> bit & 1
                )


def wires_of(model: PortMap, layout: Layout) -> Wires:
    """Return the wires of a map that fits a layout."""
    taken = [column for column in layout.inputs if column.name in model.ports]
    places = [(column, model.ports[column.name]) for column in taken]
    ins = {column.name: runs_of(place, in_beats(place, column), model.rows_per_beat) for column, place in places}
    outs: dict[str, list[Run]] = {}
    unread: dict[str, int] = {}
    least: dict[str, int] = {}
    for column in layout.results:
        if column.name in model.ports:
            place = model.ports[column.name]
            outs[column.name] = runs_of(place, in_beats(place, column), model.rows_per_beat)
        elif column.name == "fl" and model.flags is not None:
            outs["fl"] = flag_runs(model.flags, column)
            unread["fl"] = sum(1 << column.flags.index(name) for name in flags_left_out(model, column))
            least[model.flags.port] = model.flags.lsb + len(model.flags.order)
    ties = [(tie.port, tie.lsb, tie.bits, tie.value) for tie in model.ties]
    return Wires({name: runs for name, runs in ins.items() if runs}, outs, unread, ties, least)


def _assign(run: Run, column: str, port: str, to_design: bool, label: str) -> Iterator[str]:
    """Yield the assignment of one run, a slice or a loop over elements."""

    def line(left: str, right: str, margin: str = MARGIN) -> str:
        return f"{margin}assign {left} = {right};" if to_design else f"{margin}assign {right} = {left};"

    bits = run.elements * run.bits
    if run.is_slice:
        yield line(f"{port}[{run.lsb + bits - 1}:{run.lsb}]", f"{column}[{run.first + bits - 1}:{run.first}]")
        return
    place = f"({run.elements - 1} - element_{label})" if run.falling else f"element_{label}"
    low, first = (f"{run.lsb} + " if run.lsb else ""), (f"{run.first} + " if run.first else "")
    yield f"{MARGIN}genvar element_{label};"
    yield (
        f"{MARGIN}generate for (element_{label} = 0; element_{label} < {run.elements}; "
        f"element_{label} = element_{label} + 1) begin : pack_{label}"
    )
    if run.mirrored:
        for bit in range(run.bits):
            yield line(
                f"{port}[{low}{place} * {run.stride} + {run.bits - 1 - bit}]",
                f"{column}[{first}element_{label} * {run.bits} + {bit}]", MARGIN * 2,
            )  # fmt: skip
    else:
        yield line(
            f"{port}[{low}{place} * {run.stride} +: {run.bits}]", f"{column}[{first}element_{label} * {run.bits} +: {run.bits}]", MARGIN * 2
        )
    yield f"{MARGIN}end endgenerate"
