"""emu vectors: golden vectors, built and verified."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import (
    InputPath,
    OutputPath,
    common_options,
    counting_bar,
    note,
    print_json,
    print_table,
    say,
    say_error,
    settings_of,
    worker_options,
)
from emu.cli.vectors.cover import command as cover_command
from emu.cli.vectors.deliver import command as deliver_command


@click.group("vectors")
def command() -> None:
    """Golden vectors: build them again, verify a folder."""


@command.command("build")
@click.option(
    "--out", "-o", required=True, type=OutputPath("folder", path_type=Path), help="Folder: new, empty, or an earlier or interrupted build."
)
@click.option("--suite", "suites", multiple=True, help="Only these suites (smoke, directed, all, random, kill, bits, sums); repeatable.")
@click.option("--contract", "contracts", multiple=True, help="Only these contracts (emu list contracts); repeatable.")
@worker_options
@click.option("--shard", help="I/N: only the I-th of N parts of the suites; all parts in one folder, or merged, are one run.")
@common_options
def build_command(
    out: Path, suites: tuple[str, ...], contracts: tuple[str, ...], jobs: int, cluster: str | None, shard: str | None
) -> None:
    """Build golden vectors; without --suite and --contract the frozen selection, byte for byte that of vectors/.

    A second run continues an interrupted one. Nothing is written where implementations differ.
    """
    from emu.vectors import build

    with counting_bar("build") as step:
        built = build(out, suites or None, contracts or None, jobs, step, shard=_shard(shard), cluster=cluster)
    if settings_of().json:
        print_json({"out": str(out), **built._asdict()})
    note(f"{out}: {len(built.written)} suites written, {len(built.skipped)} were right already, {len(built.digests)} digests")


@command.command("verify")
@click.argument("folder", type=InputPath(path_type=Path))
@click.option("--engine", "engines", multiple=True, type=click.Choice(["exact", "numpy", "c_ref"]), help="Only these; repeatable.")
@worker_options
@common_options
def verify_command(folder: Path, engines: tuple[str, ...], jobs: int, cluster: str | None) -> int:
    """Check every file of FOLDER and derive every row again with each implementation present.

    Exit code: 0 equal, 1 a row differs, 2 a bad file, 3 nothing was compared.
    """
    from emu.vectors import verify

    with counting_bar("verify") as step:
        report = verify(folder, engines or None, step, jobs, cluster)
    if settings_of().json:
        print_json(report.data())
    else:
        rows = {"suites": report.suites, "rows": report.rows, "compared": report.compared, "open, not compared": report.masked}
        rows |= {f"derived by {engine}": count for engine, count in report.by_engine.items()}
        print_table({**rows, "differ": report.differing}.items(), ("what", "count"), right=("count",))
        for line in report.differences:
            say(line)
    for fault in report.faults:
        say_error(fault)
    if report.exit_code == 3 and not report.faults:
        say_error(f"{folder}: nothing was compared: no implementation here derives these rows")
    return report.exit_code


command.add_command(cover_command)
command.add_command(deliver_command)


def _shard(text: str | None) -> tuple[int, int] | None:
    """Return I and N of "I/N"."""
    if text is None:
        return None
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise click.UsageError(f"--shard {text!r}: write I/N, such as 1/4")
    return int(index), int(count)


@command.command("merge")
@click.argument("folders", nargs=-1, required=True, type=InputPath(path_type=Path))
@click.option("--out", "-o", required=True, type=OutputPath("folder", path_type=Path), help="Folder: new, empty, or an earlier build.")
@common_options
def merge_command(folders: tuple[Path, ...], out: Path) -> None:
    """Make one folder of the FOLDERS that builds with --shard wrote: the bytes of one run."""
    from emu.vectors.build import merge

    count = merge(out, folders)
    note(f"{out}: {count} files of {len(folders)} folders")


@command.command("kill")
@click.argument("records", nargs=-1, required=True, type=InputPath(path_type=Path))
@click.option(
    "--out",
    "-o",
    required=True,
    type=OutputPath("folder", path_type=Path),
    help="Folder of the data: emu/vectors/suites/kill_rows of the source tree.",
)
@click.option("--least", default=1, show_default=True, type=click.IntRange(1), help="Mutants that a suite must kill to get a kill suite.")
@click.option("--judged", type=InputPath(path_type=Path), help="Record of netlist mutants: the kill suites that it names do not grow.")
@common_options
def kill_command(records: tuple[Path, ...], out: Path, least: int, judged: Path | None) -> None:
    """Choose the directed rows that kill every mutant of RECORDS (KILL.json, KILL_rtl.json, held_back.json); write them as kill suites.

    Rows that a kill suite has keep their places; rows for new mutants are appended, or become kill_more where the suite is frozen or judged
    netlist mutants.
    """
    from emu.base.atomic import write_text
    from emu.vectors.suites.frozen import frozen_kills
    from emu.vectors.suites.plan import read_chosen, read_judged, read_records, render, updated

    matrix = read_records(records)
    suites = updated(matrix, least, read_chosen(records), frozen_kills() | (set() if judged is None else read_judged(judged)))
    for name, text in render(suites).items():
        write_text(out / name, text, force=True)
    count = [(len(rows), sum(map(len, rows.values()))) for rows in suites.values()]
    said = ", ".join(f"{name} of {stems} suites: {rows} rows" for name, (stems, rows) in zip(suites, count, strict=True))
    note(f"{out}: {said}; {sum(map(len, matrix.values()))} kills of seeded mutants")
