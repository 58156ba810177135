"""In every process of a recorded run of the tests, begun by its `sitecustomize`: sources of the rooms are loaded with their marks.

A mark sets one byte of a file that all processes of one test map: threads, forks and programs that tests start are seen alike. This file
is copied away and imports nothing of the clone. Not here: which marks there are (reach.py), whose a byte is (recorder.py).
"""

from __future__ import annotations

import builtins
import marshal
import mmap
import os
from importlib.machinery import SourceFileLoader
from types import CodeType

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


def load_marked() -> None:
    """Make Python's loader take code with marks where there is any."""
    codes, right = os.path.join(os.environ[FOLDER], "code"), SourceFileLoader.get_code
    with open(os.path.join(os.environ[FOLDER], "root"), encoding="utf-8") as file:
        root = file.read() + os.sep

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if path.startswith(root):
            marked = os.path.join(codes, path[len(root) :].replace(os.sep, "%"))
            if os.path.exists(marked):
                with open(marked, "rb") as file:
                    return marshal.load(file)  # type: ignore[no-any-return]
        return right(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]
