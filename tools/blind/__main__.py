"""Draws mutants and runs each before the tests that reach it: `python -m tools.blind --count 60 --seed 1 --out FILE.json`.

Which those are is recorded in one run of the default tests, once for a state of the clone, under out/blind/.

A run that was stopped goes on when the same command is given again: a verdict stands while its source is the same, whatever became of the
tests (another --out judges anew); no result depends on where mutants are judged.
Exit codes: 0 no survivor, 1 survivors (named), 2 misuse, 5 something is missing: a library, a scheduler that answers.
`--check`: what of the record is of sources that are others now; exit code 1 where any is.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from emu.base.cluster import check_reached, checked_address, done_by_cluster
from emu.base.errors import EmuError, FileError, ToolError
from emu.base.workers import done_by_processes
from emu.files.record import Record, opens
from tools.blind.draw import ROOMS, Mutant, drawn
from tools.blind.judge import EQUAL, KILLED, OPEN, SURVIVED, Clone, Task, judged, state_of
from tools.blind.reach import in_turn, recorded
from tools.quick.choose import python_sources, ranked
from tools.quick.graph import used_by

DEFAULT: Final = Path("docs", "evidence", "blind_mutation.json")
OUTCOMES: Final = (KILLED, SURVIVED, OPEN, EQUAL)
TORCH: Final = "emu/engines/torch"
NEAREST: Final = 6  # test files


def _check(data: dict[str, Any]) -> None:
    for each in data["mutants"]:
        Mutant(**{key: each[key] for key in Mutant._fields})
        if (each["outcome"] == KILLED) != bool(each["killer"]) or each["outcome"] not in OUTCOMES or not isinstance(each["note"], str):
            raise ValueError(f"{each['file']}:{each['line']}: outcome {each['outcome']}, killer {each['killer']!r}")
    if data["counts"] != counts(data["mutants"]):
        raise ValueError("the counts are not those of the mutants")


RECORD: Final = Record(
    what="record of blind mutants",
    mend="run python -m tools.blind",
    opened=opens("mutants"),
    keys=("schema", "seed", "rooms", "counts", "mutants"),
    check=_check,
)


def counts(mutants: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return how many mutants there are of each outcome."""
    found = Counter(each["outcome"] for each in mutants)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def main(words: Sequence[str] | None = None) -> int:
    """Draw, judge, record; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.blind", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=60, help="How many mutants. Default: 60.")
    parser.add_argument("--seed", type=int, default=1, help="Which ones; a release takes a new one. Default: 1.")
    parser.add_argument("--room", metavar="DIR", action="append", help=f"Draw from this folder; repeatable. Default: {' '.join(ROOMS)}.")
    parser.add_argument("--tests", type=int, default=200, help="The most tests for a mutant, the fastest first. Default: 200.")
    parser.add_argument("--seconds", type=float, default=60, help="The most time of its tests, as recorded. Default: 60.")
    parser.add_argument("--exhaustive", action="store_true", help="Record the exhaustive tests too, once for these sources: hours.")
    parser.add_argument("--jobs", "-j", type=int, default=1, help="Mutants, or recorded tests, at a time, on this machine. Default: 1.")
    parser.add_argument("--cluster", metavar="ADDRESS", help="local:N, or a scheduler whose workers were started in equal clones.")
    parser.add_argument("--out", "-o", metavar="FILE", type=Path, default=DEFAULT, help=f"The record. Default: {DEFAULT}.")
    parser.add_argument("--check", action="store_true", help="Only say what of the record is of other sources.")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The clone; default: this folder.")
    given = parser.parse_args(words)
    try:
        if min(given.count, given.tests, given.jobs) < 1 or not given.seconds > 0:
            raise FileError("--count, --tests, --jobs and --seconds must be above 0")
        if given.cluster:
            checked_address(given.cluster)
        if given.cluster and not given.check:
            check_reached(given.cluster)
        return _stale(given.root, given.out) if given.check else _run(given)
    except (EmuError, OSError) as error:
        print(f"emu: tools.blind: {error}", file=sys.stderr)
        return 5 if isinstance(error, ToolError) else 2


def _stale(root: Path, out: Path) -> int:
    """Say which entries are of sources that changed since."""
    entries = RECORD.read(out)["mutants"]
    now = {file: _digest(root / file) for file in {each["file"] for each in entries}}
    old = sorted(file for file, value in now.items() if value != next(each["sha256"] for each in entries if each["file"] == file))
    print("\n".join(f"changed since: {file}" for file in old))
    print(f"{len(entries)} mutants of {len(now)} files, {len(old)} files changed since")
    return int(bool(old))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _rooms(given: argparse.Namespace) -> list[str]:
    """Return the rooms to draw from. Raises: FileError (no such folder)."""
    rooms = list(given.room or ROOMS)
    for room in rooms:
        if not (given.root / room).is_dir():
            raise FileError(f"--room {room}: no such folder")
    if any(next((given.root / room).rglob("*.c"), None) for room in rooms) and importlib.util.find_spec("tree_sitter_c") is None:
        raise ToolError("mutants of C are changes of the tree of tree-sitter: pip install -c constraints.txt tree-sitter tree-sitter-c")
    if not given.room and importlib.util.find_spec("torch") is None:
        print(f"left out: {TORCH}: torch is not installed, its tests would skip")
        rooms.remove(TORCH)
    return rooms


def _run(given: argparse.Namespace) -> int:
    if importlib.util.find_spec("cosmic_ray") is None:
        raise ToolError("the mutants are those of Cosmic Ray: pip install -c constraints.txt cosmic-ray")
    rooms = _rooms(given)
    mutants = drawn(given.root, rooms, given.seed, given.count)
    kept: dict[str, dict[str, Any]] = {}
    if given.out.exists():
        kept = {Mutant(**{key: each[key] for key in Mutant._fields}).name: each for each in RECORD.read(given.out)["mutants"]}
    done = {mutant.name: kept[mutant.name] for mutant in mutants if mutant.name in kept}
    print(f"{len(mutants)} mutants, {len(done)} judged before", flush=True)
    left = [mutant for mutant in mutants if mutant.name not in done]
    clone = _clone(given)
    tasks = [Task(clone, tests, mutant) for mutant, tests in zip(left, _tests(given, clone, rooms, left), strict=True)]
    found = done_by_cluster(judged, tasks, given.cluster) if given.cluster else done_by_processes(judged, tasks, given.jobs)
    with closing(found):
        for index, verdict in found:
            mutant = left[index]
            done[mutant.name] = mutant._asdict() | verdict._asdict()
            _write(given, rooms, [done[each.name] for each in mutants if each.name in done])
            print(f"{verdict.outcome:8} {mutant.file}:{mutant.line} {mutant.operator} {verdict.killer}", flush=True)
    entries = [done[each.name] for each in mutants]
    alive = [each for each in entries if each["outcome"] not in (KILLED, EQUAL)]
    for each in alive:
        print(f"{each['outcome']}: {each['file']}:{each['line']} {each['operator']}\n  - {each['before']}\n  + {each['after']}")
    print(", ".join(f"{number} {outcome}" for outcome, number in counts(entries).items()))
    return int(bool(alive))


def _tests(given: argparse.Namespace, clone: Clone, rooms: Sequence[str], mutants: Sequence[Mutant]) -> list[tuple[tuple[str, float], ...]]:
    """Return the tests of each mutant with their seconds: those that reach it, near ones and others in turn; else those of near files."""
    if not mutants:
        return []
    root = Path(clone.root)
    name = hashlib.sha256("\n".join([clone.state, *rooms]).encode()).hexdigest()[:16]
    reached = recorded(root, root / "out" / "blind" / name, rooms, given.jobs, given.exhaustive)
    sources, found = python_sources(root), []
    near: dict[str, list[str]] = {}
    graph = used_by(sources, gone=[])
    for mutant in mutants:
        if mutant.file not in near:
            near[mutant.file] = [test for _, test in ranked([mutant.file], sources, graph)[0]]
        tests = in_turn(reached.tests_of(mutant.file, mutant.line), near[mutant.file][:NEAREST])
        found.append(reached.within(tests or reached.of_files(near[mutant.file]), given.tests, given.seconds))
    return found


def _clone(given: argparse.Namespace) -> Clone:
    root, out = given.root.resolve(), given.out.resolve()
    record = out.relative_to(root).as_posix() if out.is_relative_to(root) else ""
    return Clone(str(root), record, state_of(root, record))


def _write(given: argparse.Namespace, rooms: Sequence[str], entries: list[dict[str, Any]]) -> None:
    head = {"schema": "emu-blind-mutation-1", "command": "python -m tools.blind", "seed": given.seed, "asked": given.count}
    RECORD.write(given.out, head | {"rooms": list(rooms), "counts": counts(entries), "mutants": entries}, force=True)


if __name__ == "__main__":
    sys.exit(main())
