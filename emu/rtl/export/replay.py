"""A counterexample run on the design itself, in a simulator: what the solver found must come back, or the proof was wrong.

The bench holds reset where there is one, shows the row with in_valid, waits for out_valid or, without that, for registers to settle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from emu.base.atomic import temporary_folder
from emu.base.errors import EngineError, FileError, ToolError
from emu.base.templates import filled
from emu.contracts.columns import Layout
from emu.contracts.rows import Row, mismatches, unpack, value_of
from emu.rtl.simulate.simulator import Simulator, compile_sources, execute, find


class FalseCounterexample(EngineError):
    """A row that a solver calls wrong and that the design answers right."""


EDGES: Final = 256  # of the clock, that an answer may take
SECONDS: Final = 120
_GOT: Final = re.compile(r"(?m)^GOT (\w+) ([0-9a-fxzXZ]+)$")


def replay(
    layout: Layout, row: Row, files: Sequence[Path], defines: Sequence[str], ports: Mapping[str, tuple[str, int]]
) -> tuple[str, dict[str, str] | None]:
    """Run one row on the module `dut` of files; return the simulator and what the design gave, None without an answer.

    Where no simulator is there, or it cannot compile the design, the first is why, in brackets.
    ports: port -> (direction, bits) of the design.   An answer with x or z in a compared bit is a wrong one.
    Raises: EngineError (the design gives what the row wants: the counterexample is false).   Tests: tests/rtl/test_rtl_prove.py.
    """
    try:
        simulator = find()
    except ToolError as error:
        return f"({error})", None
    with temporary_folder("rtl") as folder:
        try:
            got = _simulated(simulator, layout, row, files, defines, ports, folder)
        except FileError as error:
            return f"({error})", None
    if got is not None and not differ(layout, row, got):
        raise FalseCounterexample(
            f"a false counterexample: in {simulator.name} the design gives what the row wants, "
            + ", ".join(f"{name} = {text}" for name, text in got.items())
            + ": yosys and the simulator read the design in two ways"
        )
    return simulator.name, got


def _simulated(
    simulator: Simulator,
    layout: Layout,
    row: Row,
    files: Sequence[Path],
    defines: Sequence[str],
    ports: Mapping[str, tuple[str, int]],
    work: Path,
) -> dict[str, str] | None:
    text = filled(
        Path(__file__).with_name("replay.sv.j2"),
        inputs=[(column, value_of(layout, row, column.name)) for column in layout.inputs],
        results=layout.results,
        ports=ports,
        edges=EDGES,
    )
    bench = work / "replay.sv"
    bench.write_text(text, encoding="ascii")
    options = [*dict.fromkeys(f"-I{file.resolve().parent}" for file in files), *(f"-D{define}" for define in defines)]
    command = compile_sources(simulator, [bench, *files], options, work)
    status, said = execute(command, work, SECONDS)
    if status != 0:
        raise FileError(f"{simulator.name}: the bench of one row does not end")
    return dict(_GOT.findall(said)) or None


def differ(layout: Layout, row: Row, got: Mapping[str, str]) -> list[str]:
    """Return the result columns where what a design gave, as hex text, is not what a row wants."""
    answer = []
    for column in layout.results:
        known = not set(got[column.name].lower()) & {"x", "z"}
        answer.append(unpack(int(got[column.name], 16), column) if known else (-1,) * column.lanes)
    return mismatches(layout, row, tuple(answer))
