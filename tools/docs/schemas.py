"""JSON Schemas (draft 2020-12) of the spec files, from the models. Not here: what a schema cannot see (names, programs: emu.spec)."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from emu.spec.known import SourceEntry
from emu.spec.models import KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMMENT = "generated from the spec models: python -m tools.docs build"


def schema(kind: str, merged: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a kind of spec file, or of the list of sources ("sources").

    merged: of a file together with the one it is based on (the models' own); else of the file alone.
    Keys by their wire names; what an absent key means is its default; no null anywhere, because the loader refuses it.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(tuple[SourceEntry, ...] if kind == "sources" else KINDS[kind])
    found = _without_null(adapter.json_schema(by_alias=True))
    body = found.pop("$defs", {})
    title = "emu spec: the list of sources" if kind == "sources" else f"emu spec: {kind}"
    whole = {"$schema": DIALECT, "$comment": COMMENT, **found, "title": title, "$defs": body}
    return whole if merged else _of_files(whole)


def _without_null(node: Any) -> Any:
    """Drop null branches and null defaults, pydantic's own titles, and wrappers of one branch."""
    if isinstance(node, list):
        return [_without_null(item) for item in node if item != {"type": "null"}]
    if not isinstance(node, dict):
        return node
    out = {key: _without_null(value) for key, value in node.items() if not _is_noise(key, value)}
    if len(out.get("anyOf", ())) == 1:
        (only,) = out.pop("anyOf")
        out = {**only, **out}
    return out


def _is_noise(key: str, value: Any) -> bool:
    return value is None or (key == "title" and isinstance(value, str)) or key == "discriminator"


def _of_files(found: dict[str, Any]) -> dict[str, Any]:
    """Drop `required` from the facts of a kind whose files may leave out what a base file says; the loader judges the merged facts."""
    if "based_on" not in found.get("properties", {}):
        return found
    body, wanted = dict(found["$defs"]), [found["properties"]["facts"]]
    while wanted:
        node = wanted.pop()
        if isinstance(node, dict):
            name = node.get("$ref", "").rpartition("/")[2]
            if "required" in body.get(name, ()):
                body[name] = {key: value for key, value in body[name].items() if key != "required"}
                wanted.append(body[name])
            wanted += node.values()
        elif isinstance(node, list):
            wanted += node
    facts = found["properties"]["facts"]
    if "oneOf" in facts:  # what is left out may be all that tells two forms apart
        facts = {**{key: value for key, value in facts.items() if key != "oneOf"}, "anyOf": facts["oneOf"]}
    return {**found, "properties": {**found["properties"], "facts": facts}, "$defs": body}


def schema_pages() -> dict[str, str]:
    """Return path in the source tree -> text of every schema."""
    found = {f"spec/schema/{kind}.schema.json": schema(kind) for kind in (*KINDS, "sources")}
    found["docs/portmap.schema.json"] = portmap_schema()
    return {path: json.dumps(text, indent=2, ensure_ascii=False) + "\n" for path, text in found.items()}


def portmap_schema() -> dict[str, Any]:
    """Return the JSON Schema of a port map (emu rtl run). Which columns there are, the suite decides: the command checks that."""
    from emu.rtl.portmap.model import PortMap

    found = _without_null(TypeAdapter(PortMap).json_schema(by_alias=True))
    body = found.pop("$defs", {})
    return {"$schema": DIALECT, "$comment": COMMENT, **found, "title": "emu port map: a design and the suite that judges it", "$defs": body}
