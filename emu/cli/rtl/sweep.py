"""emu rtl sweep: every input of the reference converters, a Verilator model against the C reference."""

from __future__ import annotations

from pathlib import Path

import click

from emu.base.atomic import temporary_folder
from emu.cli.settings import OutputPath, common_options, note, print_json, say_error, settings_of

DIFFERS = 1
RECORD = Path("docs/evidence/rtl_sweeps.json")


@click.command("sweep")
@click.option(
    "--out", "-o", default=RECORD, show_default=True, type=OutputPath("kept", path_type=Path), help="The record of what was proved."
)
@click.option("--check", is_flag=True, help="Only tell whether the record fits designs and spec; exit code 1 when it does not.")
@click.option("--stale", "only_stale", is_flag=True, help="Only spaces that the record lacks or that were made from other files or facts.")
@click.option(
    "--only", "words", multiple=True, metavar="WORD", help="Only spaces whose name has this part, as bf16 or e2m1; repeatable: all."
)
@common_options
def command(out: Path, check: bool, only_stale: bool, words: tuple[str, ...]) -> int:
    """Run all source codes through a Verilator model of each converter: equal to the C reference, or the first that differs (exit code 1).

    A binary32 space takes about a minute of one core. What is done is in the record already when a run is stopped.
    """
    from emu.base.errors import OperandError
    from emu.rtl.simulate import simulator, sweep
    from emu.rtl.simulate.units import read_units

    units = read_units(simulator.path())
    wrong = sweep.stale(simulator.path(), units, sweep.read_record(out))
    if check:
        if settings_of().json:
            print_json({"stale": wrong})
        if not wrong:
            note(f"{out}: fits")
            return 0
        say_error(f"{out}: {len(wrong)} spaces are missing or of other files: to mend it: {sweep.COMMAND}")
        return DIFFERS
    chosen = wrong if only_stale else [space.name for space in sweep.spaces(units)]
    chosen = [name for name in chosen if all(word in name for word in words)]
    if not chosen and not only_stale:
        raise OperandError(f"--only {' '.join(words)}: no space has such a name")
    with temporary_folder("rtl") as folder:
        try:
            done = sweep.run(simulator.path(), units, out, folder, chosen, note)
        except sweep.Differs as error:
            say_error(str(error))
            return DIFFERS
    if settings_of().json:
        print_json({"done": done})
    return 0
