"""The files that one command reads: no result of it takes their place. Not here: opening them (inputs.py), writing (atomic.py)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from emu.base.errors import FileError

_Path: TypeAlias = str | os.PathLike[str]
_Key: TypeAlias = tuple[int, int] | str  # device and number of a file that is there, whatever its names are; the path of any


@dataclass
class _InUse:
    """What a running command reads, and what it writes over: key of a file -> how it was named.

    folders: gives folders of spec files, which are read; asked when it matters.
    """

    folders: Callable[[], Iterable[Path]]
    read: dict[_Key, str] = field(default_factory=dict)
    written: dict[_Key, str] = field(default_factory=dict)


_RUNNING: ContextVar[_InUse | None] = ContextVar("files in use by the command", default=None)


@contextmanager
def one_command(folders: Callable[[], Iterable[Path]] = tuple) -> Iterator[None]:
    """Keep a register of the files of one command while the block runs; outside of it nothing is kept and nothing refused.

    folders: gives folders whose .yaml files are read, all of them.   Tests: tests/files/test_files_in_use.py.
    """
    before = _RUNNING.set(_InUse(folders))
    try:
        yield
    finally:
        _RUNNING.reset(before)


def reads(path: _Path) -> None:
    """Say that the command, or a program that it starts, reads a file or a folder. Raises: FileError (it is one of the results)."""
    running = _RUNNING.get()
    if running is None:
        return
    for key in _keys(path):
        running.read.setdefault(key, os.fspath(path))
        if key in running.written:
            raise _refused(running.written[key], "is", os.fspath(path))


def writes(path: _Path) -> None:
    """Say that the command writes a file or a folder. Raises: FileError (it is, or holds, what the command reads)."""
    running = _RUNNING.get()
    if running is None:
        return
    there = os.path.lexists(path)
    if there:
        folders, running.folders = running.folders(), tuple
        for folder in folders:
            for file in folder.rglob("*.yaml"):
                reads(file)
    keys = _keys(path)
    inside = os.path.join(os.path.realpath(path), "")
    for key, name in running.read.items():
        if key in keys:
            raise _refused(os.fspath(path), "is", name)
        if isinstance(key, str) and key.startswith(inside):
            raise _refused(os.fspath(path), "holds", name)
    if there:  # what is new may be read back
        running.written.update(dict.fromkeys(keys, os.fspath(path)))


def check_apart(paths: Iterable[_Path]) -> None:
    """Refuse two results that have one name, however it is written. Raises: FileError."""
    known: set[_Key] = set()
    for path in paths:
        keys = _keys(path)
        if not known.isdisjoint(keys):
            raise FileError(f"{os.fspath(path)}: two results of this command have this name: name another file for one of them")
        known |= keys


def _keys(path: _Path) -> set[_Key]:
    """Return what a file is known by."""
    keys: set[_Key] = {os.path.realpath(path)}
    try:
        found = os.stat(path)
    except OSError:
        return keys
    return keys | {(found.st_dev, found.st_ino)}


def _refused(path: str, how: str, name: str) -> FileError:
    return FileError(f"{path}: {how} what is read{'' if path == name else f' ({name})'}: it is not written over, name another file")
