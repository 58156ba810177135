"""emu show: the facts of one spec object, readable."""

from __future__ import annotations

import difflib
from typing import Any

import click

from emu.base.errors import SpecError
from emu.cli.settings import common_options, print_json, settings_of
from emu.cli.show import block as show_block
from emu.cli.show import datapath as show_datapath
from emu.cli.show import format as show_format
from emu.cli.show import instruction as show_instruction
from emu.cli.show import policy as show_conversion
from emu.cli.show import recipe as show_recipe
from emu.cli.show import training as show_training
from emu.pages import format_facts
from emu.spec import KINDS, Format, SpecObject, digest, get, names
from emu.spec.family import family, family_line, table
from emu.spec.models import Block, Datapath, Instruction, Policy, Recipe, Training


@click.command("show")
@click.argument("names_", metavar="[KIND/]ID...", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="Every code of a format, also of 8 to 16 bits.")
@common_options
def command(names_: tuple[str, ...], every: bool) -> None:
    """Show spec objects by id or alias: facts, values of a format, steps of a recipe, status, open points, sources."""
    found = [thing for name in names_ for thing in find(name)]
    if settings_of().json:
        print_json([_data(thing, every) for thing in found])
        return
    click.echo("\n\n".join("\n".join(_lines(thing, every)) for thing in found))


def find(name: str) -> list[SpecObject]:
    """Return every object an id, an alias or kind/id means. Raises: SpecError with the nearest names."""
    kind, _, rest = name.rpartition("/")
    if kind:
        return [get(kind.removesuffix("s") if kind.removesuffix("s") in KINDS else kind, rest)]
    found = [get(kind, name) for kind in KINDS if name in names(kind)]
    if found:
        return found
    for kind in KINDS:
        found += [thing for thing in (get(kind, item) for item in names(kind)) if name in thing.accepted]
    if not found:
        known = sorted({item for kind in KINDS for item in names(kind)})
        line = family_line(name)
        if line is not None:
            raise SpecError(f"{name!r} {line}")
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        raise SpecError(f"{name!r} is unknown: " + (f"did you mean {' or '.join(near)}?" if near else "see `emu list`"))
    return found


def _lines(thing: SpecObject, every: bool) -> list[str]:
    lines = [f"{thing.kind}/{thing.id}: {thing.title}"]
    aliases = f", also called {', '.join(thing.aliases)}" if thing.aliases else ""
    lines.append(f"  status {thing.status}{aliases}, digest {digest(thing)[:16]}")
    lines += [f"  {line}" if line else "" for line in _body(thing, every)]
    lines += [f"  {line}" if line else "" for line in _family(thing)]
    for number, point in enumerate(thing.open):
        lines += ["", "  open"] if number == 0 else []
        lines.append(f"    {point.what} (until: {point.until})")
    if thing.sources:
        lines += ["", "  sources"]
    for source in thing.sources:
        only = f" [{', '.join(source.facts)}{': ' + source.status if source.status else ''}]" if source.facts else ""
        lines.append(f"    {source.ref}: {source.where}{only}")
    return lines


def _body(thing: SpecObject, every: bool) -> list[str]:
    if isinstance(thing, Format):
        return show_format.lines(thing, every)
    if isinstance(thing, Recipe):
        return show_recipe.lines(thing)
    if isinstance(thing, Policy):
        return show_conversion.lines(thing)
    if isinstance(thing, Block):
        return show_block.lines(thing)
    if isinstance(thing, Instruction):
        return show_instruction.lines(thing)
    if isinstance(thing, Training):
        return show_training.lines(thing)
    facts = ["", *plain(thing.facts_json())]
    return facts + show_datapath.lines(thing) if isinstance(thing, Datapath) else facts


def _members(thing: SpecObject) -> list[dict[str, str]]:
    """Return a row for each recipe of the family that a block or a format of elements names."""
    found = family(thing.id) if isinstance(thing, Block | Format) else None
    return [] if found is None else table(found)


def _family(thing: SpecObject) -> list[str]:
    """Return the recipes of a block's or format's family as a table; nothing for other objects."""
    rows = _members(thing)
    if not rows:
        return []
    wide = {key: max(len(row[key]) for row in [*rows, {name: name for name in rows[0]}]) for key in rows[0]}
    same = "elements of this format" if isinstance(thing, Format) else "elements and scales of these formats"
    head = ["", f"recipes with {same}", "  " + "  ".join(key.ljust(wide[key]) for key in wide).rstrip()]
    return head + ["  " + "  ".join(row[key].ljust(wide[key]) for key in wide).rstrip() for row in rows]


def plain(data: Any, indent: str = "") -> list[str]:
    """Return nested facts as indented `key: value` lines."""
    out: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict):
            out += [f"{indent}{key}", *plain(value, indent + "  ")]
        else:
            out.append(f"{indent}{key}: {value}")
    return out


def _data(thing: SpecObject, every: bool) -> dict[str, Any]:
    data = thing.model_dump(mode="json", by_alias=True, exclude_none=True)
    data["digest"] = digest(thing)
    if members := _members(thing):
        data["recipes"] = members
    if isinstance(thing, Format):
        data["derived"] = format_facts.derived(thing)
        data["codes"] = format_facts.table(thing, every)
    return data
