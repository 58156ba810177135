"""emu vectors verify: strict checks of every file, then every row derived again by each implementation present."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from emu.base.errors import EmuError, FileError
from emu.base.inputs import read_json
from emu.base.workers import in_order
from emu.contracts.contract import Contract
from emu.contracts.rows import Answer, Row, inputs_of, is_open, mismatches, value_of
from emu.spec.carried import results
from emu.vectors.compute import CHUNK, wants_exact
from emu.vectors.coverage.count import check_cover
from emu.vectors.files import manifest
from emu.vectors.files.manifest import BENCH, OPERATIONS, parse_stem
from emu.vectors.files.schema_check import check
from emu.vectors.files.suite import Suite, load, stem_of
from emu.vectors.suites.plan import find

Progress = Callable[[str, int, int], None]
MOST_LINES: Final = 3  # differences listed of one suite


@dataclass
class Report:
    """What a verification found.

    suites, rows: how many were read.   compared: rows that at least one implementation derived again.   masked: open rows.
    by_engine: engine -> rows it derived.   differences: rows that differ (at most 3 lines a suite).   faults: bad files.
    """

    suites: int = 0
    rows: int = 0
    compared: int = 0
    masked: int = 0
    by_engine: dict[str, int] = field(default_factory=dict)
    differing: int = 0
    differences: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, part: Report) -> None:
        """Add what was found in a part of the folder."""
        for name, found in vars(part).items():
            if name == "by_engine":
                self.by_engine = {engine: self.by_engine.get(engine, 0) + found.get(engine, 0) for engine in {**self.by_engine, **found}}
            else:
                setattr(self, name, getattr(self, name) + found)

    @property
    def exit_code(self) -> int:
        """0 equal, 1 a row differs, 2 a bad file, 3 nothing was compared; 2 beats 1 beats 3."""
        return 2 if self.faults else 1 if self.differing else 3 if not self.compared else 0

    def data(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {**vars(self), "exit_code": self.exit_code}


def verify(
    folder: Path, engines: Iterable[str] | None = None, progress: Progress | None = None, jobs: int = 1, cluster: str | None = None
) -> Report:
    """Check a folder of golden vectors.

    folder: a build, or one operation's folder of it.   engines: exact, numpy, c_ref; None: all present.
    progress: (stem, rows done, rows).   jobs: processes.   cluster: as emu.base.cluster; the report depends on neither.
    Never raises for a bad file: it is in the report.   Tests: tests/vectors/test_vectors_verify.py.
    """
    report = Report()
    wanted = None if engines is None else frozenset(engines)
    suites: list[Suite] = []
    masked: set[tuple[str, int]] = set()
    for place in _operation_folders(Path(folder), report):
        masked |= _check_folder(place, report)
        for stem in sorted({stem for path in place.iterdir() if (stem := stem_of(path.name)) is not None}):
            try:
                suites.append(load(place, stem))
            except FileError as error:
                report.faults.append(f"{place.name}/{error}")
        _check_cover(place, suites, report)
    total = sum(len(suite.rows) for suite in suites)
    tasks = [(suite, frozenset(number - 1 for stem, number in masked if stem == suite.stem)) for suite in suites]
    for suite, part in zip(suites, in_order(results(partial(_derived, wanted), tasks, jobs, cluster)), strict=True):
        report.add(part)
        if progress is not None:
            progress(suite.stem, report.rows, total)
    return report


def _operation_folders(folder: Path, report: Report) -> list[Path]:
    """Return the folders that hold suites."""
    if not folder.is_dir():
        report.faults.append(f"{folder}: no such folder")
        return []
    if folder.name in OPERATIONS and (folder / manifest.MANIFEST).is_file():
        return [folder]
    found = [folder / op for op in OPERATIONS if (folder / op).is_dir()]
    known = {folder / BENCH, *(folder / name for name in manifest.ABOUT)}
    other = sorted(path.name for path in folder.iterdir() if path not in found and path not in known)
    report.faults += [f"{name}: unfinished or foreign: not part of a build" for name in other]
    if not found:
        report.faults.append(f"{folder}: holds no vectors: expected folders {', '.join(OPERATIONS)}")
    return found


def _check_folder(folder: Path, report: Report) -> set[tuple[str, int]]:
    """Check MANIFEST, DIGESTS and ERRATA; return (stem, tcId) of the errata."""
    try:
        check_manifest(folder)
        for stem in manifest.read_digests(folder):
            parse_stem(stem)
        return _check_errata(folder)
    except FileError as error:
        report.faults.append(f"{folder.name}/{error}")
        return set()


def _check_cover(folder: Path, suites: list[Suite], report: Report) -> None:
    """Check that COVER.json follows from the suites of a folder; where they could be read."""
    if (folder / manifest.COVER).is_file() and not report.faults:
        try:
            check_cover(folder, [suite for suite in suites if suite.record["op"] == folder.name])
        except EmuError as error:
            report.faults.append(f"{folder.name}/{error}")


def check_manifest(folder: Path) -> None:
    """Check the digests of one operation's folder. Raises: FileError."""
    path = folder / manifest.MANIFEST
    if not path.is_file():
        raise FileError(f"{manifest.MANIFEST}: missing: the build did not finish")
    listed = manifest.listed_files(path)
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} - {manifest.MANIFEST}
    for name in sorted(set(listed) - names):
        raise FileError(f"{name}: listed in {manifest.MANIFEST} and missing")
    for name in sorted(names - set(listed)):
        raise FileError(f"{name}: not listed in {manifest.MANIFEST}")
    for name in sorted(names):
        if manifest.file_sha256(folder / name) != listed[name]:
            raise FileError(f"{name}: its sha256 is not the one of {manifest.MANIFEST}")
    if path.read_bytes() != manifest.render_manifest(folder).encode("ascii"):
        raise FileError(f"{manifest.MANIFEST}: not sorted, or not `<sha256>  <path>` lines")


