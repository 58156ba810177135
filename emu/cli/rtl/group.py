"""emu rtl: hand-over to simulation and formal tools. One module per subcommand, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

SUBCOMMANDS = ("run", "wrap", "export", "prove", "mutants", "sweep")


class _Subcommands(click.Group):
    """Subcommands by name, each in emu/cli/rtl/<name>.py."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None when there is none of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = import_module(f"emu.cli.rtl.{cmd_name}").command
        return command


@click.group("rtl", cls=_Subcommands)
def command() -> None:
    """Judge a design in a simulator; hand golden functions to formal tools."""
