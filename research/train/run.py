"""Runs one after the other: which experiment a configuration needs, on which text. Not here: one run (loop.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from emu.base.errors import ToolError
from emu.spec.carried import workers
from research.on_cluster import Work, make
from research.pinned import single
from research.train.config import Config, Decoders
from research.train.corpus import mismatch, read_corpus
from research.train.decoder import DecoderRun
from research.train.experiment import Experiment
from research.train.loop import CHECKPOINT, train
from research.train.plan import Run
from research.train.results import read_result
from research.train.student_teacher import StudentTeacherRun


class View(Protocol):
    """Who watches runs."""

    def started(self, run: Run) -> None:
        """Learn that a run begins."""

    def step(self, step: int, loss: float) -> None:
        """Learn of a step."""

    def finished(self, run: Run, result: dict[str, Any], trained: bool) -> None:
        """Learn that a run is finished; trained: now, not earlier."""


def run_all(
    runs: Sequence[Run],
    out: Path,
    captures: Sequence[int],
    threads: int,
    view: View,
    note: Callable[[str], None],
    cluster: str | None = None,
) -> list[tuple[Run, dict[str, Any]]]:
    """Train runs of one configuration and return their results.

    out: folder of runs.   captures: steps whose operands are kept.   threads: of torch, part of what decides the bits.
    note: takes a line for the user.   cluster: workers that train, as emu.base.cluster; results do not depend on them.
    Raises: as research.train.loop.train; ToolError (no CUDA device).
    """
    torch.set_num_threads(threads)
    config = runs[0].config
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ToolError(f"{config.id} runs on CUDA and there is no device: take a configuration with device cpu")
    make, data = _experiment(config, note)
    found = []
    if cluster is not None:
        _train_on(cluster, runs, out, captures, threads, note)
    for run in runs:
        view.started(run)
        before = read_result(run.folder(out)) is not None
        result = train(run, out, make, data, captures, view.step)
        view.finished(run, result, not before)
        found.append((run, result))
    return found


def _train_on(cluster: str, runs: Sequence[Run], out: Path, captures: Sequence[int], threads: int, note: Callable[[str], None]) -> None:
    """Let workers train the runs that are not finished: each goes on from the checkpoint that is there, and hands back its result."""
    left = [run for run in runs if read_result(run.folder(out)) is None]
    machine = single()
    torch.set_num_threads(threads)

    works = (Work(run.name, _train_in, run.folder(out).rglob("*"), (run, captures, threads)) for run in left)
    with workers(cluster=cluster) as each:
        for run, name in zip(left, make(each, out, works, machine), strict=True):
            (run.folder(out) / CHECKPOINT).unlink(missing_ok=True)
            note(f"{name}: trained")


def _train_in(out: Path, run: Run, captures: Sequence[int], threads: int) -> None:
    torch.set_num_threads(threads)
    make, data = _experiment(run.config, lambda _: None)
    train(run, out, make, data, captures)


def _experiment(config: Config, note: Callable[[str], None]) -> tuple[Callable[[Run], Experiment], str]:
    """Return what makes the experiment of a run, and the digest of what it learns from."""
    if not isinstance(config, Decoders):
        return StudentTeacherRun, ""
    text = read_corpus(config.corpus)
    line = mismatch(config.corpus, text)
    if line is not None:
        note(line)
    return DecoderRun, text.digest
