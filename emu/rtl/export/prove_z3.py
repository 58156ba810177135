"""The same proof another way: the golden function's SMT-LIB, the design's as yosys writes it, and z3. No golden Verilog, no abc."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from emu.base.errors import EngineError, ToolError
from emu.contracts.columns import Column
from emu.rtl.export import smt2 as export_smt2
from emu.rtl.export.equivalence import VACUOUS, Verdict
from emu.rtl.export.functions import Golden
from emu.rtl.export.special import float_fields

Z3: Final = "z3"
DESIGN: Final = "design.smt2"
TOP: Final = "emu_design"
_LOGIC: Final = "(set-logic QF_BV)\n"
_VALUE: Final = re.compile(r"\(golden_(\w+) #(x[0-9a-f]+|b[01]+)\)")


def solve_z3(item: Golden, work: Path, seconds: float) -> Verdict:
    """Ask z3 for a row where the design in `design.smt2` and the golden function differ.

    Raises: ToolError (z3 absent), EngineError (it refuses the text).
    """
    program = shutil.which(Z3)
    if program is None:
        raise ToolError("z3: not found: install it (Debian: apt-get install z3), or leave --solver out")
    found = _asked(program, item, work, seconds, _difference(item))
    if found.kind != "proven":
        return found
    for wrong in _seen(item):
        seen = _asked(program, item, work, seconds, [*_common(item), wrong, *_answer(item)])
        if seen.kind != "counterexample":
            return Verdict("unknown", {}, VACUOUS if seen.kind == "proven" else seen.why)
    return found


def _asked(program: str, item: Golden, work: Path, seconds: float, question: Iterable[str]) -> Verdict:
    golden = export_smt2.render(item.circuit)
    assert golden.count(_LOGIC) == 1
    text = [golden.replace(_LOGIC, ""), (work / DESIGN).read_text(encoding="ascii"), *question]
    (work / "question.smt2").write_text("\n".join(text) + "\n", encoding="ascii")
    limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(int(seconds) + 1), program, "question.smt2"]
    done = subprocess.run(limited, cwd=work, capture_output=True, text=True, check=False)
    first, _, rest = done.stdout.partition("\n")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) or first in ("unknown", "timeout"):
        return Verdict("unknown", {}, f"z3: no answer within {seconds:g} s")
    if first == "unsat":
        return Verdict("proven", {})
    if first != "sat":
        raise EngineError(f"z3: {first or done.stderr.strip()[:200]}")
    return Verdict("counterexample", {name: int("0" + digits, 0) for name, digits in _VALUE.findall(rest)})


def _common(item: Golden) -> Iterator[str]:
    """Yield: equal inputs, and the row is not open."""
    prefix = item.circuit.name + "_"
    yield f"(declare-const state |{TOP}_s|)"
    for name, bits in item.circuit.inputs:
        yield f"(assert (= {_port(name, bits)} {prefix}{name}))"
    yield f"(assert (= {prefix}open #b0))"


def _answer(item: Golden) -> Iterator[str]:
    prefix = item.circuit.name + "_"
    yield "(check-sat)"
    yield f"(get-value ({' '.join(prefix + name for name, _ in item.circuit.inputs)}))"


def _wrong(item: Golden, column: Column, flipped: bool = False) -> str:
    """Return the term: a result of the design is wrong. flipped: it is taken with another lowest bit."""
    prefix, port = item.circuit.name + "_", _port(column.name, column.bits)
    if flipped:
        port = f"(bvxor {port} #b{1:0{column.bits}b})"
    plain = f"(not (= {port} {prefix}{column.name}))"
    if f"k_{column.name}" not in {name for name, _ in item.circuit.outputs}:
        return plain
    frac, exp = float_fields(column)
    nan = f"(bvugt ((_ extract {frac + exp - 1} 0) {port}) #b{((1 << exp) - 1) << frac:0{frac + exp}b})"
    return f"(ite (= {prefix}k_{column.name} #x0) {plain} (not {nan}))"


def _difference(item: Golden) -> Iterator[str]:
    """Yield: some output differs, or there is none."""
    yield from _common(item)
    differ = [f"(not (|{TOP}_n valid| state))", *(_wrong(item, column) for column in item.layout.results)]
    yield f"(assert (or {' '.join(differ)}))"
    yield from _answer(item)


def _seen(item: Golden) -> Iterator[str]:
    """Yield for each result: another lowest bit of it would be wrong."""
    for column in item.layout.results:
        yield f"(assert {_wrong(item, column, flipped=True)})"


def _port(name: str, bits: int) -> str:
    """Return a port of the design as a bit vector; yosys writes one of a single bit as a Bool."""
    term = f"(|{TOP}_n {name}| state)"
    return term if bits > 1 else f"(ite {term} #b1 #b0)"
