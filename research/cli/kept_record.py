"""What commands that keep the record of a page share: its file and its age. Not here: what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from emu.cli.settings import note
from emu.files.record import Record

STALE = 1


def keep(out: Path, kind: Record, data: Mapping[str, Any], force: bool) -> None:
    """Write a record whole. Raises: FileError."""
    kind.write(out, data, force)
    note(f"{out}: the page follows with: python -m tools.docs build")


def judge(path: Path, old: Sequence[str], command: str) -> int:
    """Say whether a kept record fits the spec; return the exit code. old: facts that have changed.   command: makes it anew."""
    click.echo(f"{path}: made from other facts: {', '.join(old)}: run {command}" if old else f"{path}: fits the spec")
    return STALE if old else 0
