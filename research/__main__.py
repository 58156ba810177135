"""`python -m research COMMAND`: the studies behind the pages of evidence, run from a clone of the repository.

Each command makes or checks one record of docs/evidence, from which a page follows. Errors are one line and exit codes those of `emu`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from emu.cli.main import run as run_commands
from emu.cli.settings import common_options

# Each command and the module that holds it.
COMMANDS = {
    "reproduce": "research.cli.study_reproduce",
    "gemm": "research.cli.study_gemm",
    "depth": "research.cli.study_depth",
    "datapath": "research.cli.study_datapath",
    "train": "research.cli.train",
    "cost": "research.cli.rtl_cost",
}


class _Commands(click.Group):
    """Commands by name; a command's module is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@common_options
def commands() -> None:
    """Reproduce the paper, study datapaths, train models, count gates; keep what comes out as records."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. arguments: the words after `python -m research`; None: those of the process."""
    return run_commands(arguments, commands, "python -m research")


if __name__ == "__main__":
    sys.exit(run())
