"""Strict YAML reading: one walk over parser events to plain data plus the line of every node.

Not here: what the keys mean (models/), which ids exist (registry.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import yaml

from emu.base.errors import SpecError
from emu.base.text import UNSEEN

Path: TypeAlias = tuple[str | int, ...]

_KEY = re.compile(r"[a-z_][a-z0-9_]*\Z")
_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")
_FOREIGN = re.compile("[^\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_HIDDEN = re.compile(f"[{UNSEEN}]")
_DEEPEST = 24
_LARGEST = 4 << 20  # bytes of a file
_LONGEST = {"string": 1 << 16, "list": 4096}  # characters, entries; the longest of the shipped spec are about a tenth of that
PARSERS: tuple[Any, ...] = tuple(getattr(yaml, name) for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name))


def shortened(text: str) -> str:
    """Return a text for a message: one that is long with its middle left out."""
    return text if len(text) <= 60 else f"{text[:40]}...{text[-10:]}"


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


def fault(document: Document, path: Path, why: str) -> SpecError:
    """Return the error that says what is wrong at a place of a file."""
    return SpecError(f"{document.where(path)}: {'.'.join(str(part) for part in path)}: {why}")


def placed(error: SpecError, document: Document, path: Path) -> SpecError:
    """Return an error that names a file: itself, or with this place put before it."""
    return error if ".yaml:" in str(error) else fault(document, path, str(error))


class _Walk:
    """One pass over the events of one document; each method consumes the events of one node."""

    def __init__(self, text: str, file: str, parser: Any) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.events: Iterator[Any] = yaml.parse(text, Loader=parser)

    def line(self, event: Any) -> int:
        return int(event.start_mark.line) + 1

    def fail(self, event: Any, why: str) -> SpecError:
        return SpecError(f"{self.file}:{self.line(event)}: {why}")

    def node(self, event: Any, path: Path) -> Any:
        self.lines[path] = self.line(event)
        self.refuse_marks(event)
        if len(path) > _DEEPEST:
            raise self.fail(event, f"nested more than {_DEEPEST} deep: no spec object is")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path)
        return self.scalar(event)

    def refuse_marks(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.fail(event, "anchors and aliases are not allowed: write the value out")
        if getattr(event, "tag", None):
            raise self.fail(event, f"tag {event.tag} is not allowed: remove it")

    def mapping(self, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            self.refuse_marks(event)
            line = self.line(event)
            word = event.value if isinstance(event, yaml.ScalarEvent) else "a collection"
            if word == "<<":
                raise self.fail(event, "merge keys (<<) are not allowed: write the keys out")
            if not isinstance(event, yaml.ScalarEvent) or event.style or not _KEY.match(word):
                raise self.fail(event, f"a key must be a bare word of a-z, 0-9 and _, not {word!r}")
            if word in out:
                raise self.fail(event, f"key {word} appears twice (first on line {self.lines[(*path, word)]}): keep one")
            out[word] = self.node(next(self.events), (*path, word))
            self.lines[(*path, word)] = line
        return out

    def sequence(self, path: Path) -> tuple[Any, ...]:
        out: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            if len(out) == _LONGEST["list"]:
                raise self.fail(event, f"a list of more than {_LONGEST['list']} entries: no spec object needs one")
            out.append(self.node(event, (*path, len(out))))
        return tuple(out)

    def scalar(self, event: Any) -> str | int:
        if event.style in ("'", "|", ">") or (event.style and event.start_mark.line != event.end_mark.line):
            raise self.fail(event, "write strings in double quotes on one line")
        if len(event.value) > _LONGEST["string"]:
            raise self.fail(event, f"a value of {len(event.value)} characters: at most {_LONGEST['string']} are read")
        if event.style:
            return str(event.value)
        if not event.value:
            raise self.fail(event, "a value is missing: write one after the key or the dash")
        if not _INTEGER.match(event.value):
            raise self.fail(event, f'bare {shortened(event.value)} is ambiguous in YAML: write "{shortened(event.value)}" in double quotes')
        return int(event.value)


def parse(text: str, file: str, parser: Any = None) -> Document:
    """Parse the text of one spec file under the strict rules.

    text: the file's content.   file: its name, for messages.
    parser: a PyYAML loader class (C or Python: same result); None: the C one where it is there.
    Raises: SpecError with file and line (duplicate keys, bare scalars other than decimal integers, anchors, tags, tabs, several documents).
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    _check_characters(text, file)
    walk = _Walk(text, file, parser or PARSERS[0])
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
        raise _syntax_fault(text, file, error) from None
    return Document(file, data, walk.lines)


def _check_characters(text: str, file: str) -> None:
    """Refuse what the two parsers treat differently: tabs, control characters, escapes, directives; and what nobody sees."""
    found = _FOREIGN.search(text) or _HIDDEN.search(text) or re.search(r"\\|^%", text, re.MULTILINE)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        known = {
            "\t": "a tab character: indent with spaces",
            "\\": "a backslash: write the character itself",
            "%": "a directive: remove it",
        }
        raise SpecError(f"{file}:{line}: " + known.get(found[0], f"control character U+{ord(found[0]):04X}: remove it"))


def _syntax_fault(text: str, file: str, error: yaml.MarkedYAMLError) -> SpecError:
    """Word a syntax error the same whichever parser met it: as the Python one does, where it meets one."""
    try:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as same:
        error = same
    mark = error.problem_mark or error.context_mark
    return SpecError(f"{file}:{mark.line + 1 if mark else 1}: not YAML: {error.problem or error.context}")


def read(path: FilePath, name: str | None = None) -> Document:
    """Read and parse one file; errors name `name` or the path."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise SpecError(f"{name or path}: is no regular file: give a file of YAML text")
        if path.stat().st_size > _LARGEST:
            raise SpecError(f"{name or path}: is larger than {_LARGEST} bytes: no spec object is")
        data = path.read_bytes()
        return parse(data.decode("utf-8"), name or str(path))
    except OSError as error:
        raise SpecError(f"{name or path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{name or path}:{line}: byte 0x{data[error.start]:02X} is not UTF-8 text: save the file as UTF-8") from None