def _check_errata(folder: Path) -> set[tuple[str, int]]:
    path = folder / manifest.ERRATA
    try:
        data = read_json(path, "ascii")
        well_formed = path.read_bytes() == manifest.render_errata(data).encode("ascii")
        found = {(str(item["stem"]), int(item["tcId"])) for item in data}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{manifest.ERRATA}: missing or malformed: {error!r}") from None
    check(data, "errata", manifest.ERRATA)
    if not well_formed:
        raise FileError(f"{manifest.ERRATA}: not written as the writer does")
    return found


def _derived(wanted: frozenset[str] | None, task: tuple[Suite, frozenset[int]]) -> Report:
    """Return what is found when the rows of a suite are derived again. task: the suite, and the places of its errata."""
    suite, skip = task
    report = Report(suites=1, rows=len(suite.rows), masked=sum(is_open(suite.layout, row) for row in suite.rows))
    try:
        plan = find(suite.stem)
    except EmuError as error:
        report.faults.append(str(error))
        return report
    if suite.layout != plan.operation.layout:
        report.faults.append(f"{suite.stem}: its columns are not those of contract {plan.operation.name}")
    elif suite.record["contract"]["name"] != str(plan.operation.name):
        report.faults.append(f"{suite.stem}: contract.name is {suite.record['contract']['name']}, expected {plan.operation.name}")
    elif suite.record["contract"]["spec_sha256"] != plan.operation.name.spec_sha256:
        report.faults.append(f"{suite.stem}: made from other facts (spec_sha256): the loaded spec is not the one of these vectors")
    else:
        lines: list[str] = []
        for first in range(0, len(suite.rows), CHUNK):
            lines += _derive_chunk(suite, plan.operation, first, wanted, skip, report)
        report.differing = len(lines)
        report.differences = lines[:MOST_LINES]
    return report


def _derive_chunk(
    suite: Suite, op: Contract, first: int, wanted: frozenset[str] | None, skip: frozenset[int], report: Report
) -> list[str]:  # fmt: skip
    """Return one line per row of a chunk that differs."""
    rows = suite.rows[first : first + CHUNK]
    values = [inputs_of(suite.layout, row) for row in rows]
    answers: dict[str, list[Answer | None]] = {}
    if wanted is None or "exact" in wanted:
        size = len(suite.rows)
        answers["exact"] = [
            op.exact(value) if wants_exact(first + place, row.flags, size) and first + place not in skip else None
            for place, (row, value) in enumerate(zip(rows, values, strict=True))
        ]
    answers |= {name: batch(values) for name, batch in op.engines().items() if wanted is None or name in wanted}
    lines: dict[int, str] = {}
    for name, found in answers.items():
        report.by_engine[name] = report.by_engine.get(name, 0) + sum(answer is not None for answer in found)
        for place, (row, answer) in enumerate(zip(rows, found, strict=True)):
            if answer is not None and first + place not in skip:
                wrong = mismatches(suite.layout, row, answer) or _hidden(suite, row, answer)
                if wrong:
                    lines.setdefault(
                        place, f"{suite.stem} tc={first + place + 1}: {name} differs in {', '.join(wrong)}: {_shown(suite, row)}"
                    )
    report.compared += sum(any(found[place] is not None for found in answers.values()) for place in range(len(rows)))
    return list(lines.values())


def _hidden(suite: Suite, row: Row, answer: Answer) -> list[str]:
    """Return columns that an implementation knows and the row masks away, though no erratum names it."""
    return [
        column.name
        for column, lanes in zip(suite.layout.results, answer, strict=False)
        if column.role == "out" and any(code >= 0 for code in lanes) and not value_of(suite.layout, row, "m_" + column.name)
    ]


def _shown(suite: Suite, row: Row) -> str:
    pairs = zip(suite.layout.columns, row.values, strict=True)
    return " ".join(f"{column.name}={value:0{column.digits}x}" for column, value in pairs if column.role in ("in", "r", "out"))
