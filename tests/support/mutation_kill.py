"""KILL.json, schema emu-kill-1: which vectors kill which seeded fault of spec, exact, numpy and the C reference.

Where it lives, and why: one file, docs/evidence/KILL.json, not in vectors/. The frozen vectors follow from the spec alone (the same spec
gives the same bytes), while this file follows from the code as well: in vectors/ a new line of C would change a MANIFEST though no bit of
any row changed. So a fault names its layer itself (`dut` in the schema of one folder), and ids of rows are `stem` and tcId as in vectors/.
Stems that vectors/ does not hold are suites which `emu vectors build --contract C --suite S` writes (the catalogue keeps their digests),
or shared random words and single operations of programs, which are rows of tests/mutation/rows.yaml.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.mutation import Fault, Library
from support.mutation_rows import Suite, write

from emu.base.errors import EngineError
from emu.files.record import Record, opens
from emu.vectors.suites.notes import is_about

SCHEMA: Final = "emu-kill-1"
PROOFS: Final = ("exhaustion", "sat", "words")
FIRST: Final = 5  # ids listed of a suite
MOST_SUITES: Final = 6  # suites listed of a fault


class Kill(NamedTuple):
    """What one fault changed. found: stem -> ids of the rows that differ.   derived: rows that were derived at all."""

    found: dict[str, list[int]]
    derived: int


class Bench:
    """Derives the rows of operations with faults in the code or the spec.

    folder: an empty one, for the rows, the copies and the libraries.   suites: operation -> rows.
    """

    def __init__(self, folder: Path, suites: Mapping[str, Sequence[Suite]]) -> None:
        self.folder = folder
        write(folder, suites)
        self.has_library = False

    def run(self, faults: Sequence[Fault], jobs: int = 1) -> dict[str, Kill]:
        """Return fault id -> what it changes. A fault without text is none: its copy is the right code.

        Raises: FileError (no C compiler), EngineError (a fault that cannot be made, a process that dies or does not end).
        """
        if not self.has_library and any(fault.layer == "c" for fault in faults):
            Library(self.folder / "c")
            self.has_library = True
        with ThreadPoolExecutor(jobs) as pool:
            parts = pool.map(self.work, [faults[start::jobs] for start in range(jobs)])
            answers = {answer["id"]: answer for part in parts for answer in part}
        for answer in answers.values():
            if "error" in answer:
                raise EngineError(f"fault {answer['id']}: {answer['error']}")
        return {fault.id: Kill(answers[fault.id]["found"], answers[fault.id]["derived"]) for fault in faults}

    def work(self, faults: Sequence[Fault]) -> list[dict[str, Any]]:
        """Run one worker over some of the faults."""
        command = [sys.executable, "-m", "support.mutation_worker", str(self.folder)]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(
            command, input=json.dumps([list(fault) for fault in faults]), env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EngineError(f"the worker ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def right(layer: str, ops: Sequence[str]) -> Fault:
    """Return no fault: the means of a layer, on the right code."""
    return Fault(f"{layer}_right", layer, "", tuple(ops), "")


def class_rows(fault: Fault, kill: Kill, suites: Mapping[str, Suite]) -> int:
    """Return how many of the rows that kill a fault bear a flag which names its class."""
    return sum(is_about(fault.kill_class, suites[stem].rows[number - 1][0]) for stem, found in kill.found.items() for number in found)


def head(fault: Fault) -> dict[str, Any]:
    """Return what KILL.json says of a fault before it is tried."""
    return {
        "id": fault.id,
        "layer": fault.layer,
        "class": fault.kill_class,
        "ops": list(fault.ops),
        "where": fault.where(),
        "change": fault.edit(),
        "text": fault.text,
    }


def untried(faults: Iterable[Fault], data: Mapping[str, Any], digests: Mapping[str, str] | None = None) -> list[Fault]:
    """Return the faults that a record does not hold as they are. digests: of suites now; faults that others killed are tried again."""
    other = {stem for stem, digest in data["suites"].items() if (digests or {}).get(stem, digest) != digest}
    held = {entry["id"]: entry for entry in (*data["mutants"], *data["survivors"]) if not other & {*entry.get("killedBy", ())}}
    return [fault for fault in faults if {key: held.get(fault.id, {}).get(key) for key in head(fault)} != head(fault)]


def merged(faults: Sequence[Fault], old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of all faults, out of an old one and that of the faults that the old one does not hold."""
    fresh = {entry["id"] for key in ("mutants", "survivors") for entry in new[key]}
    order = {fault.id: place for place, fault in enumerate(faults)}
    out = dict(new) | {"catalogue_sha256": catalogue_sha256(faults)}
    for key in ("mutants", "survivors"):
        kept = [entry for entry in old[key] if entry["id"] in order and entry["id"] not in fresh]
        out[key] = sorted([*kept, *new[key]], key=lambda entry: order[entry["id"]])
    named = {stem for entry in out["mutants"] for stem in entry["killedBy"]}
    digests = {**old["suites"], **new["suites"]}
    out["suites"] = {stem: digests[stem] for stem in sorted(named)}
    return out


def record(
    faults: Sequence[Fault], kills: Mapping[str, Kill], suites: Mapping[str, Sequence[Suite]], proofs: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Return the data of KILL.json.

    proofs: id -> (proof, why) of the faults that change no row.   Of a fault at most MOST_SUITES suites are listed, those with most rows.
    """
    by_stem = {suite.stem: suite for found in suites.values() for suite in found}
    killed: list[dict[str, Any]] = []
    survivors: list[dict[str, Any]] = []
    for fault in faults:
        kill = kills[fault.id]
        entry = head(fault)
        if not kill.found:
            proof, why = proofs.get(fault.id, ("", ""))
            survivors.append(entry | {"proof": proof, "why": why})
            continue
        listed = sorted(kill.found, key=lambda stem: (-len(kill.found[stem]), stem))[:MOST_SUITES]
        killed.append(
            entry
            | {
                "rows": sum(map(len, kill.found.values())),
                "suites": len(kill.found),
                "rowsOfClass": class_rows(fault, kill, by_stem),
                "killedBy": {stem: {"count": len(kill.found[stem]), "first": kill.found[stem][:FIRST]} for stem in sorted(listed)},
            }
        )
    named = sorted({stem for entry in killed for stem in entry["killedBy"]})
    return {
        "schema": SCHEMA,
        "command": "EMU_KILL=write pytest tests/mutation -m mutants -k kill",
        "catalogue_sha256": catalogue_sha256(faults),
        "suites": {stem: by_stem[stem].sha256 for stem in named},
        "mutants": killed,
        "survivors": survivors,
    }


def catalogue_sha256(faults: Iterable[tuple[Any, ...]]) -> str:
    """Return the digest of a catalogue: of what every fault is, not of the lines around it."""
    return hashlib.sha256(json.dumps([list(fault) for fault in faults]).encode("ascii")).hexdigest()


KIND: Final = Record("record of seeded faults", "make it again with its command", opens("suites", "mutants", "survivors"))
render = KIND.text  # one line a fault, one a suite
