"""In every process of a recorded run of the tests, begun by its `sitecustomize`: sources of the rooms are loaded with their marks.

A mark sets one byte of a file that all processes of one test map: threads, forks and programs that tests start are seen alike. This file
is copied away and imports nothing of the clone. Not here: which marks there are (reach.py), whose a byte is (recorder.py).
"""

from __future__ import annotations

import builtins
import json
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

FOLDER, HITS = "EMU_BLIND_FOLDER", "EMU_BLIND_HITS"  # where code with marks lies; the file of the bytes
NAME = "__emu_reached__"


def begin() -> None:
    """Map the file that HITS names, or a new array where none is named yet."""
    folder = os.environ[FOLDER]
    path, size = os.environ.get(HITS), os.path.getsize(os.path.join(folder, "none"))
    if path is None:
        setattr(builtins, NAME, bytearray(size))
        return
    handle = os.open(path, os.O_RDWR)
    setattr(builtins, NAME, mmap.mmap(handle, size))
    os.close(handle)


class Marked(SourceFileLoader):
    """Loads the code with marks of a file that has it."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code with marks."""
        with open(Finder.code_of(self.path), "rb") as file:
            return marshal.load(file)  # type: ignore[no-any-return]


class Finder(PathFinder):
    """Finds what has code with marks. root: of the clone."""

    folder = root = ""

    @classmethod
    def code_of(cls, path: str) -> str:
        """Return where the code with marks of a file lies, if there is any."""
        return os.path.join(cls.folder, "code", path.removeprefix(cls.root + os.sep).replace(os.sep, "%"))

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the place of a module that has code with marks; None for every other."""
        spec = super().find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not os.path.exists(cls.code_of(spec.origin)):
            return None
        spec.loader = Marked(fullname, spec.origin)
        return spec


def load_marked() -> None:
    """Make Python take code with marks where there is any, before it looks elsewhere: pytest has a loader of its own."""
    Finder.folder = os.environ[FOLDER]
    with open(os.path.join(Finder.folder, "root"), encoding="utf-8") as file:
        Finder.root = file.read()
    sys.meta_path[:] = [Finder, *(each for each in sys.meta_path if each is not Finder)]


def done(folder: Path) -> dict[str, tuple[float, int]]:
    """Return test -> seconds and what it reached, bit N for mark N, of all that is recorded in a folder."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):  # else the run was stopped there
                entry = json.loads(line)
                found[entry["test"]] = (entry["seconds"], int(entry["reached"], 16))
    return found
