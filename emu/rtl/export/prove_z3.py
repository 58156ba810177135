"""The same proof another way: the golden function's SMT-LIB, the design's as yosys writes it, and z3. No golden Verilog, no abc."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emu.base.errors import EngineError, ToolError
from emu.rtl.export import smt2 as export_smt2
from emu.rtl.export.equivalence import Verdict
from emu.rtl.export.functions import Golden

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
    golden = export_smt2.render(item.circuit)
    assert golden.count(_LOGIC) == 1
    text = [golden.replace(_LOGIC, ""), (work / DESIGN).read_text(encoding="ascii"), *_question(item)]
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


def _question(item: Golden) -> Iterator[str]:
    """Yield: equal inputs, the row is not open, and some output differs."""
    prefix = item.circuit.name + "_"
    yield f"(declare-const state |{TOP}_s|)"
    for name, bits in item.circuit.inputs:
        yield f"(assert (= {_port(name, bits)} {prefix}{name}))"
    yield f"(assert (= {prefix}open #b0))"
    kinds = {name for name, _ in item.circuit.outputs}
    differ = [f"(not (|{TOP}_n valid| state))"]
    for column in item.layout.results:
        port = _port(column.name, column.bits)
        plain = f"(not (= {port} {prefix}{column.name}))"
        if f"k_{column.name}" in kinds:
            nan = f"(bvugt ((_ extract 30 0) {port}) #b{0xFF << 23:031b})"
            plain = f"(ite (= {prefix}k_{column.name} #x0) {plain} (not {nan}))"
        differ.append(plain)
    yield f"(assert (or {' '.join(differ)}))"
    yield "(check-sat)"
    yield f"(get-value ({' '.join(prefix + name for name, _ in item.circuit.inputs)}))"


def _port(name: str, bits: int) -> str:
    """Return a port of the design as a bit vector; yosys writes one of a single bit as a Bool."""
    term = f"(|{TOP}_n {name}| state)"
    return term if bits > 1 else f"(ite {term} #b1 #b0)"
