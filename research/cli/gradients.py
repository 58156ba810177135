"""python -m research gradients: gradients of SmolLM2-135M under training recipes, what they say, whether a record fits the spec."""

from __future__ import annotations

import time
from pathlib import Path

import click

from emu.cli.settings import cluster_option, common_options, note, print_json, print_table, settings_of
from research.cli.kept_record import judge

RECORD = Path("docs/evidence/gradients.json")
HEADER = ("figure", "first", "second", "windows", "ratio", "low", "high", "null spreads")


@click.command("gradients")
@click.argument("action", type=click.Choice(["run", "show", "check"]))
@click.option("--record", metavar="FILE", default=RECORD, show_default=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--short", is_flag=True, help="Run one window of two trainings, and see whether orders of the kept record come out again.")
@click.option("--minutes", type=click.FloatRange(0), help="Start no cell after so many minutes.")
@cluster_option
@common_options
def command(action: str, record: Path, short: bool, minutes: float | None, cluster: str | None) -> int:
    """Compare gradients of one backward pass over held-out text with those in binary32: run, show or check.

    run: the cells that the record lacks, each kept as soon as it is done; with --short name another record. show: the comparisons of a
    record. check: does it fit the spec? The section of docs/training.md is written from the record by `python -m tools.docs build`.
    """
    from research.models import gradients as study

    if action == "check":
        found = study.KIND.read(record)
        lacks = [cell.name for cell in study.plan() if cell.name not in found["lines"]]
        note(f"{record}: {len(found['lines'])} cells, {len(lacks)} of the plan not run")
        return judge(record, study.stale(found), study.COMMAND)
    if short and record == RECORD:
        raise click.UsageError("--short keeps a record of its own: name it with --record")
    if action == "run":
        end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        for name in study.run(record, study.short_plan() if short else study.plan(), lambda: time.monotonic() < end, cluster):
            note(name)
    return _short(record) if short else _show(record)


def _short(record: Path) -> int:
    from research.cli.kept_record import answer
    from research.models import gradient_results as results
    from research.models.gradients import KIND

    orders = results.asserted(KIND.read(RECORD), KIND.read(record))
    return answer(record, RECORD, [(f"{order.text} ({order.margin:.0f} null spreads)", order.holds) for order in orders])


def _show(record: Path) -> int:
    from math import exp

    from research.models import gradient_results as results
    from research.models.gradients import KIND

    found = KIND.read(record)
    rows = []
    for better, worse in results.ORDERS:
        for figure in results.FIGURES:
            test = results.compared(found, figure, better, worse)
            ratio, low, high = test.shown(exp)
            rows.append((figure, better, worse, len(test.values), ratio, low, high, -test.mean / results.null_spread(found, figure)))
    if settings_of().json:
        print_json([dict(zip(HEADER, row, strict=True)) for row in rows])
    else:
        texts = [tuple(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row) for row in rows]
        print_table(texts, HEADER, right=HEADER[3:])
    return 0
