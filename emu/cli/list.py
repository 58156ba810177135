"""emu list: what the spec holds."""

from __future__ import annotations

from typing import Any

import click

from emu.cli.settings import common_options, print_json, print_table, settings_of, show
from emu.spec import KINDS, SpecObject, get, names
from emu.spec.models import PLURALS

_WORDS = {plural: kind for kind, plural in PLURALS.items()} | {kind: kind for kind in KINDS}


@click.command("list", help=f"List spec objects: all, one KIND ({' '.join(PLURALS.values())}), or contracts.")
@click.argument("kind", required=False)
@common_options
def command(kind: str | None) -> None:
    """Print spec objects of one kind, or all; the help text is the decorator's."""
    if kind in ("contracts", "contract"):
        _list_contracts()
        return
    if kind is not None and kind not in _WORDS:
        raise click.UsageError(f"kind {kind!r} is unknown: one of {', '.join(PLURALS.values())}, contracts")
    chosen = tuple(KINDS) if kind is None else (_WORDS[kind],)
    rows = [_row(get(name, item)) for name in chosen for item in names(name)]
    if kind is not None:  # a series stands for its members
        rows += [_row(thing) for thing in (get("series", item) for item in names("series")) if thing.facts.of == chosen[0]]
    if settings_of().json:
        print_json(rows)
        return
    keys = ("kind", "id", "status", "open", "title") if kind is None else ("id", "status", "open", "title")
    print_table(([row[key] or "" for key in keys] for row in rows), keys, right=("open",))


def _row(thing: SpecObject) -> dict[str, Any]:
    return {
        "kind": thing.kind,
        "id": thing.id,
        "status": thing.status,
        "open": len(thing.open),
        "title": thing.title,
        "aliases": list(thing.aliases),
    }


def _list_contracts() -> None:
    from emu.spec.contract import contracts, instruction_contracts, vector_instructions

    found = list(dict.fromkeys(str(contract) for contract in (*contracts(), *instruction_contracts(), *vector_instructions())))
    show(found, found)
