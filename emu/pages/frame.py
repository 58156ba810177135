"""What every page of a spec object has: head, open points, examples, pseudo-code, sources, users. Not here: the body (a module a kind)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emu.pages.render import Code, Function, Links, Ref, SourceRef, render
from emu.spec import KINDS, SpecObject, digest, get, names
from emu.spec.models.common import OpenPoint

MOST_USERS = 12
Users = dict[tuple[str, str], list[tuple[str, str]]]
Data = dict[str, Any]


@dataclass(frozen=True)
class Writer:
    """How a kind is shown: its template, what that is told of an object, and the functions of the exact engine behind it."""

    template: str = "object"
    data: Callable[[Any], Data] = lambda thing: {"facts": plain(thing.facts_json())}
    functions: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()


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


def page(thing: SpecObject, writer: Writer, users: Users, links: Links) -> str:
    """Return the Markdown page of one spec object. users: of all objects. links: where its names lead."""
    functions = writer.functions(thing) if callable(writer.functions) else writer.functions
    frame: Data = {
        "thing": thing,
        "file": f"{'spec/' if links.own is None else ''}{thing.kind}/{thing.id}.yaml",
        "aliases": [Code(alias) for alias in thing.aliases],
        "digest": digest(thing)[:16],
        "open": _open(thing.open),
        "examples": _examples(getattr(thing, "expect", ())),
        "functions": [Function(*entry.split(".")) for entry in functions],
        "sources": [_source(source, thing) for source in thing.sources],
        "users": _users(users.get((thing.kind, thing.id), [])),
    }
    return render(writer.template, links, **frame | writer.data(thing))


def _open(points: Sequence[OpenPoint]) -> Data:
    if not any(_options(point) for point in points):
        return {"header": ("what", "until"), "rows": [(point.what, point.until) for point in points]}
    return {"header": ("what", "options", "until"), "rows": [(point.what, _options(point), point.until) for point in points]}


def _options(point: OpenPoint) -> Any:
    """Return the answers that an open point lists, and the fact that they set."""
    options = [Code(option) for option in getattr(point, "options", ())]
    fact = getattr(point, "fact", None)
    return (fact, ": ", options) if fact and options else options


def _examples(items: Sequence[Any]) -> Data:
    """One row per worked example; columns that no worked example uses are left out."""
    rows = [item.model_dump(by_alias=True) for item in items]
    keys = dict.fromkeys(key for row in rows for key in row)
    used = [key for key in keys if any(row.get(key) not in (None, {}, ()) for row in rows)]
    return {"header": used, "rows": [[_example_cell(key, row.get(key)) for key in used] for row in rows]}


def _example_cell(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, " ", Code(str(item))) for name, item in value.items()]
    return value if key == "why" or value is None else Code(str(value))


def _source(source: Any, thing: SpecObject) -> tuple[Any, ...]:
    speaks = [Code(fact) for fact in source.facts] or "all"
    return SourceRef(source.ref), source.where, speaks, source.status or thing.status


def _users(found: list[tuple[str, str]]) -> list[tuple[str, int, list[Ref], int]]:
    """Return, for each kind that names an object: how many do, the first of them, and how many more there are."""
    by_kind = {kind: [Ref(*item) for item in found if item[0] == kind] for kind in KINDS}
    return [(kind, len(refs), refs[:MOST_USERS], max(len(refs) - MOST_USERS, 0)) for kind, refs in by_kind.items() if refs]


def plain(data: Any, indent: str = "") -> list[str]:
    """Return nested facts as indented `key: value` lines."""
    out: list[str] = []
    for key, value in data.items():
        if isinstance(value, dict):
            out += [f"{indent}{key}:", *plain(value, indent + "  ")]
        else:
            out.append(f"{indent}{key}: {value}")
    return out
