"""emu rtl mutants: how many netlist mutants of the reference designs the golden suites kill."""

from __future__ import annotations

from pathlib import Path

import click

from emu.base.atomic import temporary_folder
from emu.cli.settings import OutputPath, common_options, note, print_json, print_table, settings_of


@click.command("mutants")
@click.option("--unit", "names", multiple=True, help="Only these reference designs (vectors/bench/rtl/units.yaml); repeatable.")
@click.option("--count", default=1200, show_default=True, type=click.IntRange(1, 10000), help="Mutants of each design, at most.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of the draw.")
@click.option("--seconds", default=10, show_default=True, type=click.IntRange(1), help="Solver time for each survivor.")
@click.option("--out", "-o", type=OutputPath("kept", path_type=Path), help="Record: entries of these units are replaced, others stay.")
@common_options
def command(names: tuple[str, ...], count: int, seed: int, seconds: int, out: Path | None) -> int:
    """Draw mutants of reference designs from their netlists, run the golden suites on them, and ask a solver about the survivors.

    Needs yosys and Verilator. Exit code 1 when the solver found a survivor that some input tells from the right design: a row is missing.
    """
    from emu.base.errors import SpecError
    from emu.rtl.mutants.record import examine, read_record, write_record
    from emu.rtl.simulate import simulator
    from emu.rtl.simulate.units import read_units

    units = {name: unit for name, unit in read_units(simulator.path()).items() if unit.suites}
    for name in names:
        if name not in units:
            raise SpecError(f"unit {name!r} is unknown or has no suite: one of {', '.join(units)}")
    entries = read_record(out) if out is not None and out.exists() else {}
    done = []
    for name in names or units:
        with temporary_folder("rtl") as folder:
            entries[name] = examine(units[name], folder, note, count, seed, seconds)
        done.append(entries[name])
        if out is not None:
            write_record(out, entries)
    if settings_of().json:
        print_json(done)
    else:
        rows = [
            (entry["unit"], entry["drawn"], sum(entry["killed"].values()), entry["equivalent"], len(entry["unsettled"])) for entry in done
        ]
        print_table(rows, ("unit", "drawn", "killed", "equivalent", "unsettled"), right=("drawn", "killed", "equivalent", "unsettled"))
    return int(any(rest["verdict"] == "different" for entry in done for rest in entry["unsettled"]))
