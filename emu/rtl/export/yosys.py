"""yosys and its abc as programs: run a script in a folder, read the log. Not here: what the scripts are for (equivalence, prove)."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.base.errors import EngineError, FileError, ToolError

YOSYS: Final = "yosys"
ABC: Final = "yosys-abc"
_RELEASED: Final = """(* techmap_celltype = "$tribuf" *)
module emu_released #(parameter WIDTH = 1) (input [WIDTH-1:0] A, input EN, output [WIDTH-1:0] Y);
    assign Y = EN ? A : {WIDTH{1'bx}};
endmodule
"""
PATIENCE: Final = 20  # times the allowed processor time


def find(program: str = YOSYS) -> str:
    """Return the path of a program. Raises: ToolError (absent)."""
    path = shutil.which(program)
    if path is None:
        raise ToolError(f"{program}: not found: install yosys (Debian: apt-get install yosys), or put it on PATH")
    return path


def freed(work: Path) -> tuple[str, ...]:
    """Return the commands by which z in a flat design becomes x, and each x a value that is free; write what they read into the folder."""
    (work / "released.v").write_text(_RELEASED, encoding="ascii")
    return "tribuf", "techmap -map released.v t:$tribuf", "setundef -anyseq"


def in_yosys(path: Path) -> str:
    """Return a path as one word of a script of yosys, which has no sign that could take the meaning of another.

    Raises: FileError (a quote, a backslash, or what does not print in ASCII: a script could run it).
    """
    name = str(path.resolve())
    if not (name.isascii() and name.isprintable()) or set(name) & set('"\\'):
        raise FileError(f"{name}: yosys reads no such name: rename it, with letters of ASCII and without quotes and backslashes")
    return f'"{name}"'


def run_yosys(script: Sequence[str], work: Path, seconds: float = 600) -> str:
    """Run yosys commands in a folder and return the log.

    Raises: ToolError (absent), EngineError (refused: its first error line), TimeoutError (`seconds` of processor time are over).
    """
    path = work / "script.ys"
    path.write_text("\n".join(script) + "\n", encoding="ascii")
    done = _run([find(YOSYS), "-Q", "-T", path.name], work, seconds)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if "ERROR" in line]
        raise EngineError(f"yosys: {(lines or [f'stopped with exit code {done.returncode}'])[0].strip()}")
    return done.stdout


def run_abc(script: Sequence[str], work: Path, seconds: float = 600) -> str:
    """Run abc commands in a folder and return the log. Raises: ToolError, TimeoutError; as run_yosys."""
    done = _run([find(ABC), "-c", "; ".join(script)], work, seconds)
    return done.stdout


def _run(words: Sequence[str], work: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Seconds count processor time, so that a busy machine gives the same answer; the clock only ends what sleeps."""
    limit = max(1, math.ceil(seconds))
    limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(limit), *words]
    try:
        done = subprocess.run(limited, cwd=work, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE * limit)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TimeoutError(f"{Path(words[0]).name}: no answer within {limit} s")
    return done
