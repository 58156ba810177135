"""Files that somebody else wrote: regular ones only, of bounded size, JSON of bounded depth. Not here: writing (atomic.py)."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.base.in_use import reads

MOST_TEXT: Final = 1 << 28  # bytes of a file that is read whole
_KINDS: Final = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def check_regular(path: str | os.PathLike[str], own: bool = False) -> int:
    """Return the size in bytes of a regular file, without opening it: a pipe or a device would wait for ever or never end.

    own: the command keeps this file and writes it anew; any other is an input, and no result of the command takes its place.
    Raises: FileError (a folder, a pipe, a socket, a device; a result of the command), OSError (missing, no permission).
    Tests: tests/base/test_base_inputs.py.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "a device")
        raise FileError(f"{os.fspath(path)}: is {kind}, no regular file: give a file, or copy the content to one first")
    if not own:
        reads(path)
    return found.st_size


def read_bytes(path: str | os.PathLike[str], most: int = MOST_TEXT, own: bool = False) -> bytes:
    """Return the bytes of a regular file. most: bytes that it may hold.   own: as check_regular.   Raises: as it; FileError (larger)."""
    size = check_regular(path, own)
    if size > most:
        raise FileError(f"{os.fspath(path)}: holds {size} bytes, more than the {most} that such a file may have")
    return Path(path).read_bytes()


def parse_json(text: str | bytes, once: bool = False) -> Any:
    """Return what a JSON text says. once: refuse an object that names a key twice, of which JSON keeps the last.

    Raises: ValueError for no JSON, also where it is nested too deeply or a number has too many digits.
    """
    try:
        return json.loads(text, object_pairs_hook=_once if once else None)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} is there twice")
    return found


def read_json(path: str | os.PathLike[str], encoding: str = "utf-8", own: bool = False) -> Any:
    """Return what a JSON file says. own: as check_regular.   Raises: as read_bytes; ValueError (no JSON, another encoding)."""
    return parse_json(read_bytes(path, own=own).decode(encoding))
