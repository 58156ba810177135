"""Golden suites of a unit: made again from the spec into a work folder, with the constants that simulators read."""

from __future__ import annotations

from pathlib import Path

from emu.vectors.plan import find
from emu.vectors.suite import Suite, load
from emu.vectors.write import write_suite


def golden(stem: str, work: Path) -> Suite:
    """Return a suite, computed by the oracle and cross-checked; its files are left in a folder.

    Raises: FileError (the spec plans no such suite), EngineError (implementations differ).
    """
    folder = work / "suites"
    if not (folder / f"{stem}.json").is_file():
        write_suite(find(stem), folder, work, lambda rows: None)
    return load(folder, stem)
