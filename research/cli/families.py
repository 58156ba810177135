"""python -m research families: which recipes of a family agree on a real model, and how far the others part."""

from __future__ import annotations

from pathlib import Path

import click

from emu.base.atomic import check_target
from emu.base.errors import ToolError
from emu.cli.settings import bar_of, common_options, print_json, print_table, settings_of
from research.cli.kept_record import judge, keep

HEADER = ("family", "group", "members", "nearest", "values that differ")


@click.command("families")
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the record as JSON.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the spec?")
@common_options
def command(out: Path | None, force: bool, check: Path | None) -> int:
    """Run every member of every family of recipes on weights and activations of MiniLM, and group those that agree in every bit.

    docs/families.md is written from the record by `python -m tools.docs build`.
    """
    from research import families
    from research.minilm import INSTALL, model_folder

    if check is not None:
        return judge(check, families.stale(families.KIND.read(check)), families.COMMAND)
    if out is not None:
        check_target(out, force)
    folder = model_folder()
    if folder is None:
        raise ToolError(f"families: the model is missing: {INSTALL}")
    with bar_of("families") as tick:
        record = families.run(folder, tick)
    if out is not None:
        keep(out, families.KIND, record, force)
    if settings_of().json:
        print_json(record)
        return 0
    lines = [
        (row["name"], str(number), " ".join(group["members"]), group.get("nearest", ""), str(group.get("values", "")))
        for row in record["families"]
        for number, group in enumerate(row["groups"], 1)
    ]
    print_table(lines, HEADER, right=HEADER[4:])
    return 0
