"""python -m research all: every record of evidence made again in parts, or the short set with its orders."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from emu.cli.settings import cluster_option, common_options, note, print_json, print_table, settings_of
from research import everything

HEADER = ("part", "step", "state", "minutes", "of one core")
FAILED = 1


@click.command("all")
@click.option("--only", multiple=True, type=click.Choice(list(everything.RECORDS)), help="Only this part; repeatable.")
@click.option("--short", is_flag=True, help="The short set, anew each time: do orders that the kept records established come out again?")
@click.option("--out", default=Path("runs/all"), show_default=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder of all.")
@click.option("--minutes", type=click.FloatRange(0), help="Stop after so many minutes; 0: only say what is left.")
@click.option("-j", "--jobs", default=2, show_default=True, type=click.IntRange(1, 64), help="Processes; records do not depend on it.")
@cluster_option
@common_options
def command(only: tuple[str, ...], short: bool, out: Path, minutes: float | None, jobs: int, cluster: str | None) -> int:
    """Make the records of evidence again, from nothing, and compare them with those of docs/evidence.

    What is stopped or killed goes on with the same bits when the command is given again. Copy a record to docs/evidence to take it over.
    Bits of training depend on torch and the processor's instruction set, so that another machine may differ.
    """
    end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    if short:
        with tempfile.TemporaryDirectory(prefix="emu_") as folder:
            steps = [step for step in everything.short_steps(Path(folder)) if not only or step.part in only]
            everything.run(steps, Path(folder), jobs, end, note)
            return _print(steps, Path(folder))
    steps = [step for step in everything.steps(out) if not only or step.part in only]
    everything.run(steps, out, jobs, end, note, cluster)
    code = _print(steps, out)
    for part in dict.fromkeys(step.part for step in steps):
        if all(step.stamp(out).is_file() for step in steps if step.part == part):
            code = _judge(part, out) or code
    return code


def _print(steps: list[everything.Step], out: Path) -> int:
    """Show every step; return the exit code: fine only when all are done."""
    found = list(everything.table(steps, out))
    rows = [
        (step.part, step.text, "left", f"{step.minutes:g}", "")
        if stamp is None
        else (step.part, step.text, "done", f"{stamp['seconds'] / 60:.1f}", f"{stamp['cpu_seconds'] / 60:.1f}")
        for step, stamp in found
    ]
    print_json([dict(zip(HEADER, row, strict=True)) for row in rows]) if settings_of().json else print_table(rows, HEADER, right=HEADER[3:])
    left = sum(step.minutes for step, stamp in found if stamp is None)
    note(f"{sum(stamp is not None for _, stamp in found)} of {len(found)} steps done; left: about {left:.0f} minutes of one core")
    return FAILED if any(stamp is None for _, stamp in found) else 0


def _judge(part: str, out: Path) -> int:
    """Say whether a new record says what the kept one does."""
    new, kept = (folder / everything.RECORDS[part] for folder in (out, everything.EVIDENCE))
    if not kept.is_file():
        click.echo(f"{new}: there is no {kept} to compare it with")
        return 0
    fits = everything.same(new, kept)
    click.echo(f"{new}: {'says the same as' if fits else 'differs from'} {kept}")
    return 0 if fits else FAILED
