"""Every operation by every engine on tensors of a thousand to a billion elements, in one thread and more, beside a copy of the memory.

A size at which one run would take longer than MOST_SECONDS, by the rate of the size before, is left out.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from emu.base.errors import EngineError, OperandError
from emu.bench.jobs import MakeJob, convert, decode, dequantize, quantize, torch_quantize, transform
from emu.bench.run import SEED, alternating
from tools.bench.peers import memory_copy
from tools.bench.table import Measurement, rates

Sized = tuple[Measurement, int | None]
MOST = 10**10  # elements
MOST_SECONDS = 20.0
RECIPES = ("nvfp4_te_ref", "mxfp4_torchao_floor", "ufp4", "hif4")
ENGINES = ("native", "numpy", "c_ref")


def sizes_of(text: str) -> list[int]:
    """Return sizes in ascending order, from words such as 1e3,4096,1e9. Raises: OperandError."""
    found = set()
    for word in text.split(","):
        match = re.fullmatch(r"([0-9]{1,11})(?:e([0-9]{1,2}))?", word.strip())
        size = int(match[1]) * 10 ** int(match[2] or 0) if match else 0
        if not 1 <= size <= MOST:
            raise OperandError(f"--sizes {word!r}: whole numbers from 1 to {MOST:.0e}, such as 1e3,4096,1e9")
        found.add(size)
    return sorted(found)


def cases(jobs: int) -> Iterator[tuple[str, MakeJob]]:
    """Yield name and job of each operation by each engine. jobs: more than one adds the same with so many threads."""
    for threads in sorted({1, jobs}):
        more = "" if threads == 1 else f", {threads} jobs"
        for engine in ENGINES:
            yield from ((f"convert {to} {engine}{more}", convert(to, "rne", engine, threads)) for to in ("e2m1", "e1m2"))
            yield from ((f"quantize {recipe} {engine}{more}", quantize(recipe, engine, jobs=threads)) for recipe in RECIPES)
        yield f"dequantize nvfp4_te_ref{more}", partial(dequantize, jobs=threads)
    for engine in ENGINES:
        yield f"transform rht16_te {engine}", transform("rht16_te", engine)
    yield "decode e2m1", decode
    yield from ((f"quantize {recipe} torch", torch_quantize(recipe, "float32")) for recipe in RECIPES)


def run_sizes(sizes: list[int], repeats: int, only: str, progress: Callable[[str], None], jobs: int) -> Iterator[Sized]:
    """Measure every case whose name contains `only`, by the clock on the wall, alternating with a copy.

    sizes: elements of a float32 matrix, in ascending order, rounded up to rows of 4096, or of 64 where there are fewer.
    Yields: a measurement, and the bytes of memory that one run takes beyond what was there, None where this system does not say.
    """
    seconds_of: dict[str, float] = {}  # of an element, at the size before
    for size in sizes:
        x = _matrix(size)
        copy = memory_copy(x)
        for name, make in cases(jobs):
            if only not in name or seconds_of.get(name, 0.0) * x.size > MOST_SECONDS:
                continue
            progress(f"{name}, {size} elements")
            job = make(x)
            if job is None:
                continue
            try:
                mine, copied = alternating([job, copy], repeats, perf_counter)
            except EngineError:  # an engine that does not do this
                continue
            label = f"{name}, {size:.0e} elements".replace("e+0", "e")
            measured = Measurement(label, x.size, rates(x.size, mine), "memory copy", rates(x.size, copied), None)
            seconds_of[name] = 1e-6 / measured.rate
            yield measured, _peak(job)


def _matrix(size: int) -> Any:
    columns = 4096 if size >= 4096 else 64
    return np.random.default_rng(SEED).standard_normal((-(-size // columns), columns), dtype=np.float32)


def _peak(job: Callable[[], Any]) -> int | None:
    """Return how far the memory of this process rises in one run, its result included; Linux alone says."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before is no room for this run
        reset.write_text("5", encoding="ascii")  # the peak is what is held now
        before = _kilobytes(status, "VmRSS")
        job()
        return max(0, _kilobytes(status, "VmHWM") - before) * 1024
    except (OSError, ValueError, AttributeError):
        return None


def _kilobytes(status: Path, word: str) -> int:
    for line in status.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{word}:"):
            return int(line.split()[1])
    raise ValueError(word)


def sizes_table(rows: list[Sized]) -> str:
    """Return a Markdown table: rates in million elements a second, their share of a copy's, bytes an element at the peak."""
    lines = ["| job | emu | of a copy | bytes an element |", "| --- | ---: | ---: | ---: |"]
    for row, peak in rows:
        held = "-" if peak is None else f"{peak / row.elements:.1f}"
        lines.append(f"| {row.name} | {row.rate:.1f} | {row.ratio or 0:.3f} | {held} |")
    return "\n".join(lines) + "\n"
