"""The measurement: medians of processor time of each operation by each engine, as a Markdown table and as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import numpy as np

from emu.base.errors import EmuError
from emu.bench import jobs as job
from emu.bench.jobs import Job, MakeJob, Shape
from emu.engines.native import convert as kernel
from emu.engines.table import choose
from emu.spec.datapath import resolve

SEED: Final = 2606
LEAST_SECONDS: Final = 0.05  # short jobs are repeated until they take so long
RECIPES: Final = ("nvfp4_te_ref", "mxfp4_torchao_floor", "ufp4")
ENGINES: Final = ("native", "numpy", "c_ref")
PRODUCTS: Final[tuple[tuple[str, tuple[Any, ...]], ...]] = (
    ("nvfp4", ("blackwell_mxf4nvf4_b16_ue4m3",)),
    ("mxfp4", ("blackwell_mxf4_b32_ue8m0",)),
    ("fp8", ("hopper_fp8", "e4m3", "e4m3")),
)


class Rate(NamedTuple):
    """One row. elements: of one run; of a matrix product its m * n * k.   rate: million elements a second of processor time."""

    name: str
    elements: int
    rate: float


def cases() -> Iterator[tuple[str, MakeJob]]:
    """Return name and job of each operation on a matrix; the first is what no conversion can pass."""
    yield "read 4 bytes, write 1", job.read_4_write_1
    for engine in ENGINES:
        yield from ((f"convert {to} rne {engine}", job.convert(to, "rne", engine)) for to in ("e2m1", "e1m2"))
    yield "decode e2m1", job.decode
    for engine in ENGINES:
        yield from ((f"quantize {recipe} {engine}", job.quantize(recipe, engine)) for recipe in RECIPES)
    yield from ((f"quantize {recipe} torch", job.torch_quantize(recipe, "float32")) for recipe in RECIPES)
    yield from ((f"quantize {recipe} auto", job.quantize(recipe, "auto")) for recipe in ("nvfp4_te_4over6_mse_256", "hif4"))
    yield from ((f"transform rht16_te {engine}", job.transform("rht16_te", engine)) for engine in ("native", "numpy"))
    yield "dequantize nvfp4_te_ref", job.dequantize


def products(jobs: int) -> Iterator[tuple[str, tuple[Any, ...], Shape, str, int]]:
    """Return name, datapath, shape, engine and threads of each matrix product. jobs: more than one adds the same with so many."""
    for name, choice in PRODUCTS:
        for engine in ENGINES:
            for shape in ((16, 8, 64), (256, 256, 1024)):
                for threads in sorted({1, jobs}):
                    more = "" if threads == 1 else f", {threads} jobs"
                    yield f"matmul {name} {'x'.join(map(str, shape))} {engine}{more}", choice, shape, engine, threads


def run(
    elements: int = 1 << 24, repeats: int = 5, only: str = "", progress: Callable[[str], None] | None = None, jobs: int = 1
) -> list[Rate]:
    """Measure every case whose name contains `only`.

    elements: of a float32 matrix with 4096 columns (fewer when small); matrix products have shapes of their own.
    repeats: runs of each.   progress: called with the name of each case.
    jobs: threads of the matrix products that are measured beside one thread; those by the clock on the wall.
    Returns: one Rate for each case that can run here.
    """
    columns = min(4096, elements)
    x = np.random.default_rng(SEED).standard_normal((max(elements // columns, 1), columns), dtype=np.float32)
    tell = progress or (lambda name: None)
    found = []
    for name, make in cases():
        work = make(x) if only in name else None
        if work is not None:
            tell(name)
            found.append(Rate(name, x.size, x.size / _seconds(work, repeats) / 1e6))
    for name, choice, (m, n, k), engine, threads in products(jobs):
        if only in name and _able(choice, engine):
            tell(name)
            work = job.matmul(resolve(*choice), (m, n, k), engine, threads, np.random.default_rng(SEED))
            seconds = _seconds(work, repeats, process_time if threads == 1 else perf_counter)
            found.append(Rate(name, m * n * k, m * n * k / seconds / 1e6))
    return found


def _able(choice: tuple[Any, ...], engine: str) -> bool:
    """Return whether an engine has a datapath."""
    try:
        choose("dot", engine, resolve(*choice))
    except EmuError:
        return False
    return True


def count_of(work: Job) -> int:
    """Return how often a job runs in one measurement, after a first run that fills tables."""
    work()
    begin = process_time()
    work()
    spent = max(process_time() - begin, 1e-6)
    return max(1, round(LEAST_SECONDS / spent))


def _seconds(work: Job, repeats: int, clock: Callable[[], float] = process_time) -> float:
    """Return the median seconds of one run."""
    return median(alternating([work], repeats, clock)[0])


def alternating(works: Sequence[Job], repeats: int, clock: Callable[[], float] = process_time) -> list[list[float]]:
    """Return the seconds of one run of each job, `repeats` times in turn, so that a busy moment of the machine meets all."""
    counts, times = [count_of(work) for work in works], [list[float]() for _ in works]
    for _ in range(repeats):
        for work, count, kept in zip(works, counts, times, strict=True):
            begin = clock()
            for _ in range(count):
                work()
            kept.append((clock() - begin) / count)
    return times


def versions() -> dict[str, str]:
    """Return what was measured on: processor word, vector instructions of the kernels, Python, NumPy."""
    form = kernel.FORMS[kernel.BEST_FORM]
    return {"machine": platform.machine(), "kernels": form, "python": platform.python_version(), "numpy": np.__version__}


def as_markdown(rows: Sequence[Rate]) -> str:
    """Return a table with rates in million elements (of matrix products: million products) a second of processor time."""
    lines = ["| job | million elements a second |", "| --- | ---: |", *(f"| {row.name} | {row.rate:.0f} |" for row in rows)]
    return "\n".join(lines) + "\n"


def as_json(rows: Sequence[Rate]) -> str:
    """Return the same as JSON, with versions."""
    return json.dumps({"versions": versions(), "rows": [row._asdict() for row in rows]}, indent=1)
