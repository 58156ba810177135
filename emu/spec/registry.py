"""Finding spec objects by id or alias: the shipped folder, EMU_SPEC_PATH, and folders added by load_spec.

Files are read one at a time, when their id is asked for. Not here: the YAML rules (loader.py), the keys (models/).
"""

from __future__ import annotations

import difflib
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emu.errors import SpecError
from emu.spec.loader import Document, read
from emu.spec.models import KINDS, SpecObject
from emu.spec.models.common import digest_json
from emu.spec.sources import source_ids

_loaded: dict[tuple[str, str], SpecObject] = {}
_documents: dict[tuple[str, str], Document] = {}
_paths: dict[str, dict[str, Path]] = {}
_aliases: dict[str, dict[str, str]] = {}
_digests: dict[tuple[str, str], str] = {}
_roots: list[Path] = []


@lru_cache(maxsize=1)
def shipped_root() -> Path:
    """Return the folder of the shipped spec: inside the installed package, or the checkout's spec/ for an editable install."""
    packaged = Path(str(files("emu"))) / "_spec"
    return packaged if packaged.is_dir() else Path(str(files("emu"))).parent / "spec"


def _scan() -> None:
    """Fill the table of paths once: shipped files first, then EMU_SPEC_PATH."""
    if _paths:
        return
    for kind in KINDS:
        _paths[kind] = {path.stem: path for path in sorted((shipped_root() / kind).glob("*.yaml"))}
    _roots.append(shipped_root())
    for folder in filter(None, os.environ.get("EMU_SPEC_PATH", "").split(os.pathsep)):
        load_spec(folder)


def names(kind: str) -> tuple[str, ...]:
    """Return the ids of a kind, sorted.

    kind: format, rounding, conversion, block, transform or recipe.   Raises: SpecError for another kind.
    """
    _scan()
    if kind not in KINDS:
        raise SpecError(f"kind {kind!r} is unknown: one of {', '.join(KINDS)}")
    return tuple(sorted(_paths[kind]))


