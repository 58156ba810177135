"""python -m research models: whole models under 4-bit recipes, run in parts, shown and judged."""

from __future__ import annotations

import time
from pathlib import Path

import click

from emu.base.errors import FileError
from emu.cli.settings import cluster_option, common_options, note, print_json, print_table, settings_of
from research.cli.kept_record import judge

KEPT = click.option(
    "--record", "path", type=click.Path(path_type=Path, dir_okay=False), default=Path("docs/evidence/models.json"), show_default=True,
    help="The record; a line for each cell.",
)  # fmt: skip
HEADER = ("model", "operands", "recipe", "rotation", "part", "error", "weights", "sign sets", "loss")


@click.group("models")
@common_options
def command() -> None:
    """Run MiniLM and SmolLM2-135M with 4-bit operands and measure them against themselves in binary32."""


@command.command("run")
@KEPT
@click.option("--short", is_flag=True, help="Measure MiniLM again, about a minute: are the orders that the record settled still there?")
@click.option("--only", multiple=True, metavar="WORD", help="Only cells whose name starts with WORD, such as minilm/wa; repeatable.")
@click.option("--minutes", type=click.FloatRange(0), help="Start no cell after so many minutes.")
@cluster_option
@common_options
def run_command(path: Path, short: bool, only: tuple[str, ...], minutes: float | None, cluster: str | None) -> int:
    """Measure the cells that the record lacks, and keep each as soon as it is done: a run that was stopped goes on where it was."""
    from research.models import parts, plan, study

    if short:
        return _short_run(path)
    end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    chosen = [cell for cell in plan.plan() if not only or cell.name.startswith(only)]
    for name in study.run(path, chosen, lambda: time.monotonic() < end, cluster):
        note(name)
    parts.complete(path)
    note(f"{path}: the page follows with: python -m tools.docs build")
    return 0


def _short_run(path: Path) -> int:
    """Measure the cells of the orders that the record settled again, and say which order is turned."""
    from research.models import results, study

    settled = results.orders(study.read_record(path))
    if not settled:
        raise FileError(f"{path}: settles no order of MiniLM, so a short run has nothing to look at: python -m research models run")
    cells = list(dict.fromkeys(cell for order in settled for cell in order.cells()))
    found = {"lines": study.measure(cells)}
    turned = [text for order in settled if (text := order.reversal(found))]
    for text in turned:
        click.echo(f"{text}: {path} has it the other way round: look for what changed the quantizers or the model")
    click.echo(f"{len(settled) - len(turned)} of {len(settled)} orders hold, {len(cells)} cells of MiniLM measured")
    return 1 if turned else 0


@command.command("show")
@KEPT
@common_options
def show_command(path: Path) -> None:
    """Print the mean loss of every cell of a record, means over sign sets."""
    from research.models import results, study

    rows = results.summary(study.read_record(path))
    print_json(rows) if settings_of().json else print_table([[str(cell) for cell in row] for row in rows], HEADER, right=HEADER[7:])


@command.command("check")
@KEPT
@common_options
def check_command(path: Path) -> int:
    """Say whether a record fits the spec, and how many cells of the plan it lacks."""
    from research.models import plan, study

    record = study.read_record(path)
    lacks = [cell.name for cell in plan.plan() if cell.name not in record["lines"]]
    note(f"{path}: {len(record['lines'])} cells, {len(lacks)} of the plan not run")
    return judge(path, study.stale(record), study.COMMAND)
