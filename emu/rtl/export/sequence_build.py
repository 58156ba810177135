"""A design, its environment and the comparison as one graph with registers, for a proof over time: what yosys makes of them.

Not here: what is asked of the graph (sequence.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.base.templates import filled
from emu.contracts.rows import unpack
from emu.rtl.export import verilog as export_verilog
from emu.rtl.export.functions import Golden
from emu.rtl.export.special import class_condition, float_fields
from emu.rtl.export.yosys import freed, in_yosys, run_yosys
from emu.rtl.portmap.environment import Environment
from emu.rtl.portmap.file import MapFile
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.rows import has_class, waived_columns
from emu.spec.registry import get

SEQUENTIAL: Final = "sequential.aag"
TEMPLATE: Final = Path(__file__).with_name("sequence.v.j2")
_TOP: Final = "emu_top"
_CELLS: Final = "cells.json"
_STATE: Final = re.compile(r"\$_?(dff|adff|sdff|aldff|ff|sr|dlatch|adlatch|mem|fsm|DFF|ALDFF|SDFF|FF|SR|DLATCH)")


def build(item: Golden, file: MapFile, env: Environment, sources: Sequence[Path], work: Path, free_start: bool, seconds: float) -> str:
    """Write the graph of a design into a folder, `sequential.aag`; return why it cannot be a graph of one clock, or nothing.

    sources: the design, Verilog.   free_start: registers hold anything at first, whatever the design says.   seconds: for yosys.
    Raises: FileError (ports that do not fit the map), EngineError (yosys refuses the design), TimeoutError.
    """
    (work / "golden.v").write_text(export_verilog.render(replace(item.circuit, name="emu_golden")), encoding="ascii")
    (work / "environment.v").write_text(env.text, encoding="utf-8")
    wanted = {name for name, _ in item.circuit.outputs}
    fixed = file.map.constants
    text = filled(
        TEMPLATE,
        top=_TOP,
        inputs=item.layout.inputs,
        given={column.name: f"{column.bits}'h{fixed[column.name]:x}" if column.name in fixed else "" for column in item.layout.inputs},
        wants=[(name, bits) for name, bits in item.circuit.outputs],
        outputs=env.outputs,
        nans={column.name: float_fields(column) for column in env.outputs if f"k_{column.name}" in wanted},
        mapped=env.mapped,
        any_bits=env.any_bits,
        rows=env.rows,
        units=env.units,
        limit=env.limit,
        waived=[_waived(file.map, item, row) for row in range(env.rows)],
    )
    assert env.outputs
    (work / "top.v").write_text(text, encoding="ascii")
    folders = "".join(f"-I{in_yosys(folder)} " for folder in (*dict.fromkeys(path.parent for path in file.files), *file.includes))
    words = "".join(f"-D {define.text} " for define in file.map.defines)
    reading = [f"read_verilog -sv {words}{folders}{in_yosys(source)}" for source in sources]
    begin = ["read_verilog golden.v", "read_verilog -sv environment.v top.v", *reading, f"hierarchy -check -top {_TOP}", "proc -norom"]
    run_yosys([*begin, f"write_json {_CELLS}"], work, seconds)
    _check_ports(json.loads((work / _CELLS).read_text(encoding="utf-8"))["modules"], file, env)
    # passes that merge or drop registers are left out: they take an unknown start as the one that suits them
    flat = ["flatten", *freed(work), "memory_collect", "memory_map", "async2sync", "dffunmap", "opt_expr", "opt_clean"]
    starts = ["setattr -unset init w:*"] if free_start else []
    run_yosys([*begin, *flat, *starts, "write_rtlil flat.il", f"write_json {_CELLS}"], work, seconds)
    why = _one_clock(json.loads((work / _CELLS).read_text(encoding="utf-8"))["modules"][_TOP])
    if why:
        return why
    last = ["techmap", "setundef -undriven -anyseq", "opt_clean", "aigmap", f"write_aiger -ascii -symbols {SEQUENTIAL}"]
    run_yosys(["read_rtlil flat.il", *last], work, seconds)
    return ""


def _waived(model: PortMap, item: Golden, row: int) -> list[str]:
    """Return the Verilog conditions of a row that is not compared."""
    out = []
    for waiver in model.unsupported:
        for column in waived_columns(waiver, item.layout):
            tied = model.constants.get(column.name)
            if tied is None:
                out.append(class_condition(waiver.class_ or "", column, f"row{row}_{column.name}"))
            elif any(has_class(code, get("format", column.format or ""), waiver.class_ or "") for code in unpack(tied, column)):
                out.append("1'b1")
    for name, place in model.ports.items():
        if place.low_bits is not None:
            bits = next(column.bits for column in item.layout.inputs if column.name == name)
            if bits > place.low_bits:
                out.append(f"|row{row}_{name}[{bits - 1}:{place.low_bits}]")
    return out


def _check_ports(modules: Mapping[str, Any], file: MapFile, env: Environment) -> None:
    """Raises: FileError (a port of another width than the map says; an input that nothing drives)."""
    cell = modules["emu_environment"]["cells"]["u_design"]
    for name, port in modules[cell["type"]]["ports"].items():
        wide, known = len(port["bits"]), env.widths.get(name, 1)
        if name not in cell["connections"] and port["direction"] != "output":
            raise FileError(f"{file.path}: input port {name} of {file.map.module} is not in the map: tie it (ties)")
        if name in cell["connections"] and (wide < known or (wide > known and port["direction"] != "output")):
            raise FileError(f"{file.path}: port {name} of {file.map.module} has {wide} bits, the map says {known}")


def _one_clock(top: Mapping[str, Any]) -> str:
    """Return what keeps a flat design from being steps of one clock, or nothing."""
    clock = top["ports"]["emu_clk"]["bits"]
    for name, cell in top["cells"].items():
        kind = cell["type"]
        if not _STATE.match(kind):
            continue
        where = cell["attributes"].get("src", name)
        if kind != "$dff":
            return f"{where}: a latch or a memory that is no register ({kind}): a proof over time knows flip-flops of one clock"
        if cell["connections"]["CLK"] != clock or not int(cell["parameters"]["CLK_POLARITY"], 2):
            return f"{where}: a flip-flop that is not of the rising edge of clock: a proof over time knows one clock"
    return ""
