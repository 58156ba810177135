"""docs/evidence/KILL_rtl.json, schema emu-kill-1: which golden rows kill which seeded fault of the reference designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from support.mutation_kill import FIRST, SCHEMA, catalogue_sha256
from support.mutation_rtl import Judgement, RtlFault, class_rows

from emu.rtl.mutants.record import sources_sha256
from emu.rtl.simulate.units import Unit
from emu.vectors.files.suite import Suite

COMMAND: Final = "EMU_KILL=write pytest tests/mutation -m mutants -k rtl"
Results = Mapping[str, Mapping[str, Judgement]]


def judged_by(unit: Unit) -> str:
    """Return the stem of the suite that judges the faults of a unit: its main one."""
    return unit.suites[0]


def head(fault: RtlFault) -> dict[str, Any]:
    """Return what the record says of a fault before it is tried."""
    return {
        "id": fault.id,
        "layer": "rtl",
        "class": fault.kill_class,
        "units": list(fault.units),
        "where": f"vectors/bench/{fault.file}",
        "change": f"{fault.old} -> {fault.new}",
        "text": fault.text,
    }


def entry(fault: RtlFault, by_unit: Mapping[str, Judgement], suites: Mapping[str, Suite]) -> dict[str, Any]:
    """Return the entry of a killed fault. hung: unit -> what it did in the place of an answer.   alive: units that no row tells."""
    found: dict[str, list[int]] = {}
    for judgement in by_unit.values():
        for stem, rows in judgement.found.items():
            found[stem] = sorted({*found.get(stem, []), *rows})
    return head(fault) | {
        "rows": sum(map(len, found.values())),
        "suites": len(found),
        "rowsOfClass": class_rows(fault, Judgement(found), suites),
        "hung": {unit: judgement.hung for unit, judgement in by_unit.items() if judgement.hung},
        "alive": [unit for unit, judgement in by_unit.items() if not judgement.found and not judgement.hung],
        "killedBy": {stem: {"count": len(rows), "first": rows[:FIRST]} for stem, rows in sorted(found.items())},
    }


def record(
    faults: Sequence[RtlFault],
    results: Results,
    units: Mapping[str, Unit],
    suites: Mapping[str, Suite],
    proofs: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    """Return the data of the file. proofs: id -> (proof, why) of faults that change no row."""
    killed, survivors = [], []
    for fault in faults:
        by_unit = results[fault.id]
        if any(judgement.found or judgement.hung for judgement in by_unit.values()):
            killed.append(entry(fault, by_unit, suites))
        else:
            proof, why = proofs.get(fault.id, ("", ""))
            survivors.append(head(fault) | {"proof": proof, "why": why})
    used = sorted({name for fault in faults for name in fault.units})
    stems = sorted({judged_by(units[name]) for name in used})
    return {
        "schema": SCHEMA,
        "command": COMMAND,
        "catalogue_sha256": catalogue_sha256(faults),
        "units": {name: sources_sha256(units[name]) for name in used},
        "suites": {stem: str(suites[stem].record["rows_sha256"]) for stem in stems},
        "mutants": killed,
        "survivors": survivors,
    }
