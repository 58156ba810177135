"""emu vectors: golden vectors, built and verified."""

from __future__ import annotations

import click


@click.group("vectors")
def command() -> None:
    """Golden vectors: build the frozen set again, verify a folder."""
