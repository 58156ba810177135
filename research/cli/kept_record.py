"""What commands that keep the record of a page share: its file, its age, and the bar of its parts. Not here: what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from emu.cli.settings import note, progress
from emu.files.record import Record

STALE = 1


@contextmanager
def bar_of(title: str, parts: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show a progress bar; yields what takes the name of each part as it begins. parts: None: how many is not known."""
    with progress() as bar:
        task = bar.add_task(title, total=parts)

        def tick(name: str) -> None:
            bar.update(task, advance=1, description=name)

        yield tick


def keep(out: Path, kind: Record, data: Mapping[str, Any], force: bool) -> None:
    """Write a record whole. Raises: FileError."""
    kind.write(out, data, force)
    note(f"{out}: the page follows with: python -m tools.docs build")


def judge(path: Path, old: Sequence[str], command: str) -> int:
    """Say whether a kept record fits the spec; return the exit code. old: facts that have changed.   command: makes it anew."""
    click.echo(f"{path}: made from other facts: {', '.join(old)}: run {command}" if old else f"{path}: fits the spec")
    return STALE if old else 0
