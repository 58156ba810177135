"""A counterexample over time run on the design in a simulator: its rows at its edges; what the solver found must come back.

The expected columns are the reference model's. First registers start unknown, as a simulator has them; where that does not show the fault,
they start with the values that the solver chose for the state before the reset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.atomic import temporary_folder
from emu.base.errors import FileError, ToolError
from emu.base.templates import filled
from emu.contracts.columns import Layout, layout_of
from emu.contracts.rows import Row
from emu.rtl.export.replay import SECONDS, FalseCounterexample, differ
from emu.rtl.portmap.environment import Environment
from emu.rtl.portmap.file import MapFile
from emu.rtl.simulate.simulator import Simulator, compile_sources, execute, find

_EVENT: Final = re.compile(r"EVENT (\w+) (\d+) number=([01xz]+) answer=([01xz])((?: \w+=[0-9a-fxzXZ]+)*)")
_REGISTER: Final = re.compile(r"(environment\.u_design(?:\.\w+)+)(?:\[(\d+)\])?")
_WORDS: Final = {
    "extra": "an answer comes without a row",
    "unsteady": "an answer changes while it waits",
    "unmarked": "the mark of the last beat is wrong",
}


class Stimulus(NamedTuple):
    """What a solver chose. rigid: port -> value at all edges.   start: register bit -> value before the first edge.   steps: by edge.

    resets: edges of reset.   slot: the unit that is watched.   limit: edges to the end of an answer.
    """

    rigid: Mapping[str, int]
    start: Mapping[str, int]
    steps: Sequence[Mapping[str, int]]
    resets: int
    slot: int
    limit: int


class Replayed(NamedTuple):
    """What came back. fault: in words.   number: of the row that is wrong.   got: of it.

    simulator: that ran it, or in brackets why none did.
    """

    fault: str
    number: int
    got: dict[str, str] | None
    simulator: str


class _Event(NamedTuple):
    kind: str
    edge: int
    number: int | None
    known: bool
    got: dict[str, str]


def replay_sequence(
    layout: Layout, rows: Sequence[Row], file: MapFile, env: Environment, sources: Sequence[Path], stimulus: Stimulus, found: str
) -> Replayed:
    """Run a stimulus and look for what the solver found: `bad<row>`, `broken` or `late`.

    rows: by the reference model.   sources: the design, Verilog.   Raises: FalseCounterexample (it does not come back).
    """
    row = int(re.sub(r"\D", "", found) or 0) if found.startswith("bad") else None
    try:
        simulator = find()
    except ToolError as error:
        return Replayed(_words(found, row, env), len(rows) - 1 if row is None else row, None, f"({error})")
    unknown: Replayed | None = None
    for start in ({}, stimulus.start) if simulator.name == "icarus" else ({},):
        try:
            events = _run(simulator, file, env, sources, stimulus, start)
        except FileError as error:
            if start:
                break
            return Replayed(_words(found, row, env), len(rows) - 1 if row is None else row, None, f"({error})")
        for event in events:
            if not event.known or event.number is None:
                fault = f"{file.map.valid.out if file.map.valid else 'an output'} is X or Z {event.edge} cycles after the reset"
                unknown = unknown or Replayed(fault, 0, None, simulator.name)
                break
            if _is(event, found, row, layout, rows, env):
                number = event.number if row is None else row
                return Replayed(
                    _words(event.kind if row is None else found, row, env, event),
                    min(number, len(rows) - 1),
                    event.got or None,
                    simulator.name,
                )
    if unknown is not None:
        return unknown
    raise FalseCounterexample(
        f"a false counterexample ({_words(found, row, env)}): in {simulator.name} it does not come back: "
        "yosys and the simulator read the design in two ways"
    )


def _is(event: _Event, found: str, row: int | None, layout: Layout, rows: Sequence[Row], env: Environment) -> bool:
    if row is None:
        return event.kind == "late" if found == "late" else event.kind in _WORDS
    shown = {column.name for column in env.outputs}
    part = layout_of([*layout.inputs, *(column for column in layout.results if column.name in shown)])
    values = dict(zip((column.name for column in layout.columns), rows[row].values, strict=True))
    cut = rows[row]._replace(values=tuple(values[column.name] for column in part.columns))
    return event.kind == "answer" and event.number == row and bool(differ(part, cut, event.got))


def _words(found: str, row: int | None, env: Environment, event: _Event | None = None) -> str:
    when = f", {event.edge} cycles after the reset" if event is not None else ""
    if row is not None:
        return f"row {row + 1} after the reset is answered wrong{when}"
    if found == "late":
        return f"no answer, or a row not taken, within {env.edges} clock cycles{when}"
    return _WORDS.get(found, "an answer without a row, one that changes while it waits, or a wrong mark") + when


def _run(
    simulator: Simulator, file: MapFile, env: Environment, sources: Sequence[Path], stimulus: Stimulus, start: Mapping[str, int]
) -> list[_Event]:
    text = filled(
        Path(__file__).with_name("sequence_replay.sv.j2"),
        units=env.units,
        slot=stimulus.slot,
        limit=stimulus.limit,
        most=env.limit,
        any_bits=env.any_bits,
        rows=env.rows,
        outputs=env.outputs,
        mapped=env.mapped,
        rigid=stimulus.rigid,
        steps=stimulus.steps,
        resets=stimulus.resets,
        start=sorted(_registers(start).items()),
    )
    with temporary_folder("rtl") as work:
        (work / "replay.sv").write_text(text, encoding="ascii")
        (work / "environment.sv").write_text(env.text, encoding="utf-8")
        folders = dict.fromkeys(path.resolve() for path in (*(source.parent for source in (*sources, *file.files)), *file.includes))
        options = [*(f"-I{path}" for path in folders)]
        options += [f"-D{define.text}" for define in file.map.defines]
        command = compile_sources(simulator, [work / "replay.sv", work / "environment.sv", *sources], options, work)
        status, said = execute(command, work, SECONDS)
    if status != 0 or "DONE" not in said:
        raise FileError(f"{simulator.name}: the bench of a counterexample does not end")
    return [_event(*match.groups()) for match in _EVENT.finditer(said)]


def _event(kind: str, edge: str, number: str, answer: str, values: str) -> _Event:
    known = not set(number) & set("xz")
    got = dict(word.split("=") for word in values.split())
    return _Event(kind, int(edge), int(number, 2) if known else None, answer == "1", got)


def _registers(start: Mapping[str, int]) -> dict[str, int]:
    """Return register of the design -> value."""
    out: dict[str, int] = {}
    for name, bit in start.items():
        found = _REGISTER.fullmatch(name)
        if found is not None:
            out[found[1]] = out.get(found[1], 0) | bit << int(found[2] or 0)
    return out
