"""emu sweep: all inputs of every conversion to 4 bits through every engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from emu.base.errors import FileError
from emu.cli.settings import (
    OutputPath,
    common_options,
    note,
    print_json,
    print_table,
    progress,
    say,
    say_error,
    settings_of,
    worker_options,
)

DIFFERS = 1
RECORD = Path("docs/evidence/sweeps.json")


def _codes(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> range | None:
    if text is None:
        return None
    found = re.fullmatch(r"(0x[0-9a-fA-F]{1,8}|[0-9]{1,10}):(0x[0-9a-fA-F]{1,9}|[0-9]{1,10})", text)
    span = range(int(found[1], 0), int(found[2], 0)) if found else range(0)
    if not span:
        raise click.BadParameter(f"{text!r} is no range of codes: write FIRST:END, as 0x3F800000:0x3F900000")
    return span


@click.command("sweep")
@click.option(
    "--out", "-o", default=RECORD, show_default=True, type=OutputPath("kept", path_type=Path), help="The record of what was proved."
)
@click.option("--check", is_flag=True, help="Only tell whether the record fits the spec; exit code 1 when it does not.")
@click.option("--stale", is_flag=True, help="Only sweeps that the record lacks or that were made from other facts.")
@click.option(
    "--only", "words", multiple=True, metavar="WORD", help="Only sweeps whose name has this part, as fp32 or e2m1; repeatable: all."
)
@click.option("--engine", "engines", multiple=True, help="Only these engines; repeatable.  [default: all that can]")
@click.option("--codes", callback=_codes, metavar="FIRST:END", help="Only these source codes of finite sweeps; nothing is recorded.")
@worker_options
@common_options
def command(
    out: Path,
    check: bool,
    stale: bool,
    words: tuple[str, ...],
    engines: tuple[str, ...],
    codes: range | None,
    jobs: int,
    cluster: str | None,
) -> int:
    """Convert all inputs with every engine: equal, or the first input that differs (exit code 1).

    2^32 binary32 codes and all 16-bit ones, to each 4-bit format, by each rounding and overflow; special values by each policy.
    A kill loses little: the same command goes on.
    """
    from emu.vectors import sweep as sweeps

    every = sweeps.planned()
    if check:
        return _check(out, every)
    found = sweeps.stale_sweeps(out, every)
    todo = [one for one in every if set(words) <= set(one.name.split("/")) and (not stale or one.name in {*found.missing, *found.changed})]
    if codes is not None:
        todo = [one for one in todo if one.kind == "finite"]
    if not todo and not stale:
        raise click.UsageError(f"no sweep has all of {', '.join(words)} in its name, as in fp32/e2m1/rne/saturate")
    return _run(out, todo, engines, codes, (jobs, cluster), () if words else found.extra)


def _run(
    out: Path, todo: list[Any], engines: tuple[str, ...], codes: range | None, workers: tuple[int, str | None], extra: tuple[str, ...]
) -> int:
    from emu.vectors import sweep as sweeps

    keep = codes is None and not engines
    if keep and not out.parent.is_dir():
        raise FileError(f"{out}: no such folder {out.parent}: run in the source tree, or name a record with --out")
    state = out.with_name(out.name + ".partial") if keep else None
    with progress() as bar:
        task = bar.add_task("sweep", total=None)

        def step(name: str, done: int, total: int) -> None:
            bar.update(task, completed=done >> 20, total=total >> 20, description=name)

        try:
            results = sweeps.run(
                todo,
                state,
                engines or None,
                workers[0],
                codes,
                finished=(lambda one: sweeps.add_result(out, one)) if keep else None,
                progress=step,
                cluster=workers[1],
            )
        except sweeps.Differs as error:
            say_error(str(error))
            return DIFFERS
    if keep:
        sweeps.drop(out, extra)
    _print(results)
    note(
        f"{len(results)} sweeps, {sum(one.inputs for one in results)} inputs: all engines equal" + (f"; recorded in {out}" if keep else "")
    )
    return 0


def _print(results: list[Any]) -> None:
    rows = [(one.sweep.name, one.inputs, " ".join(one.engines), one.exact, one.codes_sha256) for one in results]
    if settings_of().json:
        print_json([dict(zip(("sweep", "inputs", "engines", "exact", "codes_sha256"), row, strict=True)) for row in rows])
    elif rows:
        print_table(
            ((*row[:4], row[4][:16]) for row in rows),
            ("sweep", "inputs", "engines", "by the reference model", "sha256 of codes"),
            ("inputs", "by the reference model"),
        )


def _check(out: Path, every: tuple[Any, ...]) -> int:
    """Say whether the record is fresh, and how many lines other code of the engines made."""
    from emu.vectors import sweep as sweeps

    line = sweeps.stale_sweeps(out, every).line(out)
    if line is not None:
        say_error(line)
        return DIFFERS
    older = sweeps.of_other_code(out)
    say(f"{out}: {len(every)} sweeps, all of the present spec; {older} made by other code of the engines than this")
    return 0
