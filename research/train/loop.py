"""The one training loop: steps, checkpoints, the result of a run. Not here: models and data, what is shown while it runs (emu.cli)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import torch

from emu import nn as quantized
from emu.base.atomic import whole_file
from emu.base.errors import FileError, OperandError
from research.pinned import machine
from research.train import checkpoint as checkpoints
from research.train.capture import captured_path, write_captured
from research.train.checkpoint import Checkpoint
from research.train.config import Optimizer
from research.train.experiment import Experiment, weight_count
from research.train.plan import Run, identity
from research.train.results import RESULT, WEIGHTS, read_result

CHECKPOINT: Final = "checkpoint.safetensors"
Tick = Callable[[int, float], None]


def learning_rate(step: int, steps: int, facts: Optimizer) -> float:
    """Return the learning rate of a step: linear rise, then half a cosine to the last one."""
    if step < facts.warmup:
        return facts.lr * (step + 1) / facts.warmup
    done = (step - facts.warmup) / max(steps - facts.warmup, 1)
    return facts.final_lr + (facts.lr - facts.final_lr) * 0.5 * (1 + math.cos(math.pi * done))


def train(
    run: Run, out: Path, make: Callable[[Run], Experiment], data: str = "", captures: Sequence[int] = (), tick: Tick = lambda *_: None
) -> dict[str, Any]:
    """Run to the end, from its last checkpoint where there is one, and return its result (results.py).

    out: folder of runs.   make: builds the experiment of a run.   data: digest of what it learns from.   captures: steps whose operands
    are kept.   tick: called after each step with its number and its loss.   Exactness: a run that was killed and went on has the bits of
    one that was not.   Raises: FileError (files of another configuration), OperandError (the loss is no number; NaN in a gradient).
    """
    folder = run.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    named = identity(run, data, machine())
    done = read_result(folder)
    if done is not None:
        checkpoints.refuse_other(folder / RESULT, done["identity"], named)
        _refuse_missing(folder, captures)
        return done
    begin = time.monotonic()
    experiment = make(run)
    optimizer = optimizer_of(experiment.model, run.config.optimizer)
    start, curve = _resumed(folder / CHECKPOINT, named, experiment, optimizer)
    for step in range(start, run.config.steps):
        set_rate(optimizer, learning_rate(step, run.config.steps, run.config.optimizer))
        curve.append(_step(run, experiment, optimizer, step, folder if step in captures else None))
        tick(step, curve[-1])
        if (step + 1) % run.config.checkpoint_every == 0 and step + 1 < run.config.steps:
            state = checkpoints.state_of(experiment.model, optimizer, experiment.generator)
            checkpoints.save(folder / CHECKPOINT, named, Checkpoint(step + 1, tuple(curve), state))
    return _finish(folder, run, named, experiment, optimizer, curve, time.monotonic() - begin)


def _refuse_missing(folder: Path, captures: Sequence[int]) -> None:
    """Raises: FileError (a step is asked for that a finished run did not keep)."""
    for step in captures:
        if not captured_path(folder, step).is_file():
            raise FileError(f"{folder}: the run is finished and kept nothing of step {step}: give --capture with another --out")


def optimizer_of(model: torch.nn.Module, facts: Optimizer) -> torch.optim.Optimizer:
    """Return AdamW over all parameters of a model."""
    return torch.optim.AdamW(model.parameters(), lr=facts.lr, betas=facts.betas, weight_decay=facts.weight_decay, foreach=False)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def _resumed(path: Path, named: dict[str, Any], experiment: Experiment, optimizer: torch.optim.Optimizer) -> tuple[int, list[float]]:
    if not path.is_file():
        return 0, []
    found = checkpoints.load(path, named)
    checkpoints.restore(found.tensors, experiment.model, optimizer, experiment.generator)
    return found.step, list(found.curve)


def _step(run: Run, experiment: Experiment, optimizer: torch.optim.Optimizer, step: int, captured: Path | None) -> float:
    quantized.set_step(experiment.model, step)
    batch = experiment.batch()
    optimizer.zero_grad(set_to_none=True)
    with ExitStack() as stack:
        found = stack.enter_context(quantized.capture(experiment.model)) if captured is not None else []
        loss = experiment.loss(batch)
        loss.backward()
    if captured is not None:
        write_captured(captured_path(captured, step), found, run.name, step)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise OperandError(f"{run.name}: the loss of step {step} is {value}: lower optimizer.lr of {run.config.id}")
    if run.config.optimizer.clip is not None:
        torch.nn.utils.clip_grad_norm_(experiment.model.parameters(), run.config.optimizer.clip, foreach=False)
    optimizer.step()
    return value


def _finish(
    folder: Path,
    run: Run,
    named: dict[str, Any],
    experiment: Experiment,
    optimizer: torch.optim.Optimizer,
    curve: list[float],
    seconds: float,
) -> dict[str, Any]:
    """Measure, write weights and result, drop the checkpoint."""
    quantized.set_step(experiment.model, run.config.steps)
    experiment.model.eval()
    with torch.no_grad():
        metric = experiment.metric()
    state = checkpoints.state_of(experiment.model, optimizer, experiment.generator)
    weights = {name: value for name, value in state.items() if name.startswith("model.")}
    checkpoints.save(folder / WEIGHTS, named, Checkpoint(run.config.steps, (), weights))
    bits = checkpoints.digest_of(weights)
    result = {"identity": named, "model": run.model, "training": run.training, "seed": run.seed, "metric": metric, "bits": bits}
    result |= {"weights": weight_count(experiment.model), "seconds": round(seconds, 1), "curve": curve}
    with whole_file(folder / RESULT, force=True) as file:
        file.write(json.dumps(result).encode("utf-8"))
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return result
