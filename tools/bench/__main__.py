"""`python -m tools.bench`: speed of emu beside other libraries, run from the clone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from emu.cli.main import run as run_commands
from emu.cli.settings import common_options, progress, settings_of


@click.command("bench")
@click.option("--elements", default=1 << 24, show_default=True, type=click.IntRange(1 << 12, 1 << 28), help="Elements of the tensor.")
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1, 1000), help="Runs of each side, alternating.")
@click.option("--only", default="", metavar="WORD", help="Only cases whose name contains it.")
@click.option("--verdicts", is_flag=True, help="What checks of right kernels cost, in seconds, beside the most that they may.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Matrix products with so many threads too.")
@common_options
def command(elements: int, repeats: int, only: str, verdicts: bool, jobs: int) -> None:
    """Measure operations, training steps, checks and suites in one thread, and the ratio to peers that are installed."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when NumPy is first imported

    from tools.bench.run import run as measure
    from tools.bench.table import as_json, as_markdown

    with progress() as bar:
        task = bar.add_task("bench", total=None)
        if verdicts:
            from tools.bench.checks import run_verdicts, verdict_table

            click.echo(verdict_table(list(run_verdicts(lambda name: bar.update(task, advance=1, description=name)))).rstrip("\n"))
            return
        found = measure(elements, repeats, only, lambda name: bar.update(task, advance=1, description=name), jobs)
    if not found:
        raise click.UsageError(f"no case contains {only!r}: leave --only out to see their names")
    click.echo((as_json(found) if settings_of().json else as_markdown(found)).rstrip("\n"))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. arguments: the words after `python -m tools.bench`; None: those of the process."""
    return run_commands(arguments, command, "python -m tools.bench")


if __name__ == "__main__":
    sys.exit(run())
