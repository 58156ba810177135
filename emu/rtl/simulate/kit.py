"""Where the bench kit lies: benches, reference designs, readers and examples. Not here: running it (simulator.py)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.vectors.files.manifest import BENCH, OPERATIONS


@bounded(1)
def path() -> Path:
    """Return the folder of the kit: inside the installed package, or the checkout's vectors/bench for an editable install."""
    package = Path(str(files("emu")))
    packaged = package / "_bench"
    return packaged if packaged.is_dir() else package.parent / "vectors" / BENCH


def bench(op: str) -> Path:
    """Return the bench of an operation. Raises: FileError (no such operation, the kit is not there)."""
    if op not in OPERATIONS:
        raise FileError(f"{op}: no operation of vectors: {', '.join(OPERATIONS)}")
    file = path() / f"{op}.sv"
    if not file.is_file():
        raise FileError(f"{file}: the bench kit is not where it should be: install emu again")
    return file
