"""The forks of a configuration: their names and order, what decides their bits, where results lie. Not here: running them (runs.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.spec import digest
from research.forks.config import Forks, base_facts, fork_facts, training_of

BASE: Final = "bf16"  # the training of the runs that are forked, and of the fork that others are held against


@dataclass(frozen=True)
class Fork:
    """One fork: a training from a BF16 run on, with an order of batches and a set of signs and random bits."""

    part: str
    model: str
    seed: int
    fork: int
    training: str
    draw: int

    @property
    def name(self) -> str:
        """Return model/seedN/forkN/training/drawN, with the part where lengths are looked at."""
        end = "/length" if self.part == "length" else ""
        return f"{self.model}/seed{self.seed}/fork{self.fork}/{self.training}/draw{self.draw}{end}"

    def path(self, out: Path, config: Forks) -> Path:
        """Return the file of its result."""
        return out / config.id / f"{self.name}.json"


def forks_of(config: Forks) -> list[Fork]:
    """Return all forks, in the order of the grids, seed by seed: what is stopped early has whole runs of all models.

    Draw 0 of BF16 is what all are held against: it is no fork of its own.
    """
    found = [
        Fork(grid.part, model, seed, fork, training, draw)
        for grid in config.grids
        for seed in grid.seeds
        for model in grid.models
        for fork in grid.forks
        for training in grid.trainings
        for draw in grid.draws
        if (training, draw) != (BASE, 0)
    ]
    return list({item.name: item for item in found}.values())


def units_of(forks: Sequence[Fork]) -> list[list[Fork]]:
    """Return the forks that share a BF16 fork, together: what one process does at a time."""
    found: dict[tuple[str, str, int, int], list[Fork]] = {}
    for item in forks:
        found.setdefault((item.part, item.model, item.seed, item.fork), []).append(item)
    return list(found.values())


def base_path(out: Path, config: Forks, model: str, seed: int) -> Path:
    """Return the file of a BF16 run: weights and moments after its last step."""
    return out / config.id / model / f"seed{seed}" / "base.safetensors"


def base_identity(config: Forks, model: str, seed: int, made_with: dict[str, str]) -> dict[str, Any]:
    """Return what decides every bit of a BF16 run. made_with: libraries, threads, instruction set, digest of the text."""
    facts = {"config": base_facts(config), "model": config.models[model].model_dump(mode="json"), "seed": seed}
    return {**facts, "training_digest": training_digest(BASE), **made_with}


def identity(config: Forks, fork: Fork, made_with: dict[str, str]) -> dict[str, Any]:
    """Return what decides every bit of a fork and of its figures."""
    own = {"fork": fork.fork, "draw": fork.draw, "fork_digest": training_digest(fork.training), "length": fork.part == "length"}
    return {**base_identity(config, fork.model, fork.seed, made_with), "config": fork_facts(config), **own}


def training_digest(name: str) -> str:
    """Return the digest of a training: its own facts and those of every recipe and transform that it names."""
    return digest(training_of(name))


def read_result(path: Path) -> dict[str, Any] | None:
    """Return the result of a finished fork, or None. Raises: FileError (a damaged file)."""
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if {"identity", "figures"} <= set(found):
            return found
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, TypeError):
        pass
    raise FileError(f"{path}: no result of python -m research forks: delete it, and the fork is run anew")
