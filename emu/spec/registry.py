"""Finding spec objects by id or alias: the shipped folder, EMU_SPEC_PATH, and folders added by load_spec.

Files are read one at a time, when their id is asked for. Not here: the YAML rules (loader.py), the keys (models/).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from emu.base.errors import SpecError
from emu.spec.faults import first_fault
from emu.spec.loader import Document, read
from emu.spec.models import KINDS, SpecObject
from emu.spec.models.common import digest_json
from emu.spec.sources import source_ids

_loaded: dict[tuple[str, str], SpecObject] = {}
_documents: dict[tuple[str, str], Document] = {}
_paths: dict[str, dict[str, Path]] = {}
_aliases: dict[str, dict[str, str]] = {}
_digests: dict[tuple[str, str], str] = {}
_TABLES: Final[tuple[dict[Any, Any], ...]] = (_loaded, _documents, _paths, _aliases, _digests)
_roots: list[Path] = []
_pending: list[str] = []  # files whose base is being read


@lru_cache(maxsize=1)
def shipped_root() -> Path:
    """Return the folder of the shipped spec: inside the installed package, or the checkout's spec/ for an editable install."""
    packaged = Path(str(files("emu"))) / "_spec"
    return packaged if packaged.is_dir() else Path(str(files("emu"))).parent / "spec"


def _scan() -> None:
    """Fill the table of paths once: shipped files first, then EMU_SPEC_PATH."""
    if _paths:
        return
    _fill(shipped_root())
    try:
        for folder in filter(None, os.environ.get("EMU_SPEC_PATH", "").split(os.pathsep)):
            load_spec(folder)
    except SpecError as error:
        _paths.clear()
        _roots.clear()
        raise SpecError(f"EMU_SPEC_PATH: {error}") from None


def _fill(root: Path) -> None:
    for kind in KINDS:
        _paths[kind] = {path.stem: path for path in sorted((root / kind).glob("*.yaml"))}
    _roots.append(root)


@contextmanager
def isolated(root: Path) -> Iterator[None]:
    """Work on the spec below one folder alone: not the shipped one, not EMU_SPEC_PATH; at the end all is as before.

    root: holds a folder per kind and sources.yaml.   Not for use by several threads at once.
    """
    with restored():
        for table in _TABLES:
            table.clear()
        _roots.clear()
        _fill(root)
        yield


@contextmanager
def restored() -> Iterator[None]:
    """Take out at the end what load_spec adds inside. Not for use by several threads at once."""
    _scan()
    kept = [{key: dict(value) if isinstance(value, dict) else value for key, value in table.items()} for table in _TABLES]
    roots = list(_roots)
    try:
        yield
    finally:
        for table, before in zip(_TABLES, kept, strict=True):
            table.clear()
            table.update(before)
        _roots[:] = roots


@contextmanager
def replaced(model: SpecObject) -> Iterator[None]:
    """Work with another model under the id of a known object; all that names it is checked again, and at the end all is as before.

    model: its id must be known.   Raises: SpecError when it, or what names it, is refused.   Not for use by several threads at once.
    """
    key = (model.kind, model.id)
    before = get(*key)
    users = _users(key)
    digests = dict(_digests)
    _loaded[key] = model
    _digests.clear()
    try:
        for item in (key, *users):
            _check(_loaded[item], _documents[item])
        yield
    finally:
        _loaded[key] = before
        _digests.clear()
        _digests.update(digests)


