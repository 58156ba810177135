"""emu rtl wrap: the wrapper of a port map."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import common_options, note


@click.command("wrap")
@click.argument("map_file", metavar="MAP", type=click.Path(path_type=Path))
@click.option("--out", "-o", type=click.Path(path_type=Path), help="File to write; left out: print.")
@click.option("--contract", metavar="NAME", help="Judge by this contract in the place of the map's.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def command(map_file: Path, out: Path | None, contract: str | None, force: bool) -> None:
    """Print the module `dut` that puts the design of the port map MAP (YAML) on the bench kit."""
    from emu.base.atomic import check_target, whole_file
    from emu.rtl.portmap.file import check_columns, load_map
    from emu.rtl.portmap.suite import plans_for
    from emu.rtl.portmap.wrapper import wrapper_text

    if out is not None:
        check_target(out, force)
    file = load_map(map_file)
    plan = plans_for(file.map, contract=contract)[0]
    check_columns(file, plan.operation.layout, plan.stem)
    text = wrapper_text(file.map, plan.operation.layout, map_file.name, contract or file.map.contract or plan.stem)
    if out is None:
        click.echo(text, nl=False)
        return
    with whole_file(out, force) as stream:
        stream.write(text.encode("ascii"))
    note(f"{out}: module dut around {file.map.module}")
