"""emu vectors: golden vectors, built and verified."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from emu.cli.settings import common_options, note, print_json, print_table, progress, settings_of


@click.group("vectors")
def command() -> None:
    """Golden vectors: build them again, verify a folder."""


@command.command("build")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Folder: new, empty, or an earlier or interrupted build.")
@click.option("--suite", "suites", multiple=True, help="Only these suites (smoke, directed, all, random); repeatable.")
@click.option("--contract", "contracts", multiple=True, help="Only these contracts (emu list contracts); repeatable.")
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes; the bytes do not depend on it.")
@common_options
def build_command(out: Path, suites: tuple[str, ...], contracts: tuple[str, ...], jobs: int) -> None:
    """Build golden vectors; without --suite and --contract the frozen selection, byte for byte that of vectors/.

    A second run continues an interrupted one. Nothing is written where implementations differ.
    """
    from emu.vectors import build

    with _bar("build") as step:
        built = build(out, suites or None, contracts or None, jobs, step)
    if settings_of().json:
        print_json({"out": str(out), **built._asdict()})
    note(f"{out}: {len(built.written)} suites written, {len(built.skipped)} were right already, {len(built.digests)} digests")


@command.command("verify")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--engine", "engines", multiple=True, type=click.Choice(["exact", "fast", "c_ref"]), help="Only these; repeatable.")
@common_options
def verify_command(folder: Path, engines: tuple[str, ...]) -> int:
    """Check every file of FOLDER and derive every row again with each implementation present.

    Exit code: 0 equal, 1 a row differs, 2 a bad file, 3 nothing was compared.
    """
    from emu.vectors import verify

    with _bar("verify") as step:
        report = verify(folder, engines or None, step)
    if settings_of().json:
        print_json(report.data())
    else:
        rows = {"suites": report.suites, "rows": report.rows, "compared": report.compared, "open, not compared": report.masked}
        rows |= {f"derived by {engine}": count for engine, count in report.by_engine.items()}
        print_table({**rows, "differ": report.differing}.items(), ("what", "count"), right=("count",))
        for line in report.differences:
            click.echo(line)
    for fault in report.faults:
        click.echo(f"emu: {fault}", err=True)
    if report.exit_code == 3 and not report.faults:
        click.echo(f"emu: {folder}: nothing was compared: no implementation here derives these rows", err=True)
    return report.exit_code


@contextlib.contextmanager
def _bar(name: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar over rows; yield the function that is told (stem, rows done, rows of all)."""
    with progress() as bar:
        task = bar.add_task(name, total=None)

        def step(stem: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=stem)

        yield step
