"""The record of netlist mutants: per unit how many were drawn, which suites killed them, what the solver says of the rest.

One JSON file, docs/evidence/netlist_mutants.json; `emu rtl mutants` makes it, unit by unit, and a test says whether it is of these designs
and these suites.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.files.record import Record, opens
from emu.rtl.mutants.netlist import draw
from emu.rtl.mutants.run import judge, tally
from emu.rtl.mutants.settle import settle
from emu.rtl.simulate.suites import golden, path_of
from emu.rtl.simulate.units import Unit
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
