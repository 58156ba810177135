"""What a process needs until its first result: seconds by the clock on the wall, beside a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

CASES: Final = {
    "python that does nothing": ("python", "-c", "pass"),
    "import numpy": ("python", "-c", "import numpy"),
    "import emu": ("python", "-c", "import emu"),
    "emu.convert of one number": ("python", "-c", "import emu, numpy; emu.convert(numpy.float32(1), 'e2m1')"),
    "emu.quantize of one block": ("python", "-c", "import emu, numpy; emu.quantize(numpy.ones(16, numpy.float32), 'nvfp4_te_ref')"),
    "emu --version": ("emu", "--version"),
    "emu --help": ("emu", "--help"),
    "emu show e2m1": ("emu", "show", "e2m1"),
    "emu convert e2m1 1.3": ("emu", "convert", "e2m1", "1.3"),
}


class Start(NamedTuple):
    """One case: the median seconds of its runs, and how much longer than a Python that does nothing, of the same round."""

    name: str
    seconds: float
    more: float


def run_startup(repeats: int, progress: Callable[[str], None]) -> list[Start]:
    """Run every case in turn, `repeats` rounds after one that fills the caches. Raises: SystemExit (a command that fails)."""
    folder = Path(sys.executable).parent
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(repeats + 1):
        for name, words in CASES.items():
            progress(name)
            begin = perf_counter()
            done = subprocess.run([str(folder / words[0]), *words[1:]], capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"bench: {name}: {done.stderr.strip()[-300:]}")
            if turn:
                times[name].append(perf_counter() - begin)
    bare = times["python that does nothing"]
    return [Start(name, median(found), median(x - y for x, y in zip(found, bare, strict=True))) for name, found in times.items()]


def startup_table(rows: list[Start]) -> str:
    """Return a Markdown table."""
    lines = ["| process | seconds | more than Python |", "| --- | ---: | ---: |"]
    return "\n".join([*lines, *(f"| {row.name} | {row.seconds:.2f} | {row.more:.2f} |" for row in rows)]) + "\n"
