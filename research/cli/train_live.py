"""What is seen while runs train: a bar and a table that fills, on a terminal; a line a run elsewhere. Not here: the runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from rich import live as rich_live
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from emu.cli.settings import Settings

if TYPE_CHECKING:
    from research.train.plan import Run

LAST = 12  # finished runs that the table shows


class Live:
    """A live view of runs; a context manager. started, step and finished are called by research.train.run."""

    def __init__(self, runs: Sequence[Run], settings: Settings) -> None:
        self.quiet = settings.quiet
        console = Console(stderr=True)
        self.shown = console.is_terminal and not settings.quiet
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=console)
        self.all = self.bar.add_task("runs", total=len(runs))
        self.one = self.bar.add_task("steps", total=runs[0].config.steps if runs else 0)
        self.lines: list[tuple[str, ...]] = []
        self.view = rich_live.Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self.shown:
            self.view.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown:
            self.view.stop()

    def started(self, run: Run) -> None:
        """Show the name of the run that begins."""
        self.bar.update(self.one, completed=0, description=run.name)

    def step(self, step: int, loss: float) -> None:
        """Show a step and its loss."""
        if self.shown:
            self.bar.update(self.one, completed=step + 1)
            self.view.update(Group(self._table(f"{loss:.5g}"), self.bar))

    def finished(self, run: Run, result: dict[str, Any], trained: bool) -> None:
        """Add a finished run to the table; where none is shown, say it in a line."""
        self.bar.update(self.all, advance=1)
        words = (run.name, f"{result['curve'][-1]:.5g}", f"{result['metric']:.5g}", f"{result['seconds']:.0f} s")
        self.lines.append(words)
        if not self.shown and not self.quiet and trained:
            click.echo(f"{words[0]}: loss {words[1]}, figure {words[2]}, {words[3]}", err=True)

    def _table(self, loss: str) -> Table:
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for name in ("run", "training loss", "figure", "time"):
            table.add_column(name, justify="left" if name == "run" else "right")
        for line in self.lines[-LAST:]:
            table.add_row(*line)
        table.add_row(self.bar.tasks[self.one].description, loss, "", "")
        return table
