"""Reading a port map: strict YAML, the model, then what only both files can tell: columns, widths, bits that two columns claim."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emu.base.errors import EmuError, SpecError
from emu.base.in_use import reads
from emu.contracts.columns import Column, Layout
from emu.rtl.portmap.model import PortMap, Wiring
from emu.rtl.portmap.wires import in_beats, wires_of
from emu.spec.contract import parse
from emu.spec.faults import first_fault
from emu.spec.loader import Document, read
from emu.spec.loader import Path as Where
from emu.vectors.files.manifest import parse_stem
from emu.vectors.suites.notes import NOTES

SOURCED = ("convert", "quantize", "transform", "dequantize")  # operations whose contract leaves a format open

_INCLUDE = re.compile(rb'^[ \t]*`include[ \t]+"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class MapFile:
    """A port map with its file. document: for messages with a line."""

    map: PortMap
    path: Path
    document: Document

    def fault(self, where: Where, text: str) -> SpecError:
        """Return the error of one place of the file."""
        shown = ".".join(str(part) for part in where) or "top level"
        return SpecError(f"{self.document.where(where)}: {shown}: {text}")

    @property
    def files(self) -> tuple[Path, ...]:
        """The source files of the design."""
        return tuple(self.path.parent / name for name in self.map.files)

    @property
    def includes(self) -> tuple[Path, ...]:
        """The folders that the design includes from."""
        return tuple(self.path.parent / name for name in self.map.includes)


def load_map(path: Path) -> MapFile:
    """Return the port map of a YAML file, checked as far as one file tells.

    Raises: SpecError with file and line (strict rules as of spec files; unknown keys; keys that exclude each other; no such source file).
    Tests: tests/rtl/test_rtl_portmap.py.
    """
    document = read(path)
    if not isinstance(document.data, dict):
        raise SpecError(f"{document.where(())}: the top level must be keys and values: kind, module, files, contract, ports")
    try:
        model = PortMap.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, PortMap, document)) from None
    found = MapFile(model, path, document)
    for where, text in _alone(found):
        raise found.fault(where, text)
    reads(path)
    reads_design(found.files, found.includes)
    return found


def reads_design(files: Sequence[Path], includes: Sequence[Path] = ()) -> None:
    """Say that a program reads a design: its files, and those that they include, beside them or in the folders of includes.

    Raises: FileError (one of them is a result of the command).
    """
    open_, known = [*files], set[Path]()
    while open_:
        path = open_.pop()
        if path in known or not path.is_file():
            continue
        known.add(path)
        reads(path)
        names = [name.decode(errors="replace") for name in _INCLUDE.findall(path.read_bytes())]
        open_ += [folder / name for name in names for folder in (path.parent, *includes)]


def _alone(file: MapFile) -> Iterator[tuple[Where, str]]:
    """Yield the faults that need no suite."""
    model = file.map
    if model.module in ("bench", "dut"):
        yield ("module",), f"{model.module} is a module of the bench kit: rename yours"
    yield from _timing(model)
    yield from _judged_by(model)
    for name, place in model.ports.items():
        given = [key for key in ("port", "ports", "pieces", "value") if getattr(place, key) is not None]
        if len(given) != 1:
            yield ("ports", name), f"say one of port, ports, pieces, value; here are {', '.join(given) or 'none'}"
        elif given[0] in ("pieces", "value") and place.model_fields_set - {given[0]}:
            other = ", ".join(sorted(place.model_fields_set - {given[0]}))
            yield ("ports", name), f"{other} does not go with {given[0]}: remove it"
    for number, item in enumerate(model.unsupported):
        if (item.class_ is None) == (item.flag is None):
            yield ("unsupported", number), "say either class or flag"
        if item.flag is not None and (item.column is not None or item.flag not in NOTES):
            yield ("unsupported", number, "flag"), f"{item.flag} is no flag of a suite" if item.column is None else "a flag has no column"
    yield from _files(file)


def _files(file: MapFile) -> Iterator[tuple[Where, str]]:
    """Yield files and folders that are not there."""
    for number, path in enumerate(file.files):
        if not path.is_file():
            yield ("files", number), f"{path}: no such file: names are relative to the folder of the port map"
    for number, path in enumerate(file.includes):
        if not path.is_dir():
            yield ("includes", number), f"{path}: no such folder: names are relative to the folder of the port map"


def _timing(model: PortMap) -> Iterator[tuple[Where, str]]:
    if (model.valid is None) == (model.latency is None):
        yield ("valid" if model.valid else ("module"),), "say either valid (its ports) or latency (clock edges; 0 for combinational)"
    elif model.ready is not None and model.valid is None:
        yield ("ready",), "ready ports need valid ports"
    elif model.clock is None and not model.clocks and (model.valid is not None or model.latency):
        yield ("valid" if model.valid else "latency",), "a design with registers needs key clock"
    if model.ready is not None and model.ready.in_ is None and model.ready.out is None:
        yield ("ready",), "names no port: say in, out or both"
    yield from _streams(model)


def _clocks(model: PortMap) -> Iterator[tuple[Where, str]]:
    """Yield the faults of several clocks."""
    if not model.clocks:
        return
    if model.clock is not None:
        yield ("clock",), "does not go with clocks: remove it"
    if model.valid is None:
        yield ("clocks",), "a design of several clocks needs valid ports"
    for side in ("in", "out"):
        if sum(side in clock.sides for clock in model.clocks) != 1:
            yield ("clocks",), f"exactly one of them has {side!r} among its sides"


def _in_beats(model: PortMap, several: list[str]) -> Iterator[tuple[Where, str]]:
    """Yield the faults of columns in beats. several: those that come in several."""
    if several and model.valid is None:
        yield ("ports", several[0]), "a column in several beats needs valid ports"
    if (model.clocks or several) and model.rows_per_beat > 1:
        yield ("rows_per_beat",), "does not go with several clocks or beats"
    for name, place in model.ports.items():
        if place.beats > 1 and (place.port is None or place.low_bits is not None):
            yield ("ports", name), "a column in several beats lies in one port, without low_bits"
        if place.beats == 1 and place.model_fields_set & {"beat", "first"}:
            yield ("ports", name), "beat and first are for columns of several beats"


def _streams(model: PortMap) -> Iterator[tuple[Where, str]]:
    """Yield the faults of clocks and beats."""
    several = [name for name, place in model.ports.items() if place.beats > 1]
    yield from _clocks(model)
    yield from _in_beats(model, several)
    for key in ("valid_beats", "last"):
        if getattr(model, key) is not None and not several:
            yield (key,), "no column comes in several beats: remove it"
    ready, framing = model.ready, model.valid_beats
    at_once = (framing.in_ == "first", framing.out == "first") if framing is not None else (False, False)
    if ready is not None and ((at_once[0] and ready.in_ is not None) or (at_once[1] and ready.out is not None)):
        yield ("valid_beats",), "a row that comes without a break cannot be made to wait: ready needs valid in every beat"


def _judged_by(model: PortMap) -> Iterator[tuple[Where, str]]:
    if (model.contract is None) == (model.suite is None):
        yield ("contract" if model.contract else "module",), "say either contract or suite (a stem)"
    elif model.suite is not None:
        for key in ("source", "suites"):
            if key in model.model_fields_set:
                yield (key,), "does not go with suite, which names it: remove it"
        try:
            parse_stem(model.suite)
        except EmuError as error:
            yield ("suite",), str(error)
    else:
        try:
            op = parse(model.contract or "").op
        except EmuError as error:
            yield ("contract",), str(error)
            return
        if (op in SOURCED) != (model.source is not None):
            yield (
                ("source" if model.source else "contract",),
                (f"{op} needs key source: the format that suites convert from" if op in SOURCED else f"{op} has no source: remove it"),
            )


def check_columns(file: MapFile, layout: Layout, stem: str) -> None:
    """Compare a port map with the columns of a suite.

    Raises: SpecError with file and line (an unknown or forgotten column, wrong widths, bits that two columns drive).
    """
    for where, text in _columns(file.map, layout, stem):
        raise file.fault(where, text)


def _columns(model: PortMap, layout: Layout, stem: str) -> Iterator[tuple[Where, str]]:
    inputs = {column.name: column for column in layout.inputs}
    results = {column.name: column for column in layout.results}
    named = inputs | results
    yield from _names(model, inputs, results, stem)
    for name, place in model.ports.items():
        if name in named:
            yield from _place(name, place, named[name], model.rows_per_beat, name in inputs)
    for number, item in enumerate(model.unsupported):
        if item.column is not None and item.column not in inputs:
            yield ("unsupported", number, "column"), f"{stem} has no input column {item.column}: it has {', '.join(inputs)}"
        numbers = [column for column in inputs.values() if item.column in (None, column.name) and column.format is not None]
        if item.class_ is not None and not numbers:
            yield ("unsupported", number, "class"), f"no input column of {stem} has a number format"
    yield from _clashes(model, inputs)
    wires = wires_of(model, layout)
    widths = wires.widths(True) | wires.widths(False)
    for number, port in enumerate(model.wider):
        if port not in wires.widths(False):
            yield ("wider", number), f"{port} carries no output column: remove it"
    for number, array in enumerate(model.unpacked):
        if array.port not in widths:
            yield ("unpacked", number, "port"), f"{array.port} carries no column: remove it"
        elif widths[array.port] % array.count:
            yield ("unpacked", number), f"{array.count} elements do not share the {widths[array.port]} bits of {array.port} evenly"


def _names(model: PortMap, inputs: dict[str, Column], results: dict[str, Column], stem: str) -> Iterator[tuple[Where, str]]:
    """Yield columns that are unknown, forgotten, or said twice."""
    named = [*inputs, *results]
    for key in ("ports", "missing"):
        for number, name in enumerate(getattr(model, key)):
            where: Where = (key, name) if key == "ports" else (key, number)
            if name not in named:
                near = difflib.get_close_matches(name, named, n=1)
                yield where, f"{stem} has no column {name}: " + (f"did you mean {near[0]}?" if near else f"it has {', '.join(named)}")
            elif key == "missing" and name in model.ports:
                yield where, "it is in ports too: keep one"
            elif key == "missing" and name in inputs and name not in _free_inputs(model, stem):
                yield where, "an input is tied with value in ports"
    yield from _waived(model, inputs, results, stem)
    said = {*model.ports, *model.absent, *(("fl",) if model.flags else ())}
    if model.chain == "dut" and not stem.startswith("accumulate__"):
        yield ("chain",), f"{stem} has no chains: only suites of accumulate have"
    stage = next((name for name in model.ports if name in results and results[name].role == "stage"), None)
    if model.streams and stage:
        yield ("ports", stage), "stages can only be compared where rows pass through no queue: no ready ports, one clock, one beat"
    if model.rows_per_beat > 1 and (model.flags or stage):
        yield ("rows_per_beat",), f"{'flags' if model.flags else stage} can only be compared with one row per beat"
    if model.flags is not None:
        yield from _flags(model, model.flags.order, results.get("fl"), stem)
    for column in (*inputs.values(), *results.values()):
        if column.name not in said and column.role != "stage":
            fix = "or name it under waived, with the reason" if column.name in results else 'or tie it: {value: "0x0"}'
            yield ("ports",), f"column {column.name} of {stem} is not mapped: say where it is, {fix}"


def _flags(model: PortMap, order: Sequence[str], column: Column | None, stem: str) -> Iterator[tuple[Where, str]]:
    """Yield faults of flags that are wired by name. column: fl of the contract."""
    if len(set(order)) < len(order):
        yield ("flags", "order"), f"{', '.join(order)}: each flag once"
    if column is None:
        yield ("flags",), f"{stem} has no column fl: remove it"
    elif "fl" in model.ports or "fl" in model.absent:
        yield ("flags",), "column fl is said twice"
    elif not {*order} & {*column.flags}:
        yield ("flags", "order"), f"names no flag of {stem}: it has {', '.join(column.flags)}"


def _waived(model: PortMap, inputs: dict[str, Column], results: dict[str, Column], stem: str) -> Iterator[tuple[Where, str]]:
    """Yield waivers of a column or flag that is no result, is compared, or is said to be missing without a reason as well."""
    outs = [name for name, column in results.items() if column.role == "out"]
    flags = results["fl"].flags if "fl" in results else ()
    for name in model.waived:
        where = ("waived", name)
        if name in model.ports or (model.flags is not None and name in ("fl", *model.flags.order)):
            yield where, "it is compared: remove it"
        elif name in model.missing:
            yield where, "it is in missing too: keep the one with the reason"
        elif name in flags and model.flags is None:
            yield where, "is a flag, and the map wires none by name: waive column fl, or say where the others are (flags)"
        elif name not in outs and name not in flags:
            known = ", ".join([*outs, *flags])
            yield where, "an input is tied with value in ports" if name in inputs else f"{stem} has no such output or flag: it has {known}"


def _free_inputs(model: PortMap, stem: str) -> tuple[str, ...]:
    """Return the inputs that a design need not have: the end of a chain, and the state where it keeps its own."""
    if not stem.startswith("accumulate__"):
        return ()
    return ("last", "acc_in") if model.chain == "dut" else ("last",)


def _place(name: str, place: Wiring, column: Column, rows: int, is_input: bool) -> Iterator[tuple[Where, str]]:
    where: Where = ("ports", name)
    bits, elements = rows * column.bits, rows * column.lanes
    if place.beats > 1:
        share = column.lane_bits if place.beat == "bits" else column.lanes if column.lanes > 1 else column.bits
        if share % place.beats:
            yield (
                (*where, "beats"),
                f"{place.beats} beats do not share {share} {'elements' if share == column.lanes > 1 else 'bits'} evenly",
            )
            return
        column = in_beats(place, column)
        bits, elements = column.bits, column.lanes
    alone = is_input and place.port is not None and elements == 1 and place.element_bits is None
    if place.low_bits is not None and not (alone and place.low_bits <= column.bits):
        yield (*where, "low_bits"), f"only for one element of an input in one port, at most its {column.bits} bits"
    if place.value is not None:
        if not is_input:
            yield where, "an output has no value: name it under waived, with the reason"
        elif int(place.value, 16) >> column.bits:
            yield (*where, "value"), f"has more than the {column.bits} bits of the column"
    if place.pieces is not None and sum(piece.bits for piece in place.pieces) != bits:
        yield (*where, "pieces"), f"hold {sum(piece.bits for piece in place.pieces)} bits, the column has {bits}"
    if place.ports is not None and elements % len(place.ports):
        yield (*where, "ports"), f"{len(place.ports)} ports do not share {elements} elements evenly"
    if place.element_bits is not None and place.element_bits < column.lane_bits:
        yield (*where, "element_bits"), f"is narrower than the {column.lane_bits} bits of an element"


def spans(place: Wiring, column: Column, rows: int) -> list[tuple[str, int, int]]:
    """Return (port, lowest bit, bits) of everything that a place takes of the design's ports."""
    if place.pieces is not None:
        return [(piece.port, piece.lsb, piece.bits) for piece in place.pieces]
    if place.low_bits is not None:
        return [(port, place.lsb, place.low_bits) for port in place.names]
    column = in_beats(place, column)
    stride = place.element_bits or column.lane_bits
    return [(port, place.lsb, stride * rows * column.lanes // len(place.names)) for port in place.names]


def _clashes(model: PortMap, inputs: dict[str, Column]) -> Iterator[tuple[Where, str]]:
    """Yield bits of the design that two entries drive, and ports that are used both ways."""
    driven: dict[str, dict[int, str]] = {}
    single: dict[str, str] = _single_ports(model)
    claims: list[tuple[Where, str, str, int, int]] = []
    for name, place in model.ports.items():
        if name in inputs:
            claims += [(("ports", name), name, *span) for span in spans(place, inputs[name], model.rows_per_beat)]
    claims += [(("ties", number), f"tie {number}", tie.port, tie.lsb, tie.bits) for number, tie in enumerate(model.ties)]
    outs = [place for name, place in model.ports.items() if name not in inputs]
    read = {port for place in outs for port in place.names} | {piece.port for place in outs for piece in place.pieces or ()}
    read |= {model.flags.port} if model.flags else set()
    for where, name, port, lsb, bits in claims:
        if port in single:
            yield where, f"port {port} is the {single[port]} of the design"
        if port in read:
            yield where, f"port {port} is read as an output elsewhere in this file"
        bits_of = driven.setdefault(port, {})
        other = next((bits_of[bit] for bit in range(lsb, lsb + bits) if bit in bits_of), None)
        if other is not None:
            yield where, f"bits {lsb + bits - 1}:{lsb} of {port} are driven by {other} too"
        bits_of |= dict.fromkeys(range(lsb, lsb + bits), name)
    for number, tie in enumerate(model.ties):
        if int(tie.value, 16) >> tie.bits:
            yield ("ties", number, "value"), f"has more than {tie.bits} bits"


def _single_ports(model: PortMap) -> dict[str, Any]:
    """Return port -> what it is, of clock, reset, valid and ready."""
    out = {model.clock: "clock", model.reset.port if model.reset else None: "reset"}
    out |= {clock.port: "clock" for clock in model.clocks}
    for name, pair in (("valid", model.valid), ("ready", model.ready), ("last beat", model.last)):
        if pair is not None:
            out |= {pair.in_: name, pair.out: name}
    return {port: what for port, what in out.items() if port is not None}
