"""`python -m tools.bench`: speed of emu beside other libraries, run from the clone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from emu.analysis.plot import plot_kind
from emu.base.atomic import whole_file
from emu.cli.main import run as run_commands
from emu.cli.settings import common_options, print_json, progress, settings_of


@click.command("bench")
@click.option("--elements", default=1 << 24, show_default=True, type=click.IntRange(1 << 12, 1 << 28), help="Elements of the tensor.")
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1, 1000), help="Runs of each side, alternating.")
@click.option("--only", default="", metavar="WORD", help="Only cases whose name contains it.")
@click.option("--verdicts", is_flag=True, help="What checks of right kernels cost, in seconds, beside the most that they may.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Matrix products and sizes with so many threads too."
)
@click.option("--sizes", metavar="N,N", help="Operations on tensors of so many elements (1e3,1e6,1e9), beside a copy; memory at the peak.")
@click.option("--startup", is_flag=True, help="What a process needs until its first result, beside a bare interpreter.")
@click.option("--explorer", is_flag=True, help="What one move of a drag costs in the page of emu explore, in Chromium.")
@click.option("--history", type=click.Path(path_type=Path, dir_okay=False), help="Add this run to a file of runs.")
@click.option(
    "--compare",
    "old",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Compare with the newest run of a history; exit code 1 where a row is slower.",
)
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the runs of --history (.svg, .png, .pdf).")
@common_options
def command(
    elements: int,
    repeats: int,
    only: str,
    verdicts: bool,
    jobs: int,
    sizes: str | None,
    startup: bool,
    explorer: bool,
    history: Path | None,
    old: Path | None,
    plot: Path | None,
) -> int:
    """Measure operations, training steps, checks and suites in one thread, and the ratio to peers that are installed."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when NumPy is first imported
    if plot is not None and history is None:
        raise click.UsageError("--plot draws a history: give --history FILE too")
    with progress() as bar:
        task = bar.add_task("bench", total=None)

        def tell(name: str) -> None:
            bar.update(task, advance=1, description=name)

        if verdicts:
            from tools.bench.checks import run_verdicts, verdict_table

            click.echo(verdict_table(list(run_verdicts(tell))).rstrip("\n"))
            return 0
        if startup:
            from tools.bench.startup import run_startup, startup_table

            click.echo(startup_table(run_startup(repeats, tell)).rstrip("\n"))
            return 0
        if explorer:
            from tools.bench.explorer import drags_table, run_drags

            click.echo(drags_table(run_drags(repeats, tell)).rstrip("\n"))
            return 0
        if sizes is not None:
            return _sizes(sizes, repeats, only, tell, jobs)
        return _peers(elements, repeats, only, tell, jobs, history, old, plot)


def _sizes(text: str, repeats: int, only: str, tell: Callable[[str], None], jobs: int) -> int:
    from tools.bench.sizes import run_sizes, sizes_of, sizes_table

    found = list(run_sizes(sizes_of(text), repeats, only, tell, jobs))
    if not found:
        raise click.UsageError(f"no case contains {only!r}: leave --only out to see their names")
    click.echo(sizes_table(found).rstrip("\n"))
    return 0


def _peers(
    elements: int,
    repeats: int,
    only: str,
    tell: Callable[[str], None],
    jobs: int,
    history: Path | None,
    old: Path | None,
    plot: Path | None,
) -> int:
    from tools.bench import history as runs
    from tools.bench.run import run as measure
    from tools.bench.table import as_data, as_markdown

    before = None if old is None else runs.last_rows(old)  # a bad file is refused before the minutes of a run
    kind = "" if plot is None else plot_kind(plot.suffix)
    found = measure(elements, repeats, only, tell, jobs)
    if not found:
        raise click.UsageError(f"no case contains {only!r}: leave --only out to see their names")
    data = as_data(found)
    changes = None if before is None else runs.compare(before, data["rows"])
    if history is not None:
        runs.append(history, data)
    if plot is not None and history is not None:
        with whole_file(plot, force=True) as stream:
            runs.plot(history, only, stream, kind)
    if settings_of().json:
        print_json(data if changes is None else {**data, "changes": [change._asdict() for change in changes]})
    else:
        click.echo((as_markdown(found) if changes is None else runs.comparison_table(changes)).rstrip("\n"))
    return int(any(change.verdict == "slower" for change in changes or ()))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. arguments: the words after `python -m tools.bench`; None: those of the process."""
    return run_commands(arguments, command, "python -m tools.bench")


if __name__ == "__main__":
    sys.exit(run())
