"""The list of documents and code bases that facts came from: spec/sources.yaml, and a sources.yaml in a user's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from emu.base.caches import bounded
from emu.base.errors import SpecError
from emu.spec.faults import first_fault
from emu.spec.loader import read
from emu.spec.models.common import Id, Part


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


def load_sources(root: Path) -> tuple[SourceEntry, ...]:
    """Return the entries of root/sources.yaml; nothing when there is no such file. Raises: SpecError with file and line."""
    path = root / "sources.yaml"
    return _read_sources(path, path.stat().st_mtime_ns) if path.is_file() else ()


@bounded(16)
def _read_sources(path: Path, _changed: int) -> tuple[SourceEntry, ...]:
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


def source_ids(roots: tuple[Path, ...]) -> frozenset[str]:
    """Return the source ids of several folders together."""
    return frozenset(entry.id for root in roots for entry in load_sources(root))
