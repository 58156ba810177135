"""Size and depth of the reference designs in simple gates, by yosys; and the record. Not here: what to count (cost.yaml), real cells.

A part is synthesised once for each choice of operands, all in one run with one tool, so the numbers of a part can be compared with each
other. They are no area and no delay: no cell library, no wires, no placement.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError, OperandError
from emu.files.record import Record, opens
from emu.rtl.export import yosys
from emu.rtl.simulate.units import Unit, read_units
from emu.spec.loader import read
from emu.spec.models.common import digest_json
from research.cost.table import table_module

COMMAND: Final = "python -m research cost --out docs/evidence/hardware_cost.json --force"
RECORD: Final = "docs/evidence/hardware_cost.json"
SECONDS: Final = 900
FLIP_FLOP: Final = "dff_p"


class Task(NamedTuple):
    """One design to synthesise. table: from its truth table instead of its sources.   top: its module.   cells: library -> all, area.
    gates: count simple gates, too.
    """

    part: str
    operands: str
    unit: Unit
    top: str = "dut"
    table: bool = False
    cells: Mapping[str, str] = MappingProxyType({})
    gates: bool = True

    @property
    def name(self) -> str:
        """Part and operands."""
        return f"{self.part} {self.operands}"


class Count(NamedTuple):
    """What one design takes. cells: gate -> how many.   flip_flops: counted apart.   depth: gates on the longest path between registers."""

    cells: dict[str, int]
    flip_flops: int
    depth: int


def rules() -> dict[str, Any]:
    """Return cost.yaml: gates, flow, parts. Raises: SpecError."""
    return dict(read(Path(__file__).with_name("cost.yaml"), "cost.yaml").data)


def tasks(kit: Path, parts: Sequence[str] = ()) -> list[Task]:
    """Return what is to be synthesised. parts: only these; all where none is named. Raises: OperandError (an unknown part), FileError."""
    known, units = rules()["parts"], _units(kit)
    for part in parts:
        if part not in known:
            raise OperandError(f"{part}: no part of cost.yaml: {', '.join(known)}")
    return [
        Task(part, operands, *units[unit], entry.get("table") == "yes", entry.get("cells", {}), entry.get("gates") != "no")
        for part, entry in known.items()
        if not parts or part in parts
        for operands, unit in entry["units"].items()
    ]


def _units(kit: Path) -> dict[str, tuple[Unit, str]]:
    """Return the units of the kit and those of cost.yaml, each with its module."""
    found = {name: (unit, "dut") for name, unit in read_units(kit).items()}
    own = Path(__file__).with_name("rtl")
    for name, entry in rules()["units"].items():
        if "base" in entry:
            base = found[entry["base"]][0]
            defines = base.defines | {key.upper(): value for key, value in entry["defines"].items()}
            found[name] = (base._replace(id=name, defines=defines), "dut")
        else:
            files = [kit / file if "/" in file else own / f"{file}.sv" for file in entry["files"]]
            found[name] = (Unit(name, name, files[-1], tuple(files[:-1]), {}, ()), entry["top"])
    return found


def reading(task: Task, work: Path) -> list[str]:
    """Return the yosys commands that read a design and make it logic of simple operators. work: a folder for a truth table."""
    source = work / "table.sv"
    if task.table:
        source.write_text(table_module(task.unit), encoding="ascii")
    paths = [source] if task.table else list(task.unit.sources)
    macros = "" if task.table else " ".join(f"-D{name}={value}" for name, value in task.unit.defines.items())
    names = " ".join(f'"{path.resolve()}"' for path in paths)
    return [f"read_verilog -sv {macros} {names}", *(line.replace("{top}", task.top) for line in rules()["synth"])]


def measure(task: Task, work: Path) -> Count:
    """Synthesise one design in a folder. Raises: ToolError (no yosys), EngineError (it refuses, or leaves a gate that is not listed)."""
    script = [*reading(task, work), *rules()["flow"], *rules()["join"], "ltp -noff", "write_json netlist.json"]
    try:
        log = yosys.run_yosys(script, work, SECONDS)
    except TimeoutError as error:
        raise EngineError(f"{task.name}: {error}") from None
    cells = json.loads((work / "netlist.json").read_text(encoding="utf-8"))["modules"][task.top]["cells"]
    return _count(Counter(cell["type"].strip("$_").lower() for cell in cells.values()), log, task)


def _count(cells: Counter[str], log: str, task: Task) -> Count:
    flip_flops = cells.pop(FLIP_FLOP, 0)
    strange = sorted(set(cells) - set(rules()["gates"]))
    found = re.findall(r"^Longest topological path in \S+ \(length=(\d+)\)", log, re.MULTILINE)
    if strange or len(found) != 1:
        raise EngineError(f"{task.part} {task.operands}: yosys left {', '.join(strange) or 'no length of the longest path'}")
    return Count(dict(sorted(cells.items())), flip_flops, int(found[0]))


def transistors(cells: Mapping[str, int], gates: Mapping[str, int]) -> int:
    """Return the transistors of the gates of a design."""
    return sum(count * gates[gate] for gate, count in cells.items())


def sources_sha256(task: Task) -> str:
    """Return the digest of the files and macros of a design, comments and blanks left out; of its truth table where that is synthesised."""
    if task.table:
        return sha256(table_module(task.unit).encode("ascii")).hexdigest()
    words = [" ".join(re.sub(r"//.*", "", path.read_text(encoding="ascii")).split()) for path in task.unit.sources]
    return digest_json([task.unit.defines, words])


def version(work: Path) -> str:
    """Return name and number of yosys. work: a folder for its script. Raises: ToolError."""
    yosys.run_yosys(["write_json version.json"], work)
    return " ".join(json.loads((work / "version.json").read_text(encoding="utf-8"))["creator"].split()[:2])


def run(kit: Path, parts: Sequence[str], work: Path, tick: Callable[[str], None]) -> dict[str, Any]:
    """Synthesise the parts and return the record. tick: called with the name of each design. Raises: as tasks, measure."""
    record: dict[str, Any] = {"command": COMMAND, "yosys": version(work), "rules_sha256": digest_json(rules()), "designs": []}
    for number, task in enumerate(task for task in tasks(kit, parts) if task.gates):
        tick(task.name)
        folder = work / str(number)
        folder.mkdir(parents=True)
        count = measure(task, folder)
        record["designs"].append(
            {
                "part": task.part,
                "operands": task.operands,
                "unit": task.unit.id,
                "cells": count.cells,
                "flip_flops": count.flip_flops,
                "transistors": transistors(count.cells, rules()["gates"]),
                "depth": count.depth,
                "sources_sha256": sources_sha256(task),
            }
        )
    return record


def _check(data: Mapping[str, Any]) -> None:
    if not all(design["cells"] and design["depth"] > 0 for design in data["designs"]) or not data["yosys"]:
        raise ValueError("a design without gates or depth")
    if not all(line["points"] for line in data["area"]) or not data["energy"]:
        raise ValueError("a design without area and delay, or no switched capacitance")


KIND: Final = Record(
    "record of hardware cost", f"run {COMMAND}", opens("designs"), ("designs", "yosys", "area", "energy"), indent=0, check=_check
)
read_record, as_text = KIND.read, KIND.text


def stale(record: Mapping[str, Any], kit: Path) -> list[str]:
    """Return what a record was made from that is otherwise now: rules, sources, designs; empty when it still fits."""
    return list(_stale(record, kit))


def _stale(record: Mapping[str, Any], kit: Path) -> Iterator[str]:
    if record["rules_sha256"] != digest_json(rules()):
        yield "cost.yaml"
    made = {_key(line): line["sources_sha256"] for line in (*record["designs"], *record["area"])}
    wanted: dict[tuple[str, str], str] = {}
    for task in tasks(kit):
        kinds = ("gates",) * task.gates + tuple(task.cells)
        wanted |= dict.fromkeys(((task.name, kind) for kind in kinds), sources_sha256(task))
    yield from dict.fromkeys(name for name, kind in {**wanted, **made} if made.get((name, kind)) != wanted.get((name, kind)))
    gates = rules()["gates"]
    yield from (_key(design)[0] for design in record["designs"] if design["transistors"] != transistors(design["cells"], gates))


def _key(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return name of a design, and the library that it was mapped to."""
    return f"{line['part']} {line['operands']}", line.get("library", "gates")
