"""Netlist mutants of a reference design: yosys draws them from the elaborated netlist, all of them go into one netlist with a selector.

A mutant inverts a bit of a port of a cell, ties it to a constant, or swaps it with its neighbour under a condition. Nobody chose them by
hand and no row was written against them: what they find about a suite is unbiased. Not here: running them (netlist_run), settling the
survivors (netlist_settle).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.errors import FileError
from emu.rtl.export.yosys import run_yosys
from emu.rtl.mutants.bench import SELECTOR
from emu.rtl.simulate.units import Unit

TOP: Final = "dut"
_SOURCE_OPTIONS: Final = ("-src", "-wire", "-wirebit")


class Mutation(NamedTuple):
    """One mutant. number: from 1, the value of the selector.   command: what yosys does.   where: file and line of the source."""

    number: int
    command: str
    where: str


class Mutants(NamedTuple):
    """A netlist with all mutants in it. path: Verilog, module dut with one more input.   bits: width of the selector.   cells: before."""

    path: Path
    bits: int
    cells: int
    mutations: tuple[Mutation, ...]


def elaborate(unit: Unit, header: Path, work: Path) -> list[str]:
    """Return the commands that read a unit and make one flat netlist, for a yosys that runs in a folder.

    header: the `.svh` of a suite, for the widths.   work: the folder; copies of the sources are left in it, each below the name of its own
    folder. yosys names cells after the paths it reads and draws mutants by the names of cells: relative ones are the same everywhere.
    Raises: FileError (two sources of one folder name and file name).
    """
    defines = " ".join(f"-D {name}={value}" for name, value in unit.defines.items())
    copies = {path: Path(path.resolve().parent.name, path.name) for path in (header, *unit.sources)}
    if len(set(copies.values())) < len(copies):
        raise FileError(f"{unit.id}: two of its files have one name: {', '.join(map(str, copies))}")
    for path, copy in copies.items():
        (work / copy).parent.mkdir(parents=True, exist_ok=True)
        if path.resolve() != (work / copy).resolve():
            shutil.copyfile(path, work / copy)
    sources = " ".join(map(str, copies.values()))
    return [f"read_verilog -sv {defines} {sources}", f"prep -flatten -top {TOP}", "memory_map", "opt -full", "splitnets"]


def draw(unit: Unit, header: Path, work: Path, count: int, seed: int) -> Mutants:
    """Draw mutants of a unit and write the netlist that holds them all.

    count: how many at most; a small netlist has fewer.   Raises: ToolError, EngineError, FileError (none could be drawn).
    """
    bits = max(count.bit_length(), 1)
    begin = elaborate(unit, header, work)
    log = run_yosys([*begin, "tee -o stat.txt stat", f"mutate -list {count} -seed {seed} -o list.txt -ctrl {SELECTOR} {bits} 1"], work)
    lines = (work / "list.txt").read_text(encoding="ascii").splitlines()
    if not lines:
        raise FileError(f"{unit.id}: yosys finds nothing to mutate: {log[-200:]}")
    (work / "apply.ys").write_text("\n".join(map(_plain, lines)) + "\n", encoding="ascii")
    run_yosys([*begin, "script apply.ys", "opt_clean", "write_verilog -noattr mutants.v"], work)
    cells = next(
        int(line.split()[-1]) for line in (work / "stat.txt").read_text(encoding="ascii").splitlines() if "Number of cells" in line
    )
    found = tuple(Mutation(number, _command(line), _where(line)) for number, line in enumerate(lines, 1))
    return Mutants(work / "mutants.v", bits, cells, found)


def _plain(line: str) -> str:
    """Return a line of the list without what yosys only prints for people."""
    words, out, skip = line.split(), [], False
    for word in words:
        if skip:
            skip = False
        elif word in _SOURCE_OPTIONS:
            skip = True
        else:
            out.append(word)
    return " ".join(out)


def _command(line: str) -> str:
    """Return the mutation without its selector."""
    words = _plain(line).split()
    at = words.index("-ctrl")
    return " ".join(words[:at] + words[at + 4 :])


def _where(line: str) -> str:
    """Return file:line of the last source named, without folders; empty where yosys knows none."""
    words = line.split()
    sources = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "-src"]
    return sources[-1].rpartition("/")[2] if sources else ""
