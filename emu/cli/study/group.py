"""emu study: figures that a design is argued with. One module per subcommand, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import click

from emu.cli.settings import common_options

SUBCOMMANDS = ("bias", "tensor", "scales", "gemm", "depth", "reproduce", "datapath")


class _Subcommands(click.Group):
    """Subcommands by name, each in emu/cli/study_<name>.py."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return [name for name in SUBCOMMANDS if find_spec(f"emu.cli.study_{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"emu.cli.study_{cmd_name}").command
        return command


@click.group("study", cls=_Subcommands)
@common_options
def command() -> None:
    """Measure what a choice of formats, recipes and datapaths costs."""
