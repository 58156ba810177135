"""emu docs: generated files of the source tree."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import common_options, print_json, settings_of

DIFFERS = 1
_ROOT = click.option("--root", metavar="DIR", default=".", type=click.Path(path_type=Path), help="The source tree; default: this folder.")


@click.group("docs")
@common_options
def command() -> None:
    """Build or check what is generated from the spec: JSON Schemas in spec/schema, pages in docs/reference."""


@command.command("build")
@_ROOT
@common_options
def build(root: Path) -> None:
    """Write the generated files that differ."""
    from emu.docgen import tree

    changed = tree.build(root)
    if settings_of().json:
        print_json(changed)
        return
    for path in changed:
        click.echo(path)
    if not settings_of().quiet:
        click.echo(f"{len(changed)} of {len(tree.pages(root))} generated files changed", err=True)


@command.command("check")
@_ROOT
@common_options
def check(root: Path) -> int:
    """Compare the generated files with the spec; exit 1 with a short diff where they differ."""
    from emu.docgen import tree

    found = tree.check(root)
    if settings_of().json:
        print_json(found)
    else:
        click.echo("\n".join([*found, f"to mend it: {tree.COMMAND}"] if found else ["generated files are up to date"]))
    return DIFFERS if found else 0
