"""Port maps: how the ports of an existing design carry the columns of a suite of golden vectors. The model, as its YAML file says it.

Not here: reading and checking a file (portmap_file), the wrapper that a map makes (portmap_wrapper), rows left out (portmap_rows).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from emu.spec.models.common import Hex, Id, Name, Part, YesNo

VERILOG_NAME = r"^[A-Za-z_][A-Za-z0-9_$]*$"
Identifier = Annotated[str, StringConstraints(pattern=VERILOG_NAME)]
Class = Literal["zero", "negative_zero", "subnormal", "inf", "nan", "signalling_nan", "negative"]
Flag = Literal["nv", "dz", "of", "uf", "nx"]
Suite = Literal["smoke", "directed", "kill", "kill_more", "bits", "sums", "all", "random"]


class Parameter(Part):
    """One parameter of the design."""

    name: Identifier = Field(description="parameter of the module")
    value: int | Hex = Field(description="decimal integer, or a bit pattern in hex")


class Define(Part):
    """One macro that the design's files need."""

    name: Identifier = Field(description="macro, without the backquote")
    value: int | str = Field(default="", description="its text; left out: defined and empty")

    @property
    def text(self) -> str:
        """The macro as `NAME` or `NAME=value`."""
        return self.name if self.value == "" else f"{self.name}={self.value}"


class Reset(Part):
    """The reset of the design."""

    port: Identifier = Field(description="reset port")
    active: Literal["high", "low"] = Field(description="the level that resets")
    kind: Literal["sync", "async"] = Field(description="does it wait for the clock: sync; or act at once: async")


class Handshake(Part):
    """A pair of ports, one beside the inputs and one beside the outputs."""

    in_: Identifier = Field(alias="in", description="the port beside the inputs")
    out: Identifier = Field(description="the port beside the outputs")


class Ready(Part):
    """The ready ports of the design: it may refuse rows, or be made to wait with its answers."""

    in_: Identifier | None = Field(default=None, alias="in", description="its output: it takes what is beside the inputs")
    out: Identifier | None = Field(default=None, description="its input: the bench takes what is beside the outputs")


class Clock(Part):
    """One of several clocks of the design."""

    port: Identifier = Field(description="clock port, rising edge")
    percent: int = Field(
        default=100, ge=10, le=300, description="its period in percent of that of the bench's clock; 100: the bench's clock"
    )
    sides: tuple[Literal["in", "out"], ...] = Field(default=(), description="in: the inputs are taken on it; out: the outputs come on it")


class Framing(Part):
    """When the valid ports are 1, where a row takes several beats."""

    in_: Literal["every", "first"] = Field(
        default="every", alias="in", description="in every beat, or in the first: the others follow at once"
    )
    out: Literal["every", "first"] = Field(default="every", description="the same of the outputs")


class Last(Part):
    """Ports that are 1 in the last beat of a row."""

    in_: Identifier | None = Field(default=None, alias="in", description="input of the design")
    out: Identifier | None = Field(default=None, description="output of the design; 1 in another beat is a fault")


class Piece(Part):
    """Some bits of a port."""

    port: Identifier = Field(description="port of the design")
    bits: int = Field(ge=1, le=1 << 16, description="how many bits")
    lsb: int = Field(default=0, ge=0, le=1 << 16, description="lowest of them in the port")


class Wiring(Part):
    """Where the design has a column. Exactly one of port, ports, pieces, value.

    An element is one lane of a column (the suite's JSON says how many); with rows_per_beat it is one lane of one row, row 0 first.
    """

    port: Identifier | None = Field(default=None, description="the port that carries all elements")
    ports: tuple[Identifier, ...] | None = Field(default=None, min_length=1, description="several ports with equal shares, element 0 first")
    pieces: tuple[Piece, ...] | None = Field(default=None, min_length=1, description="pieces of ports, highest bits of the column first")
    value: Hex | None = Field(default=None, description="the design has no such port and always takes this: rows are made anew with it")
    lsb: int = Field(default=0, ge=0, le=1 << 16, description="lowest bit in the port")
    order: Literal["element_0_lowest", "element_0_highest"] = Field(default="element_0_lowest", description="packing of elements in a port")
    bits: Literal["msb_highest", "msb_lowest"] = Field(default="msb_highest", description="msb_lowest: every element is bit-reversed")
    low_bits: int | None = Field(
        default=None, ge=1, le=64, description="the port takes only these low bits of the column: rows with others set are made anew"
    )
    element_bits: int | None = Field(
        default=None, ge=1, le=64, description="bits from one element to the next, where wider than its code: higher bits are 0, unread"
    )
    beats: int = Field(
        default=1, ge=1, le=1 << 12, description="clock edges over which the column comes; 1: held throughout (an output: taken at the end)"
    )
    beat: Literal["elements", "bits"] = Field(
        default="elements", description="what a beat holds: some of the elements, or of a single one a part; bits: a part of every element"
    )
    first: Literal["lowest", "highest"] = Field(default="lowest", description="which part comes in the first beat")

    @property
    def names(self) -> tuple[str, ...]:
        """The ports with equal shares of the elements; none where pieces or a value say it."""
        return self.ports or ((self.port,) if self.port else ())


class Unpacked(Part):
    """A port that is an unpacked array, `output logic [7:0] y [0:3]`: its elements from the lowest index up are the bits of the port."""

    port: Identifier = Field(description="port of the design; a packed array or struct needs no entry: it is a vector")
    first: int = Field(ge=0, le=1 << 16, description="index on the left of its range")
    last: int = Field(ge=0, le=1 << 16, description="index on the right of its range")

    @property
    def count(self) -> int:
        """How many elements it has."""
        return abs(self.last - self.first) + 1


