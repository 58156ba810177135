"""Cells of a study measured one by one into a record, here or by workers. Not here: what a cell is, what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from emu.base.errors import FileError
from emu.files.record import Record
from emu.spec.carried import workers
from research import on_cluster
from research.on_cluster import Task
from research.pinned import single

Data = dict[str, Any]
Lines = dict[str, Data]


class Kept(NamedTuple):
    """A record with a line for each cell.

    kind, path: the record.   command: what makes it.   new: a record without lines, from the machine.   stale: names of changed facts.
    """

    kind: Record
    path: Path
    command: str
    new: Callable[[dict[str, str]], Data]
    stale: Callable[[Data], list[str]]

    def run(
        self,
        measured: Callable[[Any, Lines], Data],
        stages: Sequence[Sequence[tuple[str, Any]]],
        more: Callable[[], bool],
        cluster: str | None,
    ) -> Iterator[str]:
        """Measure what the record lacks; write it whole after each cell, and yield its name.

        measured: function of a module, of a cell and of the lines of the stages before its own.   stages: names and cells.
        more: asked before each cell; False ends it.   cluster: workers, as emu.base.cluster; None: this process.
        Raises: FileError (the record is damaged, or was made from other facts or elsewhere), ToolError (a worker would give other bits).
        """
        here = single()
        record = self.kind.read(self.path) if self.path.is_file() else self.new(here)
        if record["made_with"] != here:
            raise FileError(f"{self.path}: made with {record['made_with']}, here is {here}: go on with what made it, or remove it")
        if old := self.stale(record):
            raise FileError(f"{self.path}: made from other facts ({', '.join(old)}): remove it and run {self.command} again")
        lines: Lines = record["lines"]
        with workers(cluster=cluster) as each:
            for stage, cells in enumerate(stages):
                left = [(name, cell) for name, cell in cells if name not in lines]
                known = dict(lines) if stage else {}
                tasks = (Task(measured, (cell, known), here) for _, cell in left if more())
                for (name, _), line in zip(left, each(on_cluster.run, tasks), strict=False):  # shorter where there is no more
                    lines[name] = line
                    self.kind.write(self.path, record | {"lines": dict(sorted(lines.items()))})  # the same in whatever order they were run
                    yield name
