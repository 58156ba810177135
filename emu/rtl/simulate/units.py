"""Units of the reference designs: `rtl/units.yaml` of the kit as data; and the golden suites that judge them.

Not here: running them (simulator.py), suites of a folder of golden vectors (portmap/suite.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import FileError
from emu.spec.loader import Document, read
from emu.vectors.files.suite import Suite, load
from emu.vectors.files.write import write_suite
from emu.vectors.suites.plan import SuitePlan, find

KEYS: Final = ("text", "wrapper", "files", "defines", "suites")


class Unit(NamedTuple):
    """One design. wrapper, files: paths that exist.   defines: macro -> value.   suites: stems, the main directed suite first; none
    for a part that no suite drives alone (a product, a group sum): it is proven over all its inputs or formally."""

    id: str
    text: str
    wrapper: Path
    files: tuple[Path, ...]
    defines: dict[str, int]
    suites: tuple[str, ...]

    @property
    def sources(self) -> tuple[Path, ...]:
        """Every file of the design, the wrapper last."""
        return (*self.files, self.wrapper)


def read_units(kit: Path) -> dict[str, Unit]:
    """Return the units of a kit by id, in the order of the file.

    kit: folder of the kit.   Raises: SpecError (bad YAML), FileError (a key is missing or unknown, a file is not there).
    """
    path = kit / "rtl" / "units.yaml"
    document = read(path)
    data = document.data
    if not isinstance(data, dict) or set(data) != {"units"} or not isinstance(data["units"], dict):
        raise FileError(f"{path}: one key `units` with a unit below each id is expected")
    return {name: _unit(kit, document, name, entry) for name, entry in data["units"].items()}


def _unit(kit: Path, document: Document, name: str, entry: Any) -> Unit:
    where = document.where(("units", name))
    if not isinstance(entry, dict) or set(entry) != set(KEYS):
        raise FileError(f"{where}: a unit has the keys {', '.join(KEYS)}")
    if not isinstance(entry["defines"], dict) or not all(isinstance(value, int) for value in entry["defines"].values()):
        raise FileError(f"{where}: defines are whole numbers")
    files = tuple(kit / file for file in (*entry["files"], entry["wrapper"]))
    for file in files:
        if not file.is_file():
            raise FileError(f"{where}: {file} is not there")
    if not isinstance(entry["suites"], tuple):
        raise FileError(f"{where}: suites is a list of stems, empty for a part that no suite drives alone")
    defines = {macro.upper(): value for macro, value in entry["defines"].items()}
    return Unit(name, entry["text"], files[-1], files[:-1], defines, tuple(entry["suites"]))


# Golden suites of designs: made again from the spec into a work folder, with the constants that simulators read.


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
        write_suite(plan, folder, work / _SCRATCH)
    return load(folder, plan.stem)


def path_of(stem: str, work: Path) -> Path:
    """Return the path without ending of the files that `golden` or `built` leave in a work folder."""
    return work / FOLDER / stem
