"""Seeded faults of the reference designs: which golden rows kill which, run in Icarus Verilog on a copy with one text changed.

The catalogue is that of the other layers (support.mutation): a text that stands exactly once in one file of vectors/bench/rtl, and what
it becomes. A fault is tried on every unit whose files hold it, or on those it names.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.mutation import read_entries, replaced_once

from emu.base.errors import EngineError, FileError
from emu.rtl.mutants.bench import render
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit
from emu.vectors.files import writers
from emu.vectors.files.suite import Suite
from emu.vectors.suites.notes import KILL_CLASSES, is_about

KEYS: Final = {"id", "class", "units", "text", "file", "old", "new"}
SECONDS: Final = 300  # one simulation; the slowest takes a few
HUNG: Final = ("x", "extra", "timeout")


class RtlFault(NamedTuple):
    """One fault. units: ids of the units it is tried on.   file: below vectors/bench.   old: stands exactly once in it."""

    id: str
    kill_class: str
    units: tuple[str, ...]
    text: str
    file: str
    old: str
    new: str

    def changed(self, kit: Path) -> str:
        """Return the text of the file with the fault in it. Raises: FileError unless `old` stands in it exactly once."""
        return replaced_once((kit / self.file).read_text(encoding="ascii"), self.old, self.new, f"fault {self.id}", self.file)


class Judgement(NamedTuple):
    """What one fault changes in one unit. found: stem -> ids of the rows that differ.   hung: no answer, an extra one or X valid."""

    found: dict[str, list[int]]
    hung: str = ""


def read_rtl_faults(paths: Iterable[Path], units: Mapping[str, Unit], kit: Path) -> list[RtlFault]:
    """Return the faults of catalogue files. Raises: SpecError, as read_entries."""
    return read_entries(paths, lambda _, entry: _fault(entry, units, kit))


def _fault(entry: dict[str, Any], units: Mapping[str, Unit], kit: Path) -> RtlFault:
    if set(entry) != KEYS:
        raise ValueError(f"the keys of a fault of the reference designs are {', '.join(sorted(KEYS))}")
    if entry["class"] not in KILL_CLASSES or not str(entry["id"]).startswith("rtl_") or not entry["units"]:
        raise ValueError(f"{entry['id']}: class {entry['class']} unknown, no units, or the id does not begin with rtl_")
    for name in entry["units"]:
        if name not in units or kit / entry["file"] not in units[name].sources:
            raise ValueError(f"{entry['id']}: unit {name} is unknown or has no file {entry['file']}")
    return RtlFault(kill_class=entry.pop("class"), units=tuple(entry.pop("units")), **entry)


class RtlBench:
    """Tries faults. folder: an empty one for suites, copies and programs.   suites: stem -> golden suite, of every unit that is tried.

    Raises: ToolError (no Icarus Verilog).
    """

    def __init__(self, folder: Path, kit: Path, units: Mapping[str, Unit], suites: Mapping[str, Suite]) -> None:
        self.simulator = simulator.find("icarus")
        self.folder, self.kit, self.units, self.suites = folder, kit, units, suites
        for stem, suite in suites.items():
            (folder / f"{stem}.mem").write_text(writers.render_mem(suite.layout, suite.rows), encoding="ascii")
        (folder / "live.mem").write_text("1\n", encoding="ascii")

    def run(self, faults: Sequence[RtlFault], jobs: int = 1) -> dict[str, dict[str, Judgement]]:
        """Return fault id -> unit id -> what it changes.

        Raises: FileError (the simulator refuses a fault), EngineError (a run that does not end).
        """
        tasks = [(fault, name) for fault in faults for name in fault.units]
        with ThreadPoolExecutor(jobs) as pool:
            answers = list(pool.map(lambda task: self.try_one(task[1], task[0]), tasks))
        out: dict[str, dict[str, Judgement]] = {fault.id: {} for fault in faults}
        for (fault, name), answer in zip(tasks, answers, strict=True):
            out[fault.id][name] = answer
        return out

    def try_one(self, name: str, fault: RtlFault | None) -> Judgement:
        """Run the suites of a unit on it with a fault, or on the right design."""
        unit = self.units[name]
        suites = [self.suites[stem] for stem in unit.suites if stem in self.suites]
        work = self.folder / f"{fault.id if fault else 'right'}.{name}"
        work.mkdir()
        program = self._compile(unit, fault, suites, work)
        found: dict[str, list[int]] = {}
        hung = ""
        for suite in suites:
            rows, why = self._simulate(work.name, program, suite)
            hung = hung or why
            if rows:
                found[suite.stem] = rows
        shutil.rmtree(work)
        return Judgement(found, hung)

    def _compile(self, unit: Unit, fault: RtlFault | None, suites: Sequence[Suite], work: Path) -> tuple[str, ...]:
        bench = work / "bench.sv"
        bench.write_text(render(suites[0].layout, max(len(suite.rows) for suite in suites) + 1, every=True), encoding="ascii")
        sources = list(unit.sources)
        if fault is not None:
            copy = work / Path(fault.file).name
            copy.write_text(fault.changed(self.kit), encoding="ascii")
            sources[sources.index(self.kit / fault.file)] = copy
        defines = [f"-D{macro}={value}" for macro, value in unit.defines.items()]
        try:
            return simulator.compile_sources(self.simulator, [bench, *sources], defines, work)
        except FileError as error:
            raise FileError(f"{work.name}: {error}") from None

    def _simulate(self, name: str, program: Sequence[str], suite: Suite) -> tuple[list[int], str]:
        """Return (ids that differ, why it hung)."""
        plusargs = [f"+vec={suite.stem}.mem", f"+n={len(suite.rows)}", "+live=live.mem"]
        status, text = simulator.execute([*program, *plusargs], self.folder, SECONDS)
        lines = [line.split() for line in text.splitlines() if line.split(" ", 1)[0] in ("KILL", "LIVE", "BAD", "DONE")]
        if status != 0 or not lines or lines[-1] != ["DONE"] or any(line[0] == "BAD" for line in lines):
            raise EngineError(f"{name}: {suite.stem}: the bench did not end: {text[:200]}")
        hung = [line[3] for line in lines if line[0] == "KILL" and line[3] in HUNG]
        return [int(line[2]) for line in lines if line[0] == "KILL" and line[3] == "bits"], (hung or [""])[0]


def class_rows(fault: RtlFault, judgement: Judgement, suites: Mapping[str, Suite]) -> int:
    """Return how many of the rows that kill a fault bear a flag which names its class."""
    return sum(
        is_about(fault.kill_class, suites[stem].rows[number - 1].flags) for stem, found in judgement.found.items() for number in found
    )
