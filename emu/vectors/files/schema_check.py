"""Records against the JSON Schemas that ship with the package: the keywords that those schemas use, and no more.

Tests hold it against jsonschema, which an installed emu does not need.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, Final

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.vectors.files.manifest import OPERATIONS

TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None), "number": (int, float),
}  # fmt: skip
KNOWN: Final = frozenset({
    "$schema", "$comment", "$defs", "title", "description", "type", "const", "enum", "pattern", "minimum", "minLength", "minItems",
    "maxItems", "required", "properties", "additionalProperties", "items", "anyOf", "$ref", "propertyNames",
})  # fmt: skip


def schema(name: str) -> dict[str, Any]:
    """Return a schema of the package: vectors, errata, kill, cover. Raises: FileError (a keyword that is not checked here)."""
    return _schema(name, tuple(OPERATIONS))


@bounded(8)
def _schema(name: str, operations: tuple[str, ...]) -> dict[str, Any]:
    """Return a schema, every registered operation allowed as `op`."""
    data: dict[str, Any] = json.loads((files("emu.vectors.files") / "schema" / f"{name}.schema.json").read_text(encoding="ascii"))
    _known(data, name)
    if "enum" in data.get("properties", {}).get("op", {}):
        data["properties"]["op"]["enum"] = list(operations)
    return data


def _known(node: Any, name: str) -> None:
    """Refuse keywords that `fault` does not know."""
    if not isinstance(node, dict):
        return
    for key in node:
        if key not in KNOWN:
            raise FileError(f"{name}.schema.json: keyword {key} is not checked by emu")
    for key in ("properties", "$defs"):
        for child in node.get(key, {}).values():
            _known(child, name)
    for key in ("items", "additionalProperties", "propertyNames"):
        _known(node.get(key), name)
    for child in node.get("anyOf", ()):
        _known(child, name)


def check(data: Any, name: str, file: str) -> None:
    """Refuse data that does not follow a schema. Raises: FileError naming the place."""
    found = fault(data, schema(name), schema(name))
    if found is not None:
        raise FileError(f"{file}: {found} (emu/vectors/files/schema/{name}.schema.json)")


def fault(data: Any, node: Any, root: dict[str, Any], path: str = "") -> str | None:
    """Return the first fault as one line; None where the data follows the schema."""
    if isinstance(node, bool):
        return None if node else f"{path or 'it'}: not allowed"
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    if "anyOf" in node:
        found = [fault(data, child, root, path) for child in node["anyOf"]]
        if all(found):
            return found[-1] if len(found) == 1 else f"{path or 'it'}: none of {len(found)} forms: {found[0]}"
    return _leaf(data, node, path or "it") or _object(data, node, root, path) or _array(data, node, root, path)


def _leaf(data: Any, node: dict[str, Any], path: str) -> str | None:
    """Check type, const, enum, pattern and bounds."""
    kind = node.get("type")
    if kind is not None:
        wrong = not isinstance(data, TYPES[kind]) or (isinstance(data, bool) and kind in ("integer", "number"))
        if wrong:
            return f"{path}: {json.dumps(data)[:40]} is no {kind}"
    if "const" in node and data != node["const"]:
        return f"{path}: {json.dumps(data)[:40]} is not {json.dumps(node['const'])}"
    if "enum" in node and data not in node["enum"]:
        return f"{path}: {json.dumps(data)[:40]} is none of {', '.join(map(str, node['enum']))}"
    if isinstance(data, str) and "pattern" in node and not re.search(node["pattern"], data):
        return f"{path}: {data[:40]!r} does not match {node['pattern']}"
    if isinstance(data, str) and len(data) < node.get("minLength", 0):
        return f"{path}: shorter than {node['minLength']}"
    if isinstance(data, int) and not isinstance(data, bool) and "minimum" in node and data < node["minimum"]:
        return f"{path}: {data} is less than {node['minimum']}"
    return None


def _object(data: Any, node: dict[str, Any], root: dict[str, Any], path: str) -> str | None:
    """Check the keys and values of an object."""
    if not isinstance(data, dict):
        return None
    for key in node.get("required", ()):
        if key not in data:
            return f"{path or 'it'}: key {key} is missing"
    known, more = node.get("properties", {}), node.get("additionalProperties", True)
    for key, value in data.items():
        place = f"{path}.{key}" if path else key
        if key not in known and more is False:
            return f"{path or 'it'}: key {key} is unknown"
        found = fault(key, node.get("propertyNames", True), root, place) or fault(value, known.get(key, more), root, place)
        if found is not None:
            return found
    return None


def _array(data: Any, node: dict[str, Any], root: dict[str, Any], path: str) -> str | None:
    """Check the items of an array."""
    if not isinstance(data, list):
        return None
    if len(data) < node.get("minItems", 0):
        return f"{path or 'it'}: fewer than {node['minItems']} items"
    if len(data) > node.get("maxItems", len(data)):
        return f"{path or 'it'}: more than {node['maxItems']} items"
    for number, item in enumerate(data):
        found = fault(item, node.get("items", True), root, f"{path}[{number}]")
        if found is not None:
            return found
    return None