def get(kind: str, name: str | SpecObject) -> Any:
    """Return the spec object of an id or alias; a model is returned as it is.

    Raises: SpecError (unknown name with the nearest ones; a fault of the file with file and line).
    """
    if isinstance(name, SpecObject):
        if name.kind != kind:
            raise SpecError(f"{name.id} is a {name.kind}, not a {kind}")
        return name
    known = names(kind)
    if not isinstance(name, str):
        raise SpecError(f"a {kind} is named by a string or a model, not {type(name).__name__}")
    if (kind, name) in _loaded:
        return _loaded[kind, name]
    if name in _paths[kind]:
        return _load(kind, _paths[kind][name])
    aliases = _alias_table(kind)
    if name in aliases:
        return get(kind, aliases[name])
    near = difflib.get_close_matches(name, [*known, *aliases], n=3, cutoff=0.5)
    raise SpecError(f"{kind} {name!r} is unknown: " + (f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(known)}"))


def _alias_table(kind: str) -> dict[str, str]:
    """Return alias -> id of every file of a kind (reads them all, once)."""
    if kind not in _aliases:
        table: dict[str, str] = {}
        for name in names(kind):
            for alias in get(kind, name).aliases:
                if alias in table or alias in _paths[kind]:
                    raise SpecError(
                        f"{_documents[kind, name].where(('aliases',))}: alias {alias!r} already names {table.get(alias, alias)}"
                    )
                table[alias] = name
        _aliases[kind] = table
    return _aliases[kind]


def digest(thing: SpecObject) -> str:
    """Return the sha256 of an object's facts and of everything they refer to (no ids, titles, sources or witnesses of it)."""
    key = (thing.kind, thing.facts_digest)
    if key not in _digests:
        needed = {(kind, name): digest(get(kind, name)) for kind, name, _ in thing.references()}
        _digests[key] = digest_json([thing.facts_digest, sorted([kind, name, value] for (kind, name), value in needed.items())])
    return _digests[key]


def load_spec(folder: str | Path) -> tuple[str, ...]:
    """Add every spec file below a folder to the registry.

    folder: holds *.yaml files, in sub-folders per kind or flat; a sources.yaml adds sources.
    Returns: "kind/id" of what was added.   Raises: SpecError (bad file; an id that is already known with other facts). Nothing is added then.
    """
    _scan()
    root = Path(folder)
    if not root.is_dir():
        raise SpecError(f"{folder}: no such folder: give one with .yaml files")
    found: list[tuple[str, Path, Document]] = []
    for path in sorted(p for p in root.rglob("*.yaml") if p.name != "sources.yaml"):
        document = read(path)
        kind = document.data.get("kind") if isinstance(document.data, dict) else None
        if kind not in KINDS:
            raise SpecError(f"{document.where(('kind',))}: kind must be one of {', '.join(KINDS)}")
        found.append((kind, path, document))
    return _add(root, found)


def _add(root: Path, found: list[tuple[str, Path, Document]]) -> tuple[str, ...]:
    """Register the files, then validate each; on any fault take all of them out again."""
    added: list[tuple[str, str]] = []
    _roots.append(root)
    try:
        for kind, path, document in found:
            known = _paths[kind].get(path.stem)
            if known is not None and known != path:
                other, mine = get(kind, path.stem), _validate(kind, document, path.stem)
                if other.facts_digest != mine.facts_digest:
                    raise SpecError(f"{path}:1: {kind} {path.stem} is already defined in {known} with other facts: rename yours")
            elif known is None:
                _paths[kind][path.stem] = path
                added.append((kind, path.stem))
        _aliases.clear()
        for kind, name in added:
            get(kind, name)
            _alias_table(kind)
    except SpecError:
        _roots.remove(root)
        for kind, name in added:
            _paths[kind].pop(name, None)
            _loaded.pop((kind, name), None)
        _aliases.clear()
        raise
    return tuple(f"{kind}/{name}" for kind, name in added)


def _load(kind: str, path: Path) -> SpecObject:
    """Read, validate and check one file, then keep it."""
    document = read(path)
    model = _validate(kind, document, path.stem)
    _documents[kind, path.stem] = document
    _loaded[kind, path.stem] = model
    try:
        _check(model, document)
    except SpecError:
        del _loaded[kind, path.stem]
        raise
    return model


def _validate(kind: str, document: Document, stem: str) -> SpecObject:
    """Turn plain data into a model; the first fault as one line with file and line."""
    if not isinstance(document.data, dict):
        raise SpecError(f"{document.where(())}: the top level must be keys and values")
    try:
        model = KINDS[kind].model_validate(document.data)
    except ValidationError as error:
        raise SpecError(_first_fault(error, document)) from None
    if model.id != stem:
        raise SpecError(f"{document.where(('id',))}: id {model.id!r} must equal the file name {stem!r}")
    return model


def _first_fault(error: ValidationError, document: Document) -> str:
    """Return the first fault of a validation as `file:line: key: what is wrong`."""
    faults = error.errors(include_url=False)
    fault = next((item for item in faults if item["type"] == "extra_forbidden"), faults[0])
    path: list[str | int] = []
    data: Any = document.data
    for part in fault["loc"]:
        if (isinstance(data, dict) and part in data) or (isinstance(data, tuple) and isinstance(part, int) and part < len(data)):
            path.append(part)
            data = data[part]
    what = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        what = f"key {fault['loc'][-1]} is unknown here" + _near_key(str(fault["loc"][-1]), error, fault["loc"])
    elif fault["type"] == "missing":
        what = f"key {fault['loc'][-1]} is missing"
    elif isinstance(fault.get("input"), str | int):
        what = f"{fault['input']!r}: {what[0].lower()}{what[1:]}"
    shown = ".".join(str(part) for part in path) or "top level"
    return f"{document.where(tuple(path))}: {shown}: {what}"


def _near_key(key: str, error: ValidationError, place: tuple[str | int, ...]) -> str:
    """Return `, did you mean ...?` when a key that is missing at the same place, or a frame key, looks alike."""
    missing = [
        str(item["loc"][-1]) for item in error.errors(include_url=False) if item["type"] == "missing" and item["loc"][:-1] == place[:-1]
    ]
    frame = ["aliases", "title", "status", "facts", "expect", "open", "sources", "random", "round", "overflow", "nan", "why"]
    near = difflib.get_close_matches(key, [*missing, *frame], n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else ": remove it"


def _check(model: SpecObject, document: Document) -> None:
    """Check what one file cannot know: names of other objects, sources, and that programs type-check."""
    for kind, name, path in model.references():
        try:
            target = get(kind, name)
        except SpecError as error:
            raise SpecError(str(error) if ".yaml:" in str(error) else f"{document.where(path)}: {error}") from None
        if target.id != name:
            raise SpecError(f"{document.where(path)}: {kind} {name!r} is an alias: write {target.id}")
    for number, source in enumerate(model.sources):
        if source.ref not in source_ids(tuple(_roots)):
            raise SpecError(f"{document.where(('sources', number, 'ref'))}: source {source.ref!r} is not in sources.yaml")
    from emu.spec.check import check_facts  # here, because the checks ask the registry for other objects

    check_facts(model, document)
