"""Runs and forks, each to a file that is whole or missing, over processes. Not here: training (branch.py), what is asked (plan.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from emu.base.atomic import whole_file
from emu.base.forks import end_with
from emu.spec.carried import workers
from research.forks.branch import Branch, divergence, drawn_seed, fork_key, one_ulp_up
from research.forks.config import Forks, add_ablations, training_of
from research.forks.gradients import backward_only, compared, gradient, mean_of, products, quantized_numbers
from research.forks.plan import BASE, Fork, base_identity, base_path, forks_of, identity, read_result, units_of
from research.on_cluster import Work, make
from research.pinned import single
from research.train import checkpoint as checkpoints
from research.train.checkpoint import Checkpoint, Tensors
from research.train.corpus import read_corpus

Data = dict[str, Any]


def run_all(config: Forks, out: Path, jobs: int, done: Callable[[str], None], cluster: str | None = None) -> None:
    """Run what has no result yet: first the BF16 runs, then the forks in the order of the configuration.

    out: folder of runs.   jobs: processes, one thread each.   cluster: workers instead, as emu.base.cluster; results depend on neither.
    done: takes the name of what was finished.
    Exactness: what was killed and is run again has the same bits.   Raises: as Branch.train; FileError (files of another configuration).
    """
    forks = forks_of(config)
    bases = list(dict.fromkeys((item.model, item.seed) for item in forks))
    if cluster is not None:
        _run_on(cluster, config, out, bases, units_of(forks), done)
        return
    if jobs == 1:
        for model, seed in bases:
            done(run_base(out, config, model, seed))
        for unit in units_of(forks):
            done(run_unit(out, config, unit))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with, initargs=(os.getpid(),)) as pool:
        for waiting in (
            [pool.submit(run_base, out, config, model, seed) for model, seed in bases],
            [pool.submit(run_unit, out, config, unit) for unit in units_of(forks)],
        ):
            for item in as_completed(waiting):
                done(item.result())


def _run_on(
    cluster: str, config: Forks, out: Path, bases: Sequence[tuple[str, int]], units: Sequence[list[Fork]], done: Callable[[str], None]
) -> None:
    """Do the same by workers: each gets the files that there are of its part, and hands back what it made."""
    machine = single()

    def reads(forks: Sequence[Fork]) -> list[Path]:
        return [base_path(out, config, forks[0].model, forks[0].seed), *(fork.path(out, config) for fork in forks)]

    first = (Work(_base_name(*base), run_base, [base_path(out, config, *base)], (config, *base)) for base in bases)
    then = (Work(_unit_name(unit), run_unit, reads(unit), (config, unit)) for unit in units)
    with workers(cluster=cluster) as each:
        for works in (first, then):
            for name in make(each, out, works, machine):
                done(name)


def made_with(config: Forks) -> dict[str, str]:
    """Return what decides bits beside the configuration: libraries, one thread, instruction set, the text. Makes torch use one thread."""
    return {**single(), "data": read_corpus(config.corpus).digest}


def run_base(out: Path, config: Forks, model: str, seed: int) -> str:
    """Make a BF16 run, where its file is missing, and return its name."""
    _base(config, out, model, seed)
    return _base_name(model, seed)


def _base_name(model: str, seed: int) -> str:
    return f"{model}/seed{seed}"


def _base(config: Forks, out: Path, model: str, seed: int) -> Tensors:
    path, named = base_path(out, config, model, seed), base_identity(config, model, seed, made_with(config))
    if not path.is_file():
        branch = Branch(config, model, BASE, 0, config.base, None, fork_key(seed, -1))
        branch.train(config.base.steps)
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoints.save(path, named, Checkpoint(config.base.steps, (), branch.state()))
    return checkpoints.load(path, named).tensors


def run_unit(out: Path, config: Forks, unit: Sequence[Fork]) -> str:
    """Make the forks of one BF16 fork that have no result yet, and return what they share of their names."""
    add_ablations()
    made = made_with(config)
    left = []
    for fork in unit:
        kept = read_result(fork.path(out, config))
        if kept is None:
            left.append(fork)
        else:
            checkpoints.refuse_other(fork.path(out, config), kept["identity"], identity(config, fork, made))
    if left:
        state = _base(config, out, left[0].model, left[0].seed)
        reference = Reference(config, left[0], state)
        for fork in left:
            path = fork.path(out, config)
            path.parent.mkdir(parents=True, exist_ok=True)
            result = {"identity": identity(config, fork, made), "figures": reference.figures(fork)}
            with whole_file(path, force=True) as file:
                file.write(json.dumps(result).encode("utf-8"))
    return _unit_name(unit)


def _unit_name(unit: Sequence[Fork]) -> str:
    """Return what the forks of a unit share of their names."""
    first = unit[0]
    return f"{first.part}: {first.model}/seed{first.seed}/fork{first.fork}"


class Reference:
    """The BF16 fork of a run, and what other forks are held against: its answers at every length that is measured."""

    def __init__(self, config: Forks, first: Fork, state: Tensors) -> None:
        self.config, self.state, self.key = config, state, fork_key(first.seed, first.fork)
        self.long = first.part == "length"
        self.steps = max(config.lengths) if self.long else config.fork.steps
        self.at = config.lengths if self.long else (config.fork.steps,)
        self.base = self._branch(first.model, BASE, 0)
        self.codes = self.base.batch(0, "measured")
        self.gradient, self.records = gradient(self.base, self.codes)
        self.held_out: dict[int, tuple[float, torch.Tensor]] = {}
        self._train(self.base, lambda step: self.held_out.update({step: self.base.held_out()}))

    def _branch(self, model: str, training: Any, draw: int, state: Tensors | None = None) -> Branch:
        seed = drawn_seed(self.key, f"draws {draw}")
        return Branch(self.config, model, training, seed, self.config.fork, self.state if state is None else state, self.key)

    def _train(self, branch: Branch, measured: Callable[[int], None]) -> None:
        branch.train(self.steps, constant=self.long, at=self.at, measured=measured)

    def figures(self, fork: Fork) -> Data:
        """Run a fork and return its figures; those of lengths by length."""
        started = one_ulp_up(self.state) if fork.training == BASE and fork.draw else self.state
        branch = self._branch(fork.model, fork.training, fork.draw, started)
        exact = self._branch(fork.model, BASE, 0)
        found: Data = {} if self.long else self._gradients(fork, branch)

        def measured(step: int) -> None:
            exact.model.load_state_dict(branch.model.state_dict())
            pairs = (("", branch.held_out()), ("_exact", exact.held_out()))
            loss, true = self.held_out[step]
            for word, (own, logs) in pairs:
                found.setdefault(f"kl{word}", []).append(divergence(true, logs))
                found.setdefault(f"gap{word}", []).append(own - loss)
            found.setdefault("loss_bf16", []).append(loss)

        self._train(branch, measured)
        weights = {name: value for name, value in branch.state().items() if name.startswith("model.")}
        return {**found, "bits": checkpoints.digest_of(weights)}

    def _gradients(self, fork: Fork, branch: Branch) -> Data:
        """Return the error of the gradient and of every product, on an exact and on a quantized forward pass, at the fork."""
        own, records = gradient(branch, self.codes)
        backward = self._branch(fork.model, backward_only(training_of(fork.training)), fork.draw)
        whole = {"exact": compared(self.gradient, gradient(backward, self.codes)[0]), "quantized": compared(self.gradient, own)}
        layers = quantized_numbers(branch)
        if not layers:
            return {"gradient": whole}
        seed = drawn_seed(self.key, f"draws {fork.draw}")
        each = {
            word: products(training_of(fork.training), some, layers, seed)
            for word, some in (("exact", self.records), ("quantized", records))
        }
        return {"gradient": whole, "products": {word: mean_of(item) for word, item in each.items()}, "layers": each}
