"""The reference of the spec files: every kind and key with its description and allowed values. Not here: the objects (overviews.py)."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Anchor, Code, Links, joined, render
from emu.spec.faults import FORMS
from emu.spec.models import KINDS
from tools.docs import TEMPLATES
from tools.docs.schemas import schema

Schema = dict[str, Any]
FRAME = ("kind", "id", "aliases", "title", "status", "facts", "expect", "open", "sources")
SHARED = ("SourceRef", "OpenPoint")

Row = tuple[Any, ...]


def spec_page() -> str:
    """Return the Markdown page."""
    kinds = {kind: schema(kind, merged=True) for kind in KINDS}
    first = kinds["format"]
    frame = {key: first["properties"][key] for key in FRAME}
    frame["kind"] = {"enum": list(KINDS), "description": frame["kind"]["description"]}
    frame["facts"] = {"description": "the facts, as the kind says below"}
    frame["expect"] = {"description": "examples: hand-checked examples that only tests and `emu doctor` read; form as the kind says below"}
    sources = schema("sources")
    return render(
        "spec",
        Links(""),
        TEMPLATES,
        links_to_kinds=[Anchor(kind, kind) for kind in KINDS],
        frame=_keys({"properties": frame, "required": first["required"]}, first),
        shared=[_part(name, first) for name in SHARED],
        kinds=[_kind(kind, found) for kind, found in kinds.items()],
        sources=_keys(sources["$defs"]["SourceEntry"], sources),
    )


def _kind(kind: str, found: Schema) -> dict[str, Any]:
    known = found["properties"]
    keys = [key for key in ("based_on", "facts", "rationale", "open", "expect") if key in known]
    own = {key: known[key] for key in keys if key != "open" or "OpenPoint" not in str(known[key])}
    parts = [_part(name, found) for name in _in_reading_order(own, found["$defs"]) if name not in SHARED]
    keys_of = _keys({"properties": own, "required": found["required"]}, found)
    return {"name": kind, "about": found["description"].splitlines()[0], "rows": keys_of, "parts": parts}


def _in_reading_order(node: Any, parts: Schema) -> list[str]:
    """Return the names of the parts that a node refers to, each where it is first met."""
    names: list[str] = []

    def walk(item: Any) -> None:
        if isinstance(item, list):
            for entry in item:
                walk(entry)
        elif isinstance(item, dict):
            name = item.get("$ref", "").rpartition("/")[2]
            if name and name not in names:
                names.append(name)
                walk(parts[name])
            for key, entry in item.items():
                if key != "description":
                    walk(entry)

    walk(node)
    return names


def _part(name: str, whole: Schema) -> dict[str, Any]:
    part = whole["$defs"][name]
    return {"name": name, "about": part.get("description", "").partition("\n")[0], "rows": _keys(part, whole)}


def _keys(part: Schema, whole: Schema) -> list[Row]:
    """Return (key, what, allowed values, what an absent key means) of each key."""
    required = part.get("required", ())
    return [
        (Code(key), node.get("description", ""), _allowed(node, whole), "" if key in required else _default(node))
        for key, node in part.get("properties", {}).items()
    ]


def _default(node: Schema) -> Any:
    if "default" not in node:
        return "allowed"
    default = node["default"]
    if isinstance(default, dict) and default:
        return ", ".join(f'{key}: "{value}"' for key, value in default.items())
    return Code(f'"{default}"') if isinstance(default, str) else Code(str(default)) if isinstance(default, int) else "empty"


def _allowed(node: Schema, whole: Schema) -> Any:
    """Say in words which values a node takes."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return Anchor(name, name.lower())
    if "anyOf" in node or "oneOf" in node:
        return joined(" or ", [_allowed(item, whole) for item in node.get("anyOf") or node["oneOf"]])
    if "const" in node or "enum" in node:
        return joined(" ", [Code(f'"{word}"') for word in node.get("enum") or [node["const"]]])
    kind = node.get("type")
    if kind == "integer":
        bounds = [f"at least {node['minimum']}"] if "minimum" in node else []
        bounds += [f"at most {node['maximum']}"] if "maximum" in node else []
        return ", ".join(["integer", *bounds])
    if kind == "array":
        low, high = node.get("minItems", 0), node.get("maxItems")
        count = f" of {low}" if low == high else f" of {low} to {high}" if high else ""
        return f"list{count}: ", _allowed(node["items"], whole)
    if kind == "object":
        return "any key -> ", _allowed(node["additionalProperties"], whole)
    return FORMS.get(node.get("pattern", ""), "text") if kind == "string" else ""
