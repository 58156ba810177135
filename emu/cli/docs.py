"""emu docs: pages of a user's own objects."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import OutputPath, common_options, note, settings_of, show


@click.group("docs")
@common_options
def command() -> None:
    """Pages of your own formats, recipes, datapaths and other spec objects, as those of the reference."""


@command.command("build")
@click.option(
    "--out",
    "-o",
    "folder",
    metavar="DIR",
    required=True,
    type=OutputPath("folder", path_type=Path),
    help="Folder of the pages, made if absent.",
)
@click.option("--force", is_flag=True, help="Replace pages that exist and say something else.")
@common_options
def build(folder: Path, force: bool) -> None:
    """Write a Markdown page for each object of `--spec DIR`, and contents.md, which lists them; print the paths.

    A page has the facts, what follows from them, and rows that the exact engine computes. Nothing is written when a file is at fault.
    A page that says the same already may stay: after a kill the same command goes on.
    """
    from emu.base.atomic import check_target, write_text
    from emu.base.errors import FileError
    from emu.pages.objects import user_pages

    pages = {folder / path: text for path, text in user_pages().items()}
    mine = {path: force or (path.is_file() and path.read_bytes() == text.encode("utf-8")) for path, text in pages.items()}
    for path in pages:
        if path.parent.is_dir():
            check_target(path, mine[path])
    try:
        for path in pages:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror}: name another folder") from None
    for path, text in pages.items():
        write_text(path, text, mine[path])
    show([str(path) for path in pages], map(str, pages))
    if not settings_of().json:
        note(f"{len(pages)} pages written")
