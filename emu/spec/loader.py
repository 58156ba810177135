"""Strict YAML reading: one walk over parser events to plain data plus the line of every node.

Not here: what the keys mean (models/), which ids exist (registry.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import yaml

from emu.errors import SpecError

Path: TypeAlias = tuple[str | int, ...]

_KEY = re.compile(r"[a-z_][a-z0-9_]*\Z")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_PARSERS: tuple[Any, ...] = tuple(getattr(yaml, name) for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name))


class Document:
    """Plain data of one YAML file and the line of each node.

    data: dicts, tuples, str and int only.   lines: path of keys and indices -> 1-based line.
    """

    def __init__(self, file: str, data: Any, lines: dict[Path, int]) -> None:
        self.file = file
        self.data = data
        self.lines = lines

    def where(self, path: Path) -> str:
        """Return `file:line` of the deepest node on `path` that exists in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"


class _Walk:
    """One pass over the events of one document; each method consumes the events of one node."""

    def __init__(self, text: str, file: str, parser: Any) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.events: Iterator[Any] = yaml.parse(text, Loader=parser)

    def fail(self, event: Any, why: str) -> SpecError:
        return SpecError(f"{self.file}:{event.start_mark.line + 1}: {why}")

    def node(self, event: Any, path: Path) -> Any:
        self.lines[path] = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.fail(event, "anchors and aliases are not allowed: write the value out")
        if getattr(event, "tag", None):
            raise self.fail(event, f"tag {event.tag} is not allowed: remove it")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        return self.scalar(event)

    def mapping(self, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.style or not _KEY.match(event.value):
                raise self.fail(event, f"a key must be a bare word of a-z, 0-9 and _, not {getattr(event, 'value', 'a collection')!r}")
            if event.value in out:
                raise self.fail(event, f"key {event.value} appears twice: keep one")
            self.lines[(*path, event.value)] = event.start_mark.line + 1
            out[event.value] = self.node(next(self.events), (*path, event.value))
        return out

    def sequence(self, path: Path) -> tuple[Any, ...]:
        out: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            out.append(self.node(event, (*path, len(out))))
        return tuple(out)

    def scalar(self, event: Any) -> str | int:
        if event.style == '"':
            return str(event.value)
        if event.style:
            raise self.fail(event, "write strings in double quotes on one line")
        if not _INTEGER.match(event.value):
            raise self.fail(event, f'bare {event.value!r} is ambiguous in YAML: write "{event.value}" in double quotes')
        return int(event.value)


def parse(text: str, file: str, parser: Any = _PARSERS[0]) -> Document:
    """Parse the text of one spec file under the strict rules.

    text: the file's content.   file: its name, for messages.   parser: a PyYAML loader class (C or Python: same result).
    Raises: SpecError with file and line (duplicate keys, bare scalars other than decimal integers, anchors, tags, tabs, several documents).
    """
    for number, line in enumerate(text.splitlines(), 1):
        if "\t" in line:
            raise SpecError(f"{file}:{number}: a tab character: indent with spaces")
    walk = _Walk(text, file, parser)
    try:
        for event in walk.events:
            if isinstance(event, yaml.DocumentStartEvent):
                break
        else:
            raise SpecError(f"{file}:1: the file is empty: write one object with kind, id, title, status, facts, sources")
        data = walk.node(next(walk.events), ())
        next(walk.events)
        event = next(walk.events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise walk.fail(event, "a second document: one object per file")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SpecError(f"{file}:{mark.line + 1 if mark else 1}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"{file}:1: not YAML: {' '.join(str(error).split())}") from None
    return Document(file, data, walk.lines)


def read(path: FilePath, name: str | None = None) -> Document:
    """Read and parse one file; errors name `name` or the path."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{name or path}: cannot read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    return parse(text, name or str(path))
