"""emu vectors deliver: the folder of one project."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import OutputPath, common_options, counting_bar, note, print_json, settings_of


@click.command("deliver")
@click.option("--contracts", "--contract", "names", multiple=True, required=True, metavar="NAME[,NAME...]", help="Contracts; repeatable.")
@click.option(
    "--out", "-o", required=True, type=OutputPath("folder", path_type=Path), help="A new folder, or a new file that ends in .zip."
)
@click.option("--suite", "suites", multiple=True, help="Only these suites (smoke, directed, all, random, kill, bits, sums); repeatable.")
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes; the bytes do not depend on it.")
@common_options
def command(names: tuple[str, ...], out: Path, suites: tuple[str, ...], jobs: int) -> None:
    """Write everything that a verification team needs of some contracts into one folder or zip file, which needs nothing of emu.

    Suites, benches, the C reference, descriptor files, an HTML page of the semantics, checksums, licence, and self_test.sh, which needs no
    Python. Contracts of your own spec files (--spec) too. Without --suite: smoke, directed and kill suites, and all codes of decoders.
    """
    from emu.deliver import deliver, deliver_zip

    contracts = [name.strip() for text in names for name in text.split(",") if name.strip()]
    write = deliver_zip if out.suffix == ".zip" else deliver
    with counting_bar("deliver") as step:
        done = write(out, contracts, suites or None, jobs, step)
    if settings_of().json:
        print_json({"out": str(out), **done._asdict()})
    note(f"{out}: {done.suites} suites, {done.rows} rows; try it: sh self_test.sh, in the folder")
