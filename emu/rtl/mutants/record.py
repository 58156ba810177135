"""The record of netlist mutants: per unit how many were drawn, which suites killed them, what the solver says of the rest.

One JSON file, docs/evidence/netlist_mutants.json; `emu rtl mutants` makes it, unit by unit, and a test says whether it is of these designs
and these suites.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError, FileError
from emu.files.record import Record, opens
from emu.rtl.mutants.bench import render
from emu.rtl.mutants.netlist import Mutants, draw
from emu.rtl.mutants.settle import settle
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit, golden, path_of
from emu.vectors.files import writers
from emu.vectors.files.suite import Suite
from emu.vectors.suites.plan import find

SCHEMA: Final = "emu-netlist-mutants-1"
COUNT: Final = 1200
SEED: Final = 1
COMMAND: Final = "emu rtl mutants --out docs/evidence/netlist_mutants.json"
Progress = Callable[[str], None]


def sources_sha256(unit: Unit) -> str:
    """Return the digest of what a unit is made of: its files in order, and its defines."""
    digest = hashlib.sha256(json.dumps(sorted(unit.defines.items())).encode("ascii"))
    for path in unit.sources:
        digest.update(path.name.encode("ascii") + b"\0" + path.read_bytes())
    return digest.hexdigest()


def stems_of(unit: Unit) -> list[str]:
    """Return the stems that judge the mutants of a unit: its kill suites first, where the spec plans them, then its own."""
    kills = []
    for stem in unit.suites:
        candidate = f"{stem.rpartition('__')[0]}__kill"
        if candidate not in kills and _is_planned(candidate):
            kills.append(candidate)
    return [*kills, *(stem for stem in unit.suites if stem not in kills)]


def _is_planned(stem: str) -> bool:
    try:
        find(stem)
    except FileError:
        return False
    return True


def examine(unit: Unit, work: Path, progress: Progress, count: int = COUNT, seed: int = SEED, seconds: int = 10) -> dict[str, Any]:
    """Draw, run and settle the mutants of one unit; return its entry of the record.

    work: an empty folder.   count: how many at most.   seconds: of solver time for each survivor.   Raises: EngineError, FileError.
    """
    suites = [golden(stem, work) for stem in stems_of(unit)]
    header = path_of(f"{unit.suites[0]}.svh", work)
    progress(f"{unit.id}: drawing")
    mutants = draw(unit, header, work, count, seed)
    progress(f"{unit.id}: {len(mutants.mutations)} mutants over {sum(len(suite.rows) for suite in suites)} rows")
    deaths = judge(mutants, suites, work)
    living = [mutation for mutation in mutants.mutations if deaths[mutation.number] is None]
    progress(f"{unit.id}: {len(living)} live: asking the solver")
    verdicts = settle(unit, header, living, work, seconds)
    by_number = {mutation.number: mutation for mutation in living}
    rest = [
        {
            "mutation": by_number[verdict.number].command,
            "where": by_number[verdict.number].where,
            "verdict": verdict.kind,
            "inputs": {name: f"{value:x}" for name, value in verdict.inputs.items()},
        }
        for verdict in verdicts
        if verdict.kind != "equivalent"
    ]
    return {
        "unit": unit.id,
        "sources_sha256": sources_sha256(unit),
        "suites": {suite.stem: suite.record["rows_sha256"] for suite in suites},
        "cells": mutants.cells,
        "asked": count,
        "seed": seed,
        "drawn": len(mutants.mutations),
        "killed": tally(deaths),
        "equivalent": sum(verdict.kind == "equivalent" for verdict in verdicts),
        "unsettled": rest,
    }


def _check(data: Mapping[str, Any]) -> None:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']}")
    _ = [entry["unit"] for entry in data["units"]]


RECORD: Final = Record(f"{SCHEMA} record", f"make it anew with {COMMAND}", opens("units"), ("schema", "units"), check=_check)


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """Return unit id -> entry of a record. Raises: FileError."""
    return {entry["unit"]: entry for entry in RECORD.read(path)["units"]}


def stale(entry: Mapping[str, Any], unit: Unit) -> bool:
    """Tell whether an entry is of another design or of other facts than the unit has now. Digests of rows are not computed here."""
    return entry["sources_sha256"] != sources_sha256(unit) or list(entry["suites"]) != stems_of(unit)


def write_record(path: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a record, one line a unit. Raises: FileError."""
    RECORD.write(path, {"schema": SCHEMA, "command": COMMAND, "units": [entries[name] for name in sorted(entries)]})


