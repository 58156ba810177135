"""python -m research cost: gates and depth of the reference designs, by yosys."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target
from emu.cli.settings import bar_of, common_options, print_json, print_table, settings_of
from research.cli.kept_record import STALE, keep

HEADER = ("part", "operands", "GE", "cells", "flip-flops", "depth")


@click.command("cost")
@click.option("--part", "parts", multiple=True, metavar="NAME", help="Only this part (decode, product, dot16, ...); repeatable.")
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the whole record as JSON.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the designs?")
@common_options
def command(parts: tuple[str, ...], out: Path | None, force: bool, check: Path | None) -> int:
    """Synthesise the reference designs to simple gates and count: gate equivalents, cells, flip-flops, depth.

    Needs yosys. For comparing designs of one run: no area, no delay. docs/hardware_cost.md follows from the record.
    """
    from emu.rtl.simulate import simulator
    from research.cost import measure as cost

    if check is not None:
        return _check(check)
    if out is not None:
        if parts:
            raise click.UsageError("--out keeps the whole run: leave --part out")
        check_target(out, force)
    with tempfile.TemporaryDirectory(prefix="emu_") as folder, bar_of("cost", len(cost.tasks(simulator.path(), parts))) as tick:
        record = cost.run(simulator.path(), parts, Path(folder), tick)
    if out is not None:
        keep(out, cost.KIND, record, force)
    if settings_of().json:
        print_json(record)
    else:
        print_table([_line(design, cost.rules()) for design in record["designs"]], HEADER, right=HEADER[2:])
    return 0


def _line(design: dict[str, Any], rules: dict[str, Any]) -> tuple[str, ...]:
    size = f"{design['transistors'] / rules['transistors_of_one_ge']:.1f}"
    counts = (sum(design["cells"].values()), design["flip_flops"], design["depth"])
    return (design["part"], design["operands"], size, *(str(count) for count in counts))


def _check(path: Path) -> int:
    from emu.rtl.simulate import simulator
    from research.cost.measure import COMMAND, read_record, stale

    old = stale(read_record(path), simulator.path())
    click.echo(f"{path}: made from other sources: {', '.join(old)}: run {COMMAND}" if old else f"{path}: fits the designs")
    return STALE if old else 0
