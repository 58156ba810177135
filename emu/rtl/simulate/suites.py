"""Golden suites of designs: made again from the spec into a work folder, with the constants that simulators read.

Not here: suites of a folder of golden vectors (portmap_suite).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emu.vectors.files.suite import Suite, load
from emu.vectors.files.write import write_suite
from emu.vectors.suites.plan import SuitePlan, find

FOLDER: Final = "golden"
_SCRATCH: Final = "building"


def golden(stem: str, work: Path) -> Suite:
    """Return the suite of a stem; as `built`. Raises: FileError (the spec plans no such suite), EngineError."""
    return built(find(stem), work)


def built(plan: SuitePlan, work: Path) -> Suite:
    """Return a suite, computed by the reference model and cross-checked; its files are left in a work folder and read there the next time.

    Raises: EngineError (implementations differ).
    """
    folder = work / FOLDER
    if not (folder / f"{plan.stem}.json").is_file():
        write_suite(plan, folder, work / _SCRATCH, lambda _: None)
    return load(folder, plan.stem)


def path_of(stem: str, work: Path) -> Path:
    """Return the path without ending of the files that `golden` or `built` leave in a work folder."""
    return work / FOLDER / stem