# Runs netlist mutants over golden suites: which row kills each, and which live.


OPTIONS: Final = ("-CFLAGS", "-O1", "--x-assign", "0")
COMPILE_SECONDS: Final = 3600
SECONDS: Final = 3600  # one suite; the slowest takes a minute


class Death(NamedTuple):
    """How a mutant died. stem, tc: the first row that differs (0: no row, see why).   why: bits, x, extra or timeout."""

    stem: str
    tc: int
    why: str


def judge(mutants: Mutants, suites: Sequence[Suite], work: Path, seconds: int = SECONDS) -> dict[int, Death | None]:
    """Return mutant -> its death, None for those that pass every suite.

    suites: of one operation and one layout, in the order in which they are tried; a mutant that a suite killed is not tried again.
    seconds: of the wall clock for one suite.
    Raises: ToolError (no Verilator), EngineError (the right netlist differs, a suite does not end), FileError (layouts differ).
    """
    if len({suite.layout for suite in suites}) != 1:
        raise FileError("the suites of a unit must have equal columns")
    bench = work / "bench.sv"
    most = max(len(suite.rows) for suite in suites) + 1
    bench.write_text(render(suites[0].layout, most, len(mutants.mutations), mutants.bits), encoding="ascii")
    program = simulator.compile_sources(simulator.find("verilator"), [bench, mutants.path], OPTIONS, work, COMPILE_SECONDS)
    deaths: dict[int, Death | None] = {mutation.number: None for mutation in mutants.mutations}
    for suite in suites:
        living = [number for number, death in deaths.items() if death is None]
        deaths |= _run(program, suite, living, len(mutants.mutations), work, seconds)
    return deaths


def _run(program: Sequence[str], suite: Suite, living: Iterable[int], count: int, work: Path, seconds: int) -> dict[int, Death]:
    """Return the deaths by one suite."""
    vec, live = work / "rows.mem", work / "live.mem"
    vec.write_text(writers.render_mem(suite.layout, suite.rows), encoding="ascii")
    chosen = {0, *living}
    live.write_text("".join(f"{int(number in chosen)}\n" for number in range(count + 1)), encoding="ascii")
    command = [*program, f"+vec={vec.name}", f"+live={live.name}", f"+n={len(suite.rows)}"]
    status, text = simulator.execute(command, work, seconds)
    lines = [line for line in text.splitlines() if line.split(" ", 1)[0] in ("KILL", "LIVE", "BAD", "DONE")]
    if status is None:
        raise EngineError(f"{suite.stem}: {len(chosen)} netlists do not end within {seconds} s")
    if status or not lines or lines[0] != "LIVE 0" or lines[-1] != "DONE" or len(lines) != len(chosen) + 1:
        raise EngineError(f"{suite.stem}: the netlist without a mutant fails, or the bench did not end: {(lines or ['no line'])[0]}")
    return dict(_deaths(suite.stem, lines))


def _deaths(stem: str, lines: Iterable[str]) -> Iterable[tuple[int, Death]]:
    for line in lines:
        words = line.split()
        if words[0] == "KILL":
            yield int(words[1]), Death(stem, int(words[2]), words[3])


def tally(deaths: Mapping[int, Death | None]) -> dict[str, int]:
    """Return stem -> mutants that it was the first to kill."""
    found: dict[str, int] = {}
    for death in deaths.values():
        if death is not None:
            found[death.stem] = found.get(death.stem, 0) + 1
    return found
