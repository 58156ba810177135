"""The reference of the spec files: every kind and key with its description and allowed values. Not here: the objects (contents.py)."""

from __future__ import annotations

from typing import Any

from emu.docgen.schemas import schema
from emu.spec.faults import FORMS
from emu.spec.models import KINDS

Schema = dict[str, Any]
FRAME = ("kind", "id", "aliases", "title", "status", "facts", "expect", "open", "sources")
SHARED = ("SourceRef", "OpenPoint")

_INTRO = """# Spec files

One object per file: the folder is its kind, the file name its id. Strings are in double quotes, integers are bare decimals,
keys are bare words; no floats, no bare `yes` or `no`, no null. Anything else is refused with file and line.
A new format, block or recipe is one such file and no code: put it into a folder of your own and name that with `--spec DIR`,
`EMU_SPEC_PATH` or `emu.load_spec(DIR)`. The objects there are: [contents](contents.md).

The first line `# yaml-language-server: $schema=../schema/<kind>.schema.json` gives completion and checks in an editor.
"""


def spec_page() -> str:
    """Return the Markdown page."""
    kinds = {kind: schema(kind, merged=True) for kind in KINDS}
    lines = [_INTRO, "Kinds: " + ", ".join(f"[{kind}](#{kind})" for kind in KINDS) + ".", ""]
    lines += ["## frame", "", "The keys that every file has, in this order.", ""]
    first = kinds["format"]
    frame = {key: first["properties"][key] for key in FRAME}
    frame["kind"] = {"enum": list(KINDS), "description": frame["kind"]["description"]}
    frame["facts"] = {"description": "the facts, as the kind says below"}
    frame["expect"] = {"description": "witnesses: hand-checked examples that only tests and `emu doctor` read; form as the kind says below"}
    lines += _table({"properties": frame, "required": first["required"]}, first)
    for name in SHARED:
        lines += _part(name, first["$defs"][name], first)
    for kind, found in kinds.items():
        lines += _kind(kind, found)
    lines += _sources()
    return "\n".join(lines).rstrip() + "\n"


def _kind(kind: str, found: Schema) -> list[str]:
    lines = [f"## {kind}", "", found["description"].splitlines()[0], ""]
    known = found["properties"]
    keys = [key for key in ("based_on", "facts", "rationale", "open", "expect") if key in known]
    own = {key: known[key] for key in keys if key != "open" or "OpenPoint" not in str(known[key])}
    lines += _table({"properties": own, "required": found["required"]}, found)
    for name in _in_reading_order(own, found["$defs"]):
        if name not in SHARED:
            lines += _part(name, found["$defs"][name], found)
    return lines


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


def _sources() -> list[str]:
    found = schema("sources")
    lines = ["## sources", "", "`sources.yaml`: one list of documents and code bases; `ref` in a spec file is an id of it.", ""]
    return lines + _table(found["$defs"]["SourceEntry"], found)


def _part(name: str, part: Schema, whole: Schema) -> list[str]:
    return [f"### {name}", "", part.get("description", "").splitlines()[0] if part.get("description") else "", "", *_table(part, whole)]


def _table(part: Schema, whole: Schema) -> list[str]:
    lines = ["| key | what | allowed | absent |", "| --- | --- | --- | --- |"]
    required = part.get("required", ())
    for key, node in part.get("properties", {}).items():
        absent = "" if key in required else _default(node)
        lines.append(f"| `{key}` | {_cell(node.get('description', ''))} | {_cell(_allowed(node, whole))} | {_cell(absent)} |")
    return [*lines, ""]


def _default(node: Schema) -> str:
    if "default" not in node:
        return "allowed"
    default = node["default"]
    if isinstance(default, dict) and default:
        return ", ".join(f'{key}: "{value}"' for key, value in default.items())
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`" if isinstance(default, int) else "empty"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _allowed(node: Schema, whole: Schema) -> str:
    """Say in words which values a node takes."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in node or "oneOf" in node:
        return " or ".join(_allowed(item, whole) for item in node.get("anyOf") or node["oneOf"])
    if "const" in node or "enum" in node:
        return " ".join(f'`"{word}"`' for word in node.get("enum") or [node["const"]])
    kind = node.get("type")
    if kind == "integer":
        bounds = [f"at least {node['minimum']}"] if "minimum" in node else []
        bounds += [f"at most {node['maximum']}"] if "maximum" in node else []
        return ", ".join(["integer", *bounds])
    if kind == "array":
        low, high = node.get("minItems", 0), node.get("maxItems")
        count = f" of {low}" if low == high else f" of {low} to {high}" if high else ""
        return f"list{count}: {_allowed(node['items'], whole)}"
    if kind == "object":
        return f"any key -> {_allowed(node['additionalProperties'], whole)}"
    return FORMS.get(node.get("pattern", ""), "text") if kind == "string" else ""
