"""What commands that keep the record of a page share: its file, its age, orders of a short run. Not here: what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from emu.base.errors import FileError
from emu.cli.settings import note
from emu.files.record import Record

STALE = 1
TURNED = 1


def keep(out: Path, kind: Record, data: Mapping[str, Any], force: bool) -> None:
    """Write a record whole. Raises: FileError."""
    kind.write(out, data, force)
    note(f"{out}: the page follows with: python -m tools.docs build")


def judge(path: Path, old: Sequence[str], command: str) -> int:
    """Say whether a kept record fits the spec; return the exit code. old: facts that have changed.   command: makes it anew."""
    click.echo(f"{path}: made from other facts: {', '.join(old)}: run {command}" if old else f"{path}: fits the spec")
    return STALE if old else 0


def answer(path: Path, full: Path, orders: Sequence[tuple[str, bool]]) -> int:
    """Say which orders of a full record came out again in a short run; return the exit code. orders: text, does it hold.

    Raises: FileError (the full record establishes none of them: nothing would be asserted).
    """
    if not orders:
        raise FileError(f"{full}: it establishes no order that the short run could assert: run the full set again")
    turned = [text for text, holds in orders if not holds]
    for text in turned:
        click.echo(f"{path}: {text}: turned round: look for what changed the recipes or the study")
    click.echo(f"{path}: {len(orders) - len(turned)} of {len(orders)} orders of {full} came out again")
    return TURNED if turned else 0
