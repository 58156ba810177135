"""Are two Verilog designs with equal ports the same function? A miter, decided by abc; the answer comes with an input where they differ.

Combinational designs: proven and counterexample are both final. Registers are cut and paired by name: proven is final (equal outputs and
equal next state from every state), but an input where the cut designs differ may belong to a state that never comes, so it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emu.base.atomic import temporary_folder
from emu.base.errors import EngineError
from emu.rtl.export.yosys import ABC, find, in_yosys, run_abc, run_yosys

Kind = Literal["proven", "counterexample", "unknown"]
MITER: Final = "emu_miter"
AIGER: Final = "miter.aig"
MODEL: Final = "model.cex"
PROVERS: Final = ("iprove", "iprove -r")  # the second does not rewrite: abc breaks off in that on some graphs
VACUOUS: Final = "nothing is compared: for no input would a wrong lowest bit be seen"
REGISTERS: Final = "registers.txt"
_STATE: Final = "t:$dff t:$ff t:$dlatch t:$mem* t:$_*FF* t:$_*LATCH*"
_BIT: Final = re.compile(r"(?m)^(\w+?)(?:\[(\d+)\])?@0=([01])$")


class Verdict(NamedTuple):
    """What was found. model: input port -> value of a counterexample, else empty.   why: reason of an unknown, else empty."""

    kind: Kind
    model: dict[str, int]
    why: str = ""


def equivalent(gold: Path, gate: Path, top: str = "dut", seconds: float = 20) -> Verdict:
    """Tell whether two Verilog files are the same function of their inputs.

    gold, gate: files with a module `top`; equal input and output ports.   seconds: processor time for each of yosys and abc.
    An undriven or unknown bit of either design is a free value: what depends on it is not proven.
    Raises: ToolError (yosys or its abc absent), EngineError (a file yosys cannot read, ports that differ).
    Tests: tests/rtl/test_rtl_equivalence.py.
    """
    script = [*read_design([gold], top, "gold"), *read_design([gate], top, "gate")]
    with temporary_folder("rtl") as folder:
        return decide(script, folder, seconds)


def read_design(files: Sequence[Path], top: str, name: str, defines: Sequence[str] = ()) -> list[str]:
    """Return the commands that read a design, make one flat module of it without unknown bits, and stash it under a name.

    defines: `NAME` or `NAME=value` of the preprocessor.
    """
    words = "".join(f"-D {define} " for define in defines)
    sources = " ".join(map(in_yosys, files))
    return [
        "design -reset",
        f"read_verilog -sv {words}{sources}",
        f"hierarchy -check -top {top}",
        "proc -norom",
        "flatten",
        "memory -nomap",
        "memory_map",
        "setundef -undriven -anyseq",
        "opt -full",
        "wreduce",
        "async2sync",
        "dffunmap",
        "opt_clean",
        f"rename -top {name}",
        f"design -stash {name}",
    ]


def decide(script: Sequence[str], work: Path, seconds: float) -> Verdict:
    """Compare the designs that a script stashes as `gold` and `gate`; see `equivalent`. Raises: as there."""
    find(ABC)
    copies = ["design -reset", *(f"design -copy-from {name} -as {name} {name}" for name in ("gold", "gate"))]
    try:
        run_yosys([*script, *copies, f"tee -q -o {REGISTERS} select -list {_STATE}", *_miter()], work, seconds)
    except TimeoutError as error:
        return Verdict("unknown", {}, str(error))
    except EngineError as error:
        if _has_registers(work):
            return Verdict("unknown", {}, f"registers do not pair by name: {error}")
        raise
    verdict = solve(work, seconds)
    if verdict.kind == "counterexample" and _has_registers(work):
        return Verdict("unknown", {}, "the next state differs from some state; whether that state can come is not known")
    return verdict._replace(model={name.removeprefix("in_"): value for name, value in verdict.model.items()})


def outputs_of(work: Path) -> dict[str, int]:
    """Return output -> number of `miter.aig` in a folder; a bit of a wide one as `seen[1]`."""
    symbols = (work / AIGER).read_bytes().rpartition(b"\nc\n")[0].decode("latin-1")
    return {name: int(number) for number, name in re.findall(r"(?m)^o(\d+) (\S+)$", symbols)}


def _has_registers(work: Path) -> bool:
    return (work / REGISTERS).is_file() and bool((work / REGISTERS).read_text(encoding="ascii", errors="replace").split())


def _miter() -> list[str]:
    """Registers become ports; then one output that is 1 where a port differs, as an and-inverter graph."""
    return [
        "expose -evert-dff t:$dff t:$ff",
        f"miter -equiv -flatten gold gate {MITER}",
        f"hierarchy -top {MITER}",
        "opt -full",
        "techmap",
        "setundef -undriven -anyseq",
        "opt_clean",
        "aigmap",
        f"write_aiger -symbols {AIGER}",
    ]


def solve(work: Path, seconds: float, output: int | None = None) -> Verdict:
    """Tell whether an output of `miter.aig` in a folder is 0 for all inputs; the model names the inputs as the file does.

    output: its number; None: the only one.
    """
    chosen = [] if output is None else [f"cone -O {output}"]
    log = ""
    for prover in PROVERS:
        try:
            log = run_abc([f"read_aiger {AIGER}", "strash", *chosen, prover, f"write_cex -n {MODEL}"], work, seconds)
        except TimeoutError as error:
            return Verdict("unknown", {}, str(error))
        if re.search(r"(?m)^UNSATISFIABLE\b", log):
            return Verdict("proven", {})
        if re.search(r"(?m)^SATISFIABLE\b", log):
            break
    else:
        return Verdict("unknown", {}, f"abc: no verdict: {' '.join(log.split())[-120:]}")
    model: dict[str, int] = {}
    for name, place, bit in _BIT.findall((work / MODEL).read_text(encoding="ascii")):
        model[name] = model.get(name, 0) | int(bit) << int(place or 0)
    return Verdict("counterexample", model)
