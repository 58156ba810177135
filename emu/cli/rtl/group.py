"""emu rtl: hand-over to simulation and formal tools. One module per subcommand, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import click

SUBCOMMANDS = ("run", "wrap", "export", "prove", "mutants", "sweep", "cost")


class _Subcommands(click.Group):
    """Subcommands by name, each in emu/cli/rtl_<name>.py."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return [name for name in SUBCOMMANDS if find_spec(f"emu.cli.rtl_{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"emu.cli.rtl_{cmd_name}").command
        return command


@click.group("rtl", cls=_Subcommands)
def command() -> None:
    """Judge a design in a simulator; hand golden functions to formal tools."""
