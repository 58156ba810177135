"""`python -m research COMMAND`: the studies behind the pages of evidence, run from a clone of the repository.

Each command makes or checks one record of docs/evidence, from which a page follows. Errors are one line and exit codes those of `emu`.
"""

from __future__ import annotations

from research.pinned import pin

if __name__ == "__main__":
    pin()  # before NumPy is loaded

import sys
from collections.abc import Sequence

import click

from emu.cli.main import run as run_commands
from emu.cli.settings import LazyGroup, common_options

# Each command and the module that holds it.
COMMANDS = {
    "all": "research.cli.everything",
    "reproduce": "research.cli.study_reproduce",
    "gemm": "research.cli.study_gemm",
    "depth": "research.cli.study_depth",
    "datapath": "research.cli.study_datapath",
    "regime": "research.cli.study_regime",
    "families": "research.cli.families",
    "minilm": "research.cli.minilm",
    "models": "research.cli.models",
    "gradients": "research.cli.gradients",
    "train": "research.cli.train",
    "forks": "research.cli.forks",
    "cost": "research.cli.rtl_cost",
}


@click.group(cls=LazyGroup, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@common_options
def commands() -> None:
    """Reproduce the paper, study datapaths, train models, count gates; keep what comes out as records."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. arguments: the words after `python -m research`; None: those of the process."""
    return run_commands(arguments, commands, "python -m research")


if __name__ == "__main__":
    sys.exit(run())
