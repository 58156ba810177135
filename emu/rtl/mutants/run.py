"""Runs netlist mutants over golden suites: which row kills each, and which live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.errors import EngineError, FileError
from emu.rtl.mutants.bench import render
from emu.rtl.mutants.netlist import Mutants
from emu.rtl.simulate import simulator
from emu.vectors.files import writers
from emu.vectors.files.suite import Suite

OPTIONS: Final = ("-CFLAGS", "-O1", "--x-assign", "0")
COMPILE_SECONDS: Final = 3600
SECONDS: Final = 3600  # one suite; the slowest takes a minute


class Death(NamedTuple):
    """How a mutant died. stem, tc: the first row that differs (0: no row, see why).   why: bits, x, extra or timeout."""

    stem: str
    tc: int
    why: str


def judge(mutants: Mutants, suites: Sequence[Suite], work: Path, seconds: int = SECONDS) -> dict[int, Death | None]:
    """Return mutant -> its death, None for those that pass every suite.

    suites: of one operation and one layout, in the order in which they are tried; a mutant that a suite killed is not tried again.
    seconds: of the wall clock for one suite.
    Raises: ToolError (no Verilator), EngineError (the right netlist differs, a suite does not end), FileError (layouts differ).
    """
    if len({suite.layout for suite in suites}) != 1:
        raise FileError("the suites of a unit must have equal columns")
    bench = work / "bench.sv"
    most = max(len(suite.rows) for suite in suites) + 1
    bench.write_text(render(suites[0].layout, most, len(mutants.mutations), mutants.bits), encoding="ascii")
    program = simulator.compile_sources(simulator.find("verilator"), [bench, mutants.path], OPTIONS, work, COMPILE_SECONDS)
    deaths: dict[int, Death | None] = {mutation.number: None for mutation in mutants.mutations}
    for suite in suites:
        living = [number for number, death in deaths.items() if death is None]
        deaths |= _run(program, suite, living, len(mutants.mutations), work, seconds)
    return deaths


def _run(program: Sequence[str], suite: Suite, living: Iterable[int], count: int, work: Path, seconds: int) -> dict[int, Death]:
    """Return the deaths by one suite."""
    vec, live = work / "rows.mem", work / "live.mem"
    vec.write_text(writers.render_mem(suite.layout, suite.rows), encoding="ascii")
    chosen = {0, *living}
    live.write_text("".join(f"{int(number in chosen)}\n" for number in range(count + 1)), encoding="ascii")
    command = [*program, f"+vec={vec.name}", f"+live={live.name}", f"+n={len(suite.rows)}"]
    status, text = simulator.execute(command, work, seconds)
    lines = [line for line in text.splitlines() if line.split(" ", 1)[0] in ("KILL", "LIVE", "BAD", "DONE")]
    if status is None:
        raise EngineError(f"{suite.stem}: {len(chosen)} netlists do not end within {seconds} s")
    if status or not lines or lines[0] != "LIVE 0" or lines[-1] != "DONE" or len(lines) != len(chosen) + 1:
        raise EngineError(f"{suite.stem}: the netlist without a mutant fails, or the bench did not end: {(lines or ['no line'])[0]}")
    return dict(_deaths(suite.stem, lines))


def _deaths(stem: str, lines: Iterable[str]) -> Iterable[tuple[int, Death]]:
    for line in lines:
        words = line.split()
        if words[0] == "KILL":
            yield int(words[1]), Death(stem, int(words[2]), words[3])


def tally(deaths: Mapping[int, Death | None]) -> dict[str, int]:
    """Return stem -> mutants that it was the first to kill."""
    found: dict[str, int] = {}
    for death in deaths.values():
        if death is not None:
            found[death.stem] = found.get(death.stem, 0) + 1
    return found