class Tie(Part):
    """An input of the design that never changes."""

    port: Identifier = Field(description="port of the design")
    bits: int = Field(default=1, ge=1, le=1 << 16, description="how many bits are tied")
    lsb: int = Field(default=0, ge=0, le=1 << 16, description="lowest of them in the port")
    value: Hex = Field(description="what they are tied to")


class Flags(Part):
    """The exception flags of the design, by name: the contract says which bit of its column fl each of them is."""

    port: Identifier = Field(description="port that carries them")
    order: tuple[Flag, ...] = Field(
        min_length=1, description="highest bit first; one that the contract lacks is not looked at; one left out needs an entry in waived"
    )
    lsb: int = Field(default=0, ge=0, le=1 << 16, description="lowest bit in the port")


class Unsupported(Part):
    """A waiver: rows that the design does not claim, of one class of an input or with one flag. They run, are not compared, are counted.

    With a reason the rest can pass; without one the verdict is partial. A waiver that matches no row is an error.
    """

    class_: Class | None = Field(default=None, alias="class", description="any element of an input is of this class")
    column: Name | None = Field(default=None, description="only elements of this column")
    flag: Name | None = Field(default=None, description="rows with this flag of the suite")
    why: str = Field(default="", description="the reason; without one a run that passes is only partial")


class PortMap(Part):
    """One design and the suite that judges it."""

    kind: Literal["portmap"] = Field(description="portmap")
    title: str = Field(default="", description="one line for a reader")
    module: Identifier = Field(description="module of the design")
    files: tuple[str, ...] = Field(min_length=1, description="its source files, in the order of compilation, relative to the port map")
    parameters: tuple[Parameter, ...] = Field(default=(), description="parameters of the module")
    defines: tuple[Define, ...] = Field(default=(), description="macros for its files")
    includes: tuple[str, ...] = Field(default=(), description="folders that its files include from, beside their own")
    contract: str | None = Field(default=None, description='what it claims, such as "convert/e2m1/rne/nvidia" (emu list contracts)')
    source: Id | None = Field(default=None, description="source format of convert, quantize, transform; result format of dequantize")
    suites: tuple[Suite, ...] = Field(
        default=("smoke", "directed"), min_length=1, description="suites of the contract to run, all of which must be there"
    )
    suite: str | None = Field(default=None, description="the stem of one suite, in the place of contract, source and suites")
    clock: Identifier | None = Field(default=None, description="clock port, rising edge; left out: a combinational design")
    reset: Reset | None = Field(default=None, description="reset; left out: none")
    valid: Handshake | None = Field(default=None, description="valid ports; left out: latency says when the outputs are there")
    clocks: tuple[Clock, ...] = Field(default=(), description="several clocks, in the place of clock; needs valid ports")
    ready: Ready | None = Field(
        default=None, description="ready ports; answers are made to wait at random where there is one beside the outputs"
    )
    back_pressure: YesNo = Field(default="yes", description="no: the ready port beside the outputs is always 1")
    valid_beats: Framing | None = Field(default=None, description="when the valid ports are 1, where a row takes several beats")
    last: Last | None = Field(default=None, description="ports that mark the last beat of a row")
    latency: Annotated[int, Field(ge=0, le=4096)] | Literal["find"] | None = Field(
        default=None, description="clock edges from inputs to outputs; 0: combinational; find: fixed, and the bench finds it, at most 64"
    )
    pipelined: YesNo = Field(default="yes", description="no: the next row waits for the answer of the one before")
    watchdog: int = Field(default=1000, ge=1, le=1 << 24, description="clock cycles that an answer may take")
    chain: Literal["golden", "dut"] = Field(
        default="golden", description="accumulate: rows start from the golden state, or (dut) from the design's own, which it may hide"
    )
    rows_per_beat: int = Field(default=1, ge=1, le=64, description="units side by side, each takes one row of the suite")
    ports: dict[Name, Wiring] = Field(description="column of the suite -> place in the design")
    flags: Flags | None = Field(default=None, description="where the column fl is; left out: in ports, or missing")
    ties: tuple[Tie, ...] = Field(default=(), description="inputs that never change")
    unpacked: tuple[Unpacked, ...] = Field(default=(), description="ports that are unpacked arrays")
    wider: tuple[Identifier, ...] = Field(default=(), description="output ports with bits above those of the map, which nobody compares")
    missing: tuple[Name, ...] = Field(
        default=(),
        description="output columns that the design lacks: the verdict is partial; of accumulate also last, and acc_in where it chains",
    )
    waived: dict[Name, Annotated[str, StringConstraints(min_length=1)]] = Field(
        default={}, description="output column or flag that the design lacks -> the reason, with which the rest can pass"
    )
    unsupported: tuple[Unsupported, ...] = Field(default=(), description="rows that the design does not claim")

    @property
    def absent(self) -> frozenset[str]:
        """The columns and flags that the design lacks, with a reason or without."""
        return frozenset({*self.missing, *self.waived})

    @property
    def constants(self) -> dict[str, int]:
        """Input column -> the value that the design always takes."""
        return {name: int(place.value, 16) for name, place in self.ports.items() if place.value is not None}

    @property
    def streams(self) -> bool:
        """Tell whether rows pass through queues: several clocks, several beats a row, or ready ports of a design with one unit."""
        several = any(place.beats > 1 for place in self.ports.values())
        return bool(self.clocks or several or (self.ready is not None and self.rows_per_beat == 1))

    @property
    def presses(self) -> bool:
        """Tell whether answers are made to wait."""
        return self.streams and self.ready is not None and self.ready.out is not None and self.back_pressure == "yes"

    def clock_of(self, side: Literal["in", "out"]) -> Identifier | None:
        """Return the clock port of the inputs or outputs."""
        return next((clock.port for clock in self.clocks if side in clock.sides), self.clock)
