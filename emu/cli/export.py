"""emu export: spec objects in a form that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import OutputPath, common_options, note, say_text


@click.group("export")
def command() -> None:
    """Write spec objects for programs without Python."""


@command.command("descriptor")
@click.argument("names_", metavar="KIND/ID...", nargs=-1, required=True)
@click.option("--out", "-o", type=OutputPath(path_type=Path, dir_okay=False), help="The new file.  [default: stdout]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def descriptor(names_: tuple[str, ...], out: Path | None, force: bool) -> None:
    """Write objects and all that they name as one descriptor file, which the C reference loads at run time.

    Formats that are named limit the policies to what these say of them. See docs/descriptors.md.
    """
    from emu.base.atomic import write_text
    from emu.cli.show import find
    from emu.engines.c_ref.descriptor_file import descriptor_text

    text = descriptor_text([thing for name in names_ for thing in find(name)])
    if out is None:
        say_text(text)
        return
    write_text(out, text, force)
    note(f"{out}: {len(text.splitlines())} lines")
