"""What a registry knows, and one file on the way there: its kind, the facts of its base, its model.

Not here: finding and checking (registry.py).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationError

from emu.base.caches import bounded
from emu.base.errors import SpecError
from emu.spec.faults import first_fault
from emu.spec.loader import Document, Path, read
from emu.spec.models import KINDS, SpecObject
from emu.spec.models.common import Id, Part

Key: TypeAlias = tuple[str, str]  # kind and id


@dataclass
class Known:
    """What a registry knows. Tables only grow while it is in use: anything else makes a copy, and puts that in its place."""

    folders: tuple[FilePath, ...] = ()
    paths: dict[str, dict[str, FilePath]] = field(default_factory=dict)
    models: dict[Key, SpecObject] = field(default_factory=dict)  # checked
    documents: dict[Key, Document] = field(default_factory=dict)
    aliases: dict[str, dict[str, str]] = field(default_factory=dict)
    digests: dict[Key, str] = field(default_factory=dict)
    broken: dict[FilePath, str] = field(default_factory=dict)  # files that were left out, and what is wrong with each

    @classmethod
    def of(cls, root: FilePath) -> Known:
        """Return what the files of one folder are, none of them read yet."""
        return cls((root,), {kind: {path.stem: path for path in sorted((root / kind).glob("*.yaml"))} for kind in KINDS})

    def copy(self) -> Known:
        """Return a copy whose tables can be changed, or dropped, without a trace."""
        paths = {kind: dict(table) for kind, table in self.paths.items()}
        tables = dict(self.models), dict(self.documents), dict(self.aliases), dict(self.digests), dict(self.broken)
        return Known(self.folders, paths, *tables)

    def forget(self, key: Key) -> None:
        """Take an object out of the tables."""
        self.paths[key[0]].pop(key[1], None)
        for table in (self.models, self.documents):
            table.pop(key, None)
        self.aliases.clear()


@bounded(1)
def shipped_root() -> FilePath:
    """Return the folder of the shipped spec: inside the installed package, or the checkout's spec/ for an editable install."""
    packaged = FilePath(str(files("emu"))) / "_spec"
    return packaged if packaged.is_dir() else FilePath(str(files("emu"))).parent / "spec"


def kind_of(document: Document, path: FilePath) -> str:
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


def base_of(kind: str, document: Document) -> str | None:
    """Return the id that a file says it is based on; None where its kind has no such key, or the file is not yet fit to have a base."""
    if "based_on" not in KINDS[kind].model_fields or not isinstance(document.data.get("facts"), dict):
        return None
    base = document.data.get("based_on")
    return base if isinstance(base, str) else None


def with_base(document: Document, base: Any) -> Document:
    """Return a document with the facts of the file it is based on where it says nothing; lines are those of the document itself."""
    lines = {_merged_path(path, base, document.data["facts"]): line for path, line in document.lines.items()}
    return Document(document.file, document.data | {"facts": merged_facts(base, document.data["facts"])}, lines)


def merged_facts(base: Any, own: Any) -> Any:
    """Return own facts over those of the base: keys are merged at every depth, anything else is replaced.

    Of a list whose items have an id, own items change those of the same id; where one is new, the own list stands alone.
    """
    if _changes_by_id(base, own):
        changes = {item["id"]: item for item in own}
        return tuple(merged_facts(item, changes.get(item["id"], {})) for item in base)
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return base | {key: merged_facts(base.get(key), value) for key, value in own.items()}


def _changes_by_id(base: Any, own: Any) -> bool:
    """Do the items of a list, all with ids, change items of the base."""
    if not isinstance(base, tuple) or not isinstance(own, tuple) or not own:
        return False
    ids, own_ids = ([item.get("id") if isinstance(item, dict) else None for item in items] for items in (base, own))
    return all(isinstance(name, str) and name in ids and own_ids.count(name) == 1 for name in own_ids)


def _merged_path(path: Path, base: Any, own: Any) -> Path:
    """Return where a node of own facts lies among the merged ones."""
    out = list(path)
    for depth, part in enumerate(path[1:] if path[:1] == ("facts",) else (), 1):
        by_id = _changes_by_id(base, own)
        if by_id:
            out[depth] = [item["id"] for item in base].index(own[part]["id"])
        base = base[out[depth]] if by_id else base.get(part) if isinstance(base, dict) else None
        own = own[part]
    return tuple(out)


def validate(kind: str, document: Document, stem: str) -> SpecObject:
    """Turn plain data into a model; the first fault as one line with file and line."""
    try:
        model = KINDS[kind].model_validate(document.data)
    except ValidationError as error:
        raise SpecError(first_fault(error, KINDS[kind], document)) from None
    if model.id != stem:
        raise SpecError(f"{document.where(('id',))}: id {model.id!r} must equal the file name {stem!r}")
    return model


# The list of documents and code bases that facts came from: spec/sources.yaml, and a sources.yaml in a user's folder.


class SourceEntry(Part):
    """One document or code base."""

    id: Id = Field(description="the name used in `ref`")
    title: str = Field(description="title as published")
    kind: Literal["standard", "vendor", "paper", "code", "thread", "project"] = Field(description="what it is")
    url: str = Field(description="public address, or a package and version; empty for this project itself")
    version: str = Field(description="revision, commit or date that was read")
    read: Literal["text", "code", "run", "abstract", "quoted"] = Field(
        description="what was really looked at; quoted: only what others cite of it"
    )


def load_sources(root: FilePath) -> tuple[SourceEntry, ...]:
    """Return the entries of root/sources.yaml; nothing when there is no such file. Raises: SpecError with file and line."""
    path = root / "sources.yaml"
    return _read_sources(path, path.stat().st_mtime_ns) if path.is_file() else ()


@bounded(16)
def _read_sources(path: FilePath, _changed: int) -> tuple[SourceEntry, ...]:
    document = read(path)
    if not isinstance(document.data, tuple):
        raise SpecError(f"{document.where(())}: the top level must be a list of sources: - {{id, title, kind, url, version, read}}")
    entries: dict[str, SourceEntry] = {}
    for number, item in enumerate(document.data):
        try:
            entry = SourceEntry.model_validate(item)
        except ValidationError as error:
            raise SpecError(first_fault(error, SourceEntry, document, (number,))) from None
        if entry.id in entries:
            raise SpecError(f"{document.where((number, 'id'))}: id {entry.id!r} appears twice: keep one")
        entries[entry.id] = entry
    return tuple(entries.values())


def source_ids(roots: tuple[FilePath, ...]) -> frozenset[str]:
    """Return the source ids of several folders together."""
    return frozenset(entry.id for root in roots for entry in load_sources(root))
