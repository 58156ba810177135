"""Golden vectors: rows a second of `exact`, and of writing a suite with every other engine beside it, against the rates aimed at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Final, NamedTuple

from emu.vectors.files.write import write_suite
from emu.vectors.suites.plan import SuitePlan, find
from tools.bench.table import Measurement

MOST: Final = 4096  # rows of one run of the reference model


class SuiteCase(NamedTuple):
    """One row. stem: suite.   writes: the whole suite with all files, else the reference model alone.   aim: rows a second."""

    name: str
    stem: str
    writes: bool
    aim: int


CASES: Final = (
    SuiteCase("vectors exact convert", "convert__fp32_to_e2m1__nvidia_rne__random", False, 20_000),
    SuiteCase("vectors exact convert sr", "convert__fp32_to_e2m1__nvidia_sr_add8__random", False, 20_000),
    SuiteCase("vectors exact dot", "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__random", False, 5_000),
    SuiteCase("vectors write convert", "convert__bf16_to_e2m1__nvidia_rne__all", True, 1_000_000),
    SuiteCase("vectors write dot", "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__random", True, 100_000),
)


def run_suites(repeats: int, only: str, progress: Callable[[str], None] | None = None) -> Iterator[Measurement]:
    """Measure every case whose name contains `only`; rates in thousand rows a second of processor time, the aim in the place of a peer."""
    for case in CASES:
        if only in case.name:
            if progress is not None:
                progress(case.name)
            plan = find(case.stem)
            work = _write if case.writes else _derive
            times, rows = [], 0
            for _ in range(max(1, repeats // 2)):
                seconds, rows = work(plan)
                times.append(seconds)
            yield Measurement(case.name, rows, tuple(rows / each / 1e3 for each in times), "aim", (case.aim / 1e3,), 1)


def _derive(plan: SuitePlan) -> tuple[float, int]:
    """Return (seconds, rows) of the reference model alone; making the cases is not counted."""
    cases = plan.cases(0, min(plan.size, MOST))
    begin = process_time()
    for case in cases:
        plan.operation.exact(case.values)
    return process_time() - begin, len(cases)


def _write(plan: SuitePlan) -> tuple[float, int]:
    """Return (seconds, rows) of a whole suite: cases, reference model, every other engine, all files."""
    with tempfile.TemporaryDirectory(prefix="emu_") as folder:
        begin = process_time()
        write_suite(plan, Path(folder) / "out", Path(folder) / "work")
        return process_time() - begin, plan.size
