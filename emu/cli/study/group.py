"""emu study: figures that a design is argued with. One module per subcommand, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from emu.cli.settings import common_options

SUBCOMMANDS = ("bias", "tensor", "scales")


class _Subcommands(click.Group):
    """Subcommands by name, each in emu/cli/study/<name>.py."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None when there is none of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = import_module(f"emu.cli.study.{cmd_name}").command
        return command


@click.group("study", cls=_Subcommands)
@common_options
def command() -> None:
    """Measure what a choice of formats, recipes and datapaths costs."""