def _users(key: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the known objects that name an object, directly or through others."""
    things = [get(kind, name) for kind in KINDS for name in names(kind)]
    names_of = {(thing.kind, thing.id): {(kind, name) for kind, name, _ in thing.references()} for thing in things}
    found: list[tuple[str, str]] = []
    news = {key}
    while news:
        news = {item for item, named in names_of.items() if named & news and item not in found and item != key}
        found += sorted(news)
    return found


def names(kind: str) -> tuple[str, ...]:
    """Return the ids of a kind, sorted.

    kind: a key of KINDS, such as format.   Raises: SpecError for another kind.
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
    if kind == "recipe":
        from emu.spec.family import family_line  # here, because it asks the registry for the members

        line = family_line(name)
        if line is not None:
            raise SpecError(f"recipe {name!r} {line}")
    close = difflib.get_close_matches(name, [*known, *aliases], n=3, cutoff=0.5)
    near = list(dict.fromkeys(aliases.get(item, item) for item in close))  # an alias is accepted, never printed
    raise SpecError(f"{kind} {name!r} is unknown: " + (f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(known)}"))


def _alias_table(kind: str) -> dict[str, str]:
    """Return alias -> id of every file of a kind (reads them all, once)."""
    if kind not in _aliases:
        table: dict[str, str] = {}
        for name in sorted(names(kind), key=lambda name: (_added_after(kind, name), name)):
            for number, alias in enumerate(get(kind, name).accepted):
                if alias in _paths[kind] and _added_after(kind, alias) > _added_after(kind, name):
                    where, other = _documents[kind, alias].where(("id",)), name
                    raise SpecError(f"{where}: id {alias!r} is an alias of {kind} {other}: rename yours")
                if alias in table or alias in _paths[kind]:
                    where = _documents[kind, name].where(("aliases", number))
                    raise SpecError(f"{where}: alias {alias!r} already names {kind} {table.get(alias, alias)}: remove it")
                table[alias] = name
        _aliases[kind] = table
    return _aliases[kind]


def _added_after(kind: str, name: str) -> int:
    """Return how many folders were there before the one that holds a file."""
    path = _paths[kind][name]
    return max((number for number, root in enumerate(_roots) if path.is_relative_to(root)), default=0)


def digest(thing: SpecObject) -> str:
    """Return the sha256 of an object's facts and of everything they refer to (no ids, titles, sources or witnesses of it)."""
    key = (thing.kind, thing.facts_digest)
    if key not in _digests:
        needed = {(kind, name): digest(get(kind, name)) for kind, name, _ in thing.references()}
        _digests[key] = digest_json([thing.facts_digest, sorted([kind, name, value] for (kind, name), value in needed.items())])
    return _digests[key]


def added_folders() -> tuple[str, ...]:
    """Return the folders of spec files beside the shipped one, for a process that is to know the same objects."""
    _scan()
    return tuple(str(root.resolve()) for root in _roots[1:])


def load_spec(folder: str | Path) -> tuple[str, ...]:
    """Add every spec file below a folder to the registry.

    folder: holds *.yaml files, in sub-folders per kind or flat; a sources.yaml adds sources.
    Returns: "kind/id" of what was added.
    Raises: SpecError (bad file; an id that is already known with other facts); nothing is added then.
    """
    _scan()
    root = Path(folder)
    if not root.is_dir():
        raise SpecError(f"{folder}: no such folder: give one with .yaml files")
    found: list[tuple[str, Path, Document]] = []
    for path in sorted(p for p in root.rglob("*.yaml") if p.name != "sources.yaml"):
        document = read(path)
        found.append((_kind_of(document, path), path, document))
    return _add(root, found)


def _kind_of(document: Document, path: Path) -> str:
    """Return the kind a file states. Raises: SpecError when it states none, or another than its folder's."""
    if not isinstance(document.data, dict):
        raise SpecError(f"{document.where(())}: the top level must be keys and values: kind, id, title, status, facts, sources")
    kind = document.data.get("kind")
    if "kind" not in document.data:
        raise SpecError(f"{document.where(())}: key kind is missing: one of {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        near = difflib.get_close_matches(str(kind), KINDS, n=1)
        raise SpecError(
            f"{document.where(('kind',))}: kind {kind!r} is unknown: "
            + (f"did you mean {near[0]}?" if near else f"one of {', '.join(KINDS)}")
        )
    if path.parent.name in KINDS and path.parent.name != kind:
        raise SpecError(f"{document.where(('kind',))}: kind {kind!r} lies in the folder {path.parent.name}: move the file or mend the kind")
    return kind


def _add(root: Path, found: list[tuple[str, Path, Document]]) -> tuple[str, ...]:
    """Register the files, then validate each; on any fault take all of them out again."""
    added: list[tuple[str, str]] = []
    _roots.append(root)
    try:
        for kind, path, document in found:
            known = _paths[kind].get(path.stem)
            if known is not None and known != path:
                other, mine = get(kind, path.stem), _validate(kind, _with_base(kind, document), path.stem)
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
    if _kind_of(document, path) != kind:
        raise SpecError(f"{document.where(('kind',))}: kind {document.data['kind']!r} where a {kind} is needed")
    document = _with_base(kind, document)
    model = _validate(kind, document, path.stem)
    _documents[kind, path.stem] = document
    _loaded[kind, path.stem] = model
    try:
        _check(model, document)
    except SpecError:
        del _loaded[kind, path.stem]
        raise
    return model


def _with_base(kind: str, document: Document) -> Document:
    """Return a document with the facts of the object it is based on filled in where it says nothing. Raises: SpecError (no such object)."""
    data = document.data
    if "based_on" not in KINDS[kind].model_fields or not isinstance(data.get("based_on"), str) or not isinstance(data.get("facts"), dict):
        return document
    base, where = data["based_on"], document.where(("based_on",))
    if base not in names(kind):
        near = difflib.get_close_matches(base, names(kind), n=1)
        raise SpecError(f"{where}: {kind} {base!r} is unknown: " + (f"did you mean {near[0]}?" if near else "see `emu list`"))
    if base == data.get("id") or document.file in _pending:
        raise SpecError(f"{where}: {base!r} is based on this file again: name another")
    _pending.append(document.file)
    try:
        get(kind, base)
    finally:
        _pending.pop()
    merged = _documents[kind, base].data["facts"]
    return Document(document.file, data | {"facts": _merged(merged, data["facts"])}, document.lines)


def _merged(base: Any, own: Any) -> Any:
    """Return own facts over those of the base: keys are merged at every depth, anything else is replaced."""
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return base | {key: _merged(base.get(key), value) for key, value in own.items()}


def _validate(kind: str, document: Document, stem: str) -> SpecObject:
    """Turn plain data into a model; the first fault as one line with file and line."""
    try:
        model = KINDS[kind].model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, KINDS[kind], document)) from None
    if model.id != stem:
        raise SpecError(f"{document.where(('id',))}: id {model.id!r} must equal the file name {stem!r}")
    return model


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
            near = difflib.get_close_matches(source.ref, source_ids(tuple(_roots)), n=1)
            hint = f"did you mean {near[0]}?" if near else "add it there"
            raise SpecError(f"{document.where(('sources', number, 'ref'))}: source {source.ref!r} is not in sources.yaml: {hint}")
    from emu.spec.checks.objects import check_facts  # here, because the checks ask the registry for other objects

    check_facts(model, document)
