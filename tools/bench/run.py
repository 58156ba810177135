"""The measurement: emu and the peer alternate, medians of processor time. What is measured is in cases.py."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from emu.bench.run import SEED
from tools.bench.cases import Case, cases
from tools.bench.checks import run_checks
from tools.bench.dots import run_dots
from tools.bench.suites import run_suites
from tools.bench.table import Measurement, rates
from tools.bench.training import run_training


def run(
    elements: int = 1 << 24, repeats: int = 5, only: str = "", progress: Callable[[str], None] | None = None, jobs: int = 1
) -> list[Measurement]:
    """Measure every case whose name contains `only`.

    elements: of a float32 matrix with 4096 columns (fewer when small); matrix products have shapes of their own.
    repeats: runs of each side, alternating.
    progress: called with the name of each case.   jobs: threads of the matrix products that are measured beside one thread.
    Returns: one Measurement for each case that can run here.
    """
    columns = min(4096, elements)
    shape, rng = (max(elements // columns, 1), columns), np.random.default_rng(SEED)
    data = {"normal": rng.standard_normal(shape, dtype=np.float32)}
    data["bits"] = rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
    found = []
    for case in cases():
        if only in case.name:
            if progress is not None:
                progress(case.name)
            found += _measure(case, data[case.data], repeats)
    return [
        *found,
        *run_dots(repeats, only, progress, jobs),
        *run_suites(repeats, only, progress),
        *run_checks(elements, repeats, only, progress),
        *run_training(repeats, only, progress),
    ]


def _measure(case: Case, x: Any, repeats: int) -> list[Measurement]:
    """Alternate emu and the peer, so that a busy moment of the machine meets both; nothing where the case cannot run here."""
    job, other = case.job(x), case.peer_job(x)
    if job is None:
        return []
    times: list[float] = []
    peer_times: list[float] = []
    for turn in range(repeats + 1):
        for work, kept in ((job, times), (other, peer_times)):
            if work is not None:
                begin = process_time()
                work()
                if turn:
                    kept.append(process_time() - begin)
    return [Measurement(case.name, x.size, rates(x.size, times), case.peer, rates(x.size, peer_times), case.promised)]
