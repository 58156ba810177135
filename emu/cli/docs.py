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
    """Build or check what is generated from the spec and the oracle (schemas, reference pages, C tables), and the README's examples."""


@command.command("build")
@_ROOT
@common_options
def build(root: Path) -> int:
    """Write the generated files that differ; exit 1 when an example in hand-written text prints something else."""
    from emu.docgen import examples, tree

    changed = tree.build(root)
    by_hand = examples.faults(root)
    if settings_of().json:
        print_json(changed)
    else:
        click.echo("\n".join(changed), nl=bool(changed))
    if by_hand:
        click.echo("\n".join(by_hand), err=True)
    if not settings_of().quiet:
        click.echo(f"{len(changed)} generated files changed", err=True)
    return DIFFERS if by_hand else 0


@command.command("check")
@_ROOT
@common_options
def check(root: Path) -> int:
    """Compare the generated files with spec and oracle, and run the README's examples; exit 1 with a short diff where they differ."""
    from emu.docgen import examples, tree

    generated, by_hand = tree.check(root), examples.faults(root)
    if settings_of().json:
        print_json([*generated, *by_hand])
    else:
        last = [f"to mend it: {tree.COMMAND}"] if generated else [] if by_hand else ["generated files and examples are up to date"]
        click.echo("\n".join([*generated, *by_hand, *last]))
    return DIFFERS if generated or by_hand else 0
