"""Designs in the cells of a real library, mapped by yosys and abc and sized for a delay target. Not here: toggles (toggles.py)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError
from emu.rtl.export import yosys
from research.cost.liberty import Library
from research.cost.measure import SECONDS, Task, reading, rules

_NO_PORT: Final = "delete -port w:clk w:rst w:in_valid w:out_valid"  # of a test bench
_BLIF: Final = "write_blif -gates -noalias -false - zero -true - one -undef - zero -buf BUFX2 A Y"
_STIME: Final = re.compile(r"Area\s*=\s*([\d.]+).*?Delay\s*=\s*([\d.]+)\s*ps")
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


class Point(NamedTuple):
    """One netlist of a design. area: square micrometres.   delay: picoseconds through the slowest path, no wires."""

    mapping: str
    target: int
    area: float
    delay: float


def map_cells(task: Task, library: Library, work: Path, every: bool = True) -> list[str]:
    """Map a design in each way of cost.yaml; leaves MAPPING.blif and MAPPING.json in the folder and returns the mappings.

    every: False: only the first way.

    Raises: ToolError (no yosys), EngineError (it refuses, or takes too long).
    """
    script = [*reading(task, work), _NO_PORT, "opt_clean", "design -save logic"]
    mappings: dict[str, Any] = rules()["mappings"]
    chosen = list(mappings)[: None if every else 1]
    for name in chosen:
        (work / f"{name}.abc").write_text("\n".join(mappings[name]) + "\n", encoding="ascii")
        script += ["design -load logic", f'abc -liberty "{library.path}" -script {name}.abc', *rules()["join"]]
        script += [f"{_BLIF} {name}.blif", f"write_json {name}.json"]
    try:
        yosys.run_yosys(script, work, SECONDS)
    except TimeoutError as error:
        raise EngineError(f"{task.name}: {error}") from None
    return chosen


def sized(mapping: str, target: int, library: Library, work: Path) -> Point:
    """Size the cells of a mapped netlist for a delay target and measure it. Raises: ToolError, EngineError (abc says no area)."""
    commands = [line.replace("{target}", str(target)) for line in rules()["sizing"]]
    log = _COLOUR.sub("", yosys.run_abc([f"read_lib -w {library.path}", f"read_blif {mapping}.blif", *commands], work, SECONDS))
    found = _STIME.findall(log)
    if not found:
        raise EngineError(f"{work / mapping}.blif: abc gives no area and delay")
    return Point(mapping, target, float(found[-1][0]), float(found[-1][1]))


def points(task: Task, library: Library, work: Path, every: bool = True) -> list[Point]:
    """Return every netlist of a design: each mapping sized for each target. every: False: only the first. Raises: as map_cells, sized."""
    targets = rules()["targets"][: None if every else 1]
    return [sized(name, target, library, work) for name in map_cells(task, library, work, every) for target in targets]
