"""python -m research train: runs of a configuration, resumable to the bit, and the record that collects them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.base.errors import FileError, ToolError
from emu.cli.settings import cluster_option, common_options, note, print_json, print_table, settings_of
from research.cli.train_live import Live

if TYPE_CHECKING:
    from research.train.config import Config
    from research.train.plan import Run

HEADER = ("model", "training", "seeds", "figure", "95 % interval", "above bf16 %", "95 % interval ")
STALE = 1
MOST_SEEDS = 10


def _seeds(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(,[0-9]{1,6})*", text):
        raise click.BadParameter(f"{text!r}: write numbers with commas, as 0,1,2")
    return tuple(dict.fromkeys(map(int, text.split(","))))


@click.command("train")
@click.option("--config", "name", metavar="FILE", help="A configuration file, or the name of a shipped one.")
@click.option("--list", "listed", is_flag=True, help="List the shipped configurations.")
@click.option("--only", multiple=True, metavar="WORD", help="Only this model or training; repeatable.")
@click.option("--seeds", callback=_seeds, metavar="N,N", help="These seeds instead of those of the file.")
@click.option("--out", default=Path("runs"), show_default=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder of runs.")
@click.option(
    "--capture", "captures", multiple=True, metavar="STEP", type=click.IntRange(0), help="Keep the operands of a step; repeatable."
)
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 256), help="Threads of torch; results depend on it.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Loss curves as .png or .svg.")
@click.option("--collect", is_flag=True, help="Train nothing: take the runs that are finished.")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Put all finished runs of the file there.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the spec?")
@cluster_option
@common_options
def command(name: str | None, listed: bool, check: Path | None, **options: Any) -> int:
    """Train the models of a configuration under trainings of the spec, and compare them.

    A run that was killed goes on with the same bits when the command is given again; finished runs are not run again.
    docs/training.md is written from the record by `python -m tools.docs build`.
    """
    from research.train import config as configs

    if listed:
        return _list()
    if check is not None:
        return _check(check)
    if name is None:
        raise click.UsageError(f"--config is missing: a file, or one of {', '.join(configs.shipped())}")
    return _train(configs.load(name), name, **options)


def _list() -> int:
    from research.train.config import load, shipped
    from research.train.plan import runs_of

    rows = [(name, found.kind, str(len(runs_of(found))), found.title) for name in shipped() for found in (load(name),)]
    if settings_of().json:
        print_json([dict(zip(("name", "kind", "runs", "title"), row, strict=True)) for row in rows])
    else:
        print_table(rows, ("name", "kind", "runs", "title"), right=("runs",))
    return 0


def _check(path: Path) -> int:
    from research.train.results import read_record, stale

    old = stale(read_record(path))
    click.echo(f"{path}: made under other facts: {', '.join(old)}: run python -m research train again" if old else f"{path}: fits the spec")
    return STALE if old else 0


def _train(
    config: Config,
    name: str,
    only: tuple[str, ...],
    seeds: tuple[int, ...] | None,
    out: Path,
    captures: tuple[int, ...],
    threads: int,
    plot: Path | None,
    collect: bool,
    record: Path | None,
    cluster: str | None,
) -> int:
    from research.train.plan import runs_of

    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise FileError(f"{plot}: loss curves are drawn as .png or .svg: use that suffix")
    late = [step for step in captures if step >= config.steps]
    if late:
        raise click.UsageError(f"--capture {late[0]}: {config.id} has steps 0 to {config.steps - 1}")
    runs = runs_of(config, only, seeds)
    found = _finished(runs, out) if collect else _run(runs, out, captures, threads, cluster)
    if plot is not None:
        _plot(plot, config, found)
    if record is not None:
        _record(record, config, name, out)
    _print(found)
    return 0


def _finished(runs: list[Run], out: Path) -> list[tuple[Run, dict[str, Any]]]:
    from research.train.results import finished

    found = finished(runs, out)
    if not found:
        raise FileError(f"{out}: no finished run of {runs[0].config.id}: run it without --collect")
    return found


def _run(runs: list[Run], out: Path, captures: tuple[int, ...], threads: int, cluster: str | None) -> list[tuple[Run, dict[str, Any]]]:
    """Train what is not finished; one line or one table row each."""
    try:
        from research.train.run import run_all
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ToolError("python -m research train needs torch: pip install fp4emu[torch]") from None
    with Live(runs, settings_of()) as live:
        return run_all(runs, out, captures, threads, live, note, cluster)


def _plot(path: Path, config: Config, found: list[tuple[Run, dict[str, Any]]]) -> None:
    from emu.base.atomic import whole_file
    from research.train.plot import plot_curves

    with whole_file(path, force=True) as file:
        plot_curves([(run.name, item["curve"]) for run, item in found], file, path.suffix[1:], config.title)
    note(f"{path}: loss curves of {len(found)} runs")


def _record(path: Path, config: Config, name: str, out: Path) -> None:
    """Put the finished runs of a configuration into a record, beside those of others."""
    from research.train.plan import runs_of
    from research.train.results import KIND, RECORD, finished, read_record, section

    runs = runs_of(config)
    kept = read_record(path) if path.is_file() else {}
    text = f"python -m research train --config {name} --record {RECORD}"
    kept[config.id] = section(config, text, finished(runs, out), len(runs))
    KIND.write(path, dict(sorted(kept.items())))
    note(f"{path}: {len(kept[config.id]['runs'])} of {len(runs)} runs; the page follows with: python -m tools.docs build")


def _print(found: list[tuple[Run, dict[str, Any]]]) -> None:
    from research.train.statistics import by_cell, estimate, gaps

    if settings_of().json:
        print_json(
            [{key: item[key] for key in ("model", "training", "seed", "metric", "weights", "seconds", "curve")} for _, item in found]
        )
        return
    cells = by_cell(item for _, item in found)
    rows = []
    for (model, training), metrics in cells.items():
        figure, above = estimate(list(metrics.values())), gaps(cells, model, training)
        gap = estimate(above) if above and training != "bf16" else None
        shown = ("", "") if gap is None else (f"{gap.mean:+.3f}", _half(gap.half))
        rows.append((model, training, str(len(metrics)), f"{figure.mean:.5g}", _half(figure.half), *shown))
    print_table(rows, HEADER, right=HEADER[2:])


def _half(value: float | None) -> str:
    return "" if value is None else f"+-{value:.2g}"
