"""Which files a kernel under test is made of, as far as its text says. Nothing of it is imported or run."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path


def files_of(text: str) -> Iterator[Path]:
    """Yield the files that a target's text names: of a Python module with its packages, a C library, a program and its arguments.

    text: as emu.check.targets.named.parse_target takes it.   Tests: tests/files/test_files_in_use.py.
    """
    kind, _, rest = text.partition(":")
    if kind == "c":
        yield Path(rest.partition(":")[0])
    elif kind == "exec":
        with suppress(ValueError):  # an open quote: said later
            words = shlex.split(rest)
            yield from (Path(part) for word in words for part in (word, word.partition("=")[2]) if part)
            yield from (Path(found) for found in map(shutil.which, words[:1]) if found)
    elif kind != "foreign":
        where = (rest if kind == "py" else text).rpartition(":")[0]
        yield from [Path(where)] if where.endswith(".py") else _modules(where)


def _modules(name: str) -> Iterator[Path]:
    """Yield the file of a module and those of the packages that it lies in."""
    places: list[str] | None = ["", *sys.path]
    for part in filter(None, name.split(".")):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return
        if spec.origin is not None:
            yield Path(spec.origin)
        places = spec.submodule_search_locations and list(spec.submodule_search_locations)
