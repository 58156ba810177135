"""Writes one suite: every file of a stem from one list of rows, into a folder of its own, then moved into place, the JSON last."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from emu.contracts.columns import Layout
from emu.contracts.rows import Row
from emu.vectors.compute import compute
from emu.vectors.files import record, writers
from emu.vectors.files.manifest import SCHEMA, SHARD_ROWS, VECTORS_VERSION, shard_count, shard_name
from emu.vectors.files.suite import contract_record, generator_record, shard_entry, shard_texts
from emu.vectors.suites.plan import SuitePlan

SCRATCH: Final = ".building"  # what is not finished, in the folder of a build and in those of its operations


def write_text(path: Path, text: str) -> None:
    """Write an ASCII file with LF line ends. Raises: OSError."""
    path.write_bytes(text.encode("ascii"))


def replace_text(path: Path, text: str) -> None:
    """Write an ASCII file in one step: a kill leaves the old one, or the new one. One process writes into its folder. Raises: OSError."""
    write_text(path.with_name(SCRATCH), text)
    os.replace(path.with_name(SCRATCH), path)


class Totals:
    """What is known of a suite after its rows went by."""

    def __init__(self, layout: Layout, with_tests: bool) -> None:
        self.groups = record.Groups(layout, with_tests)
        self.sha256 = hashlib.sha256()
        self.exact_rows = 0
        self.agreed: frozenset[str] | None = None
        self.layout = layout

    def add(self, rows: Sequence[Row], exact_rows: int, agreed: frozenset[str]) -> None:
        """Take a run of rows."""
        self.groups.add(rows)
        self.sha256.update("".join(line + "\n" for line in writers.row_lines(self.layout, rows)).encode("ascii"))
        self.exact_rows += exact_rows
        self.agreed = agreed if self.agreed is None else self.agreed & agreed


def shard_rows(plan: SuitePlan, totals: Totals) -> Iterator[list[Row]]:
    """Yield the rows of each shard, counting them in totals."""
    for start in range(0, plan.size, SHARD_ROWS):
        rows: list[Row] = []
        for part in compute(plan, start, min(start + SHARD_ROWS, plan.size)):
            totals.add(*part)
            rows += part.rows
        yield rows


def master(plan: SuitePlan, totals: Totals, shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON record of a finished suite."""
    return {
        "schema": SCHEMA,
        "stem": plan.stem,
        "op": plan.operation.name.op,
        "suite": plan.suite,
        "numberOfTests": totals.groups.count,
        "vectors_version": VECTORS_VERSION,
        "contract": contract_record(plan),
        "aliases": list(plan.aliases),
        "space": plan.space,
        "columns": totals.layout.described(),
        "shards": shards,
        "notes": record.used_notes(totals.groups),
        "generator": generator_record(plan, totals.exact_rows, sorted(totals.agreed or ())),
        "rows_sha256": totals.sha256.hexdigest(),
        "groups": totals.groups.groups,
    }


def write_suite(plan: SuitePlan, folder: Path, scratch: Path) -> str:
    """Compute and write all files of a suite; return its rows_sha256.

    folder: where they go.   scratch: a folder on the same file system; a folder for this stem is made in it and removed.
    Raises: EngineError (two implementations differ; nothing is left in folder), OSError.
    """
    work = scratch / plan.stem
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    layout, count = plan.operation.layout, shard_count(plan.size)
    totals, negative = Totals(layout, record.lists_tests(layout, plan.size)), 0
    shards: list[dict[str, Any]] = []
    for index, rows in enumerate(shard_rows(plan, totals)):
        if index == 0:
            flipped = writers.negative_rows(layout, rows)
            negative = len(flipped)
            write_text(work / f"{plan.stem}.neg.mem", writers.render_mem(layout, flipped))
        shards.append(shard_entry(layout, rows, shard_name(plan.stem, index, count), 1 + index * SHARD_ROWS))
        for name, text in shard_texts(layout, rows, shards[-1], negative).items():
            write_text(work / name, text)
    whole = master(plan, totals, shards)
    write_text(work / f"{plan.stem}.desc", writers.render_desc(layout, plan.stem, totals.groups.count, whole["rows_sha256"]))
    write_text(work / f"{plan.stem}.json", record.render(whole))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{plan.stem}.json").unlink(missing_ok=True)
    for path in sorted(work.iterdir(), key=lambda path: (path.suffix == ".json", path.name)):
        os.replace(path, folder / path.name)
    work.rmdir()
    return str(whole["rows_sha256"])


def digest_suite(plan: SuitePlan) -> str:
    """Compute a suite without writing it; return its rows_sha256. Raises: EngineError."""
    totals = Totals(plan.operation.layout, False)
    for _ in shard_rows(plan, totals):
        pass
    return totals.sha256.hexdigest()
