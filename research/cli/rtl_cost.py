"""python -m research cost: gates, area, delay and switched capacitance of the reference designs, by yosys."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target
from emu.cli.settings import bar_of, common_options, print_json, print_table, settings_of
from research.cli.kept_record import STALE, keep

HEADER = ("part", "operands", "GE", "cells", "flip-flops", "depth")
AREA_HEADER = ("part", "operands", "library", "mapping", "target ps", "area um2", "delay ps")


@click.command("cost")
@click.option("--part", "parts", multiple=True, metavar="NAME", help="Only this part (decode, product, dot16, ...); repeatable.")
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the whole record as JSON.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--check", metavar="FILE", type=click.Path(path_type=Path), help="Instead: does a kept record fit the designs?")
@common_options
def command(parts: tuple[str, ...], out: Path | None, force: bool, check: Path | None) -> int:
    """Synthesise the reference designs: gate equivalents, area and delay in real cells, switched capacitance on operands of MiniLM.

    Needs yosys; for --out the cell libraries of Debian's qflow-tech-osu018 and qflow-tech-osu035, and MiniLM, too. For comparing designs of
    one run. docs/hardware_cost.md follows from the record.
    """
    from emu.rtl.simulate import simulator
    from research.cost import measure as cost
    from research.cost import study

    if check is not None:
        return _check(check)
    if out is not None:
        if parts:
            raise click.UsageError("--out keeps the whole run: leave --part out")
        check_target(out, force)
    with tempfile.TemporaryDirectory(prefix="emu_") as folder, bar_of("cost", study.steps(simulator.path(), parts)) as tick:
        record = study.run(simulator.path(), parts, Path(folder), tick)
    if out is not None:
        keep(out, cost.KIND, record, force)
    if settings_of().json:
        print_json(record)
    else:
        print_table([_line(design, cost.rules()) for design in record["designs"]], HEADER, right=HEADER[2:])
        if record["area"]:
            print_table([row for line in record["area"] for row in _areas(line)], AREA_HEADER, right=AREA_HEADER[4:])
    return 0


def _line(design: dict[str, Any], rules: dict[str, Any]) -> tuple[str, ...]:
    size = f"{design['transistors'] / rules['transistors_of_one_ge']:.1f}"
    counts = (sum(design["cells"].values()), design["flip_flops"], design["depth"])
    return (design["part"], design["operands"], size, *(str(count) for count in counts))


def _areas(line: dict[str, Any]) -> list[tuple[str, ...]]:
    names = (line["part"], line["operands"], line["library"])
    return [(*names, mapping, str(target), f"{area:.0f}", f"{delay:.0f}") for mapping, target, area, delay in line["points"]]


def _check(path: Path) -> int:
    from emu.rtl.simulate import simulator
    from research.cost.measure import COMMAND, read_record, stale

    old = stale(read_record(path), simulator.path())
    click.echo(f"{path}: made from other sources: {', '.join(old)}: run {COMMAND}" if old else f"{path}: fits the designs")
    return STALE if old else 0
