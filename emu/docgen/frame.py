"""What every page of a spec object has: head, open points, witnesses, pseudo-code, sources, users. Not here: the body (pages/)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emu.base.errors import FileError
from emu.docgen.markdown import code, fence, link, plural, table
from emu.docgen.source import FOLDER, Module
from emu.spec import KINDS, SpecObject, digest, get, names
from emu.spec.models.common import OpenPoint

MOST_USERS = 12
Users = dict[tuple[str, str], list[tuple[str, str]]]


@dataclass(frozen=True)
class Context:
    """What pages know of the whole: the oracle's modules and who names whom."""

    modules: dict[str, Module]
    users: Users


@dataclass(frozen=True)
class Writer:
    """How a kind is shown: the body of its page, the oracle's functions behind it, and its witnesses (None: a plain table)."""

    body: Callable[[Any, Context], list[str]]
    oracle: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    witnesses: Callable[[Any], list[str]] | None = None


def all_users() -> Users:
    """Return (kind, id) -> the objects that name it, in the order of kinds and ids."""
    found: Users = {}
    for kind in KINDS:
        for name in names(kind):
            for used_kind, used, _ in get(kind, name).references():
                entry = found.setdefault((used_kind, used), [])
                if (kind, name) not in entry:
                    entry.append((kind, name))
    return found


def page(thing: SpecObject, writer: Writer, context: Context) -> str:
    """Return the Markdown page of one spec object."""
    lines = [f"# {thing.kind} `{thing.id}`", "", f"**{thing.title}**", "", _head(thing), ""]
    lines += writer.body(thing, context)
    lines += _open(thing.open)
    witnesses: Sequence[Any] = getattr(thing, "expect", ())
    if witnesses:
        lines += ["", "## Witnesses", "", "Checked by hand or measured; tests and `emu doctor` run them.", ""]
        lines += (writer.witnesses or _witnesses)(thing)
    lines += _oracle(writer.oracle(thing) if callable(writer.oracle) else writer.oracle, context)
    lines += _sources(thing)
    lines += _users(thing, context.users)
    return "\n".join(lines) + "\n"


def _head(thing: SpecObject) -> str:
    parts = [f"Status **{thing.status}**"]
    if thing.aliases:
        parts.append("also called " + ", ".join(code(alias) for alias in thing.aliases))
    parts.append(f"facts in [spec/{thing.kind}/{thing.id}.yaml](../../../spec/{thing.kind}/{thing.id}.yaml), digest `{digest(thing)[:16]}`")
    parts.append(f"`emu show {thing.kind}/{thing.id}`")
    return " · ".join(parts)


def _open(points: Sequence[OpenPoint]) -> list[str]:
    if not points:
        return []
    lines = ["", "## Open", "", "Refused, or masked in golden vectors; never guessed.", ""]
    if not any(_options(point) for point in points):
        return lines + table(("what", "until"), [(point.what, point.until) for point in points])
    return lines + table(("what", "options", "until"), [(point.what, _options(point), point.until) for point in points])


def _options(point: OpenPoint) -> str:
    """Return the answers that an open point lists, and the fact that they set."""
    options = ", ".join(code(option) for option in getattr(point, "options", ()))
    fact = getattr(point, "fact", None)
    return f"{fact}: {options}" if fact and options else options


def _witnesses(thing: Any) -> list[str]:
    """One line per witness; columns that no witness uses are left out."""
    rows = [item.model_dump(by_alias=True) for item in thing.expect]
    keys = dict.fromkeys(key for row in rows for key in row)
    used = [key for key in keys if any(row.get(key) not in (None, {}, ()) for row in rows)]
    return table(used, [[_witness_cell(key, row.get(key)) for key in used] for row in rows])


def _witness_cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name} `{item}`" for name, item in value.items())
    return str(value) if key == "why" else code(str(value))


def _oracle(entries: tuple[str, ...], context: Context) -> list[str]:
    if not entries:
        return []
    links = []
    for entry in entries:
        module, _, name = entry.partition(".")
        if not any(piece.name == name for piece in context.modules[module].pieces):
            raise FileError(f"{FOLDER}/{module}.py has no {name}: the pages name it; mend emu/docgen/pages")
        links.append(oracle_link(module, name))
    return ["", "## Pseudo-code", "", f"The oracle's own source, which is the law: {', '.join(links)}."]


def oracle_link(module: str, name: str, folder: str = "../oracle/") -> str:
    """Return a link to a function of the oracle; folder: the way from the page to the oracle's pages."""
    return f"[`{module}.{name}`]({folder}{module}.md#{name.lower()})"


def _sources(thing: SpecObject) -> list[str]:
    if not thing.sources:
        return []
    lines = ["", "## Sources", ""]
    rows = []
    for source in thing.sources:
        speaks = ", ".join(code(fact) for fact in source.facts) or "all"
        rows.append((f"[`{source.ref}`](../sources.md#{source.ref})", source.where, speaks, source.status or thing.status))
    return lines + table(("source", "where", "facts", "status"), rows)


def _users(thing: SpecObject, users: Users) -> list[str]:
    found = users.get((thing.kind, thing.id), [])
    if not found:
        return []
    lines = ["", "## Used by", ""]
    for kind in KINDS:
        ids = [name for item, name in found if item == kind]
        if ids:
            more = f" and {len(ids) - MOST_USERS} more" if len(ids) > MOST_USERS else ""
            lines.append(f"- {plural(len(ids), kind)}: {', '.join(link(kind, name) for name in ids[:MOST_USERS])}{more}")
    return lines


def plain(data: Any, indent: str = "") -> list[str]:
    """Return nested facts as indented `key: value` lines."""
    out: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict):
            out += [f"{indent}{key}:", *plain(value, indent + "  ")]
        else:
            out.append(f"{indent}{key}: {value}")
    return out


def plain_body(thing: SpecObject, context: Context) -> list[str]:
    """Return the facts as they are, for a kind without a page of its own."""
    return ["## Facts", "", *fence(plain(thing.facts_json()))]
