"""emu study: figures that a design is argued with. One module per subcommand, imported when it is asked for."""

from __future__ import annotations

import click

from emu.cli.settings import LazyGroup, common_options

MODULES = {name: f"emu.cli.study.{name}" for name in ("bias", "tensor", "scales")}


@click.group("study", cls=LazyGroup, modules=MODULES)
@common_options
def command() -> None:
    """Measure what a choice of formats, recipes and datapaths costs."""
