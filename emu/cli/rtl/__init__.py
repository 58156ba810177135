"""emu rtl: hand-over to simulation and formal tools. Subcommands are imported when they are asked for."""

from __future__ import annotations

import click

from emu.cli.settings import LazyGroup

MODULES = {name: f"emu.cli.rtl.{name}" for name in ("run", "export", "prove", "mutants", "sweep")} | {"wrap": "emu.cli.rtl.run:wrap"}


@click.group("rtl", cls=LazyGroup, modules=MODULES)
def command() -> None:
    """Judge a design in a simulator; hand golden functions to formal tools."""
