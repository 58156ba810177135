"""Runs of a configuration: their names, what decides their bits, and where they lie. Not here: running them (loop.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emu.base.errors import OperandError
from emu.spec import digest, get
from research.train.config import Config, facts


@dataclass(frozen=True)
class Run:
    """One run: a model of a configuration, a training of the spec, a seed."""

    config: Config
    model: str
    training: str
    seed: int

    @property
    def name(self) -> str:
        """Return model/training/seedN."""
        return f"{self.model}/{self.training}/seed{self.seed}"

    def folder(self, out: Path) -> Path:
        """Return where its files lie below a folder of runs."""
        return out / self.config.id / self.model / self.training / f"seed{self.seed}"


def runs_of(config: Config, only: Sequence[str] = (), seeds: Sequence[int] | None = None) -> list[Run]:
    """Return the runs of a configuration, each once, seed by seed: what is compared comes first.

    only: models and trainings; a run stays when its model and its training are among those of their sort, or none of the sort is named.
    seeds: instead of those of the file.   Raises: OperandError (a word that names no model and no training, nothing left).
    """
    named = list(dict.fromkeys(_named(config, seeds)))
    models, trainings = ({word for word in only if word in {run[place] for run in named}} for place in (0, 1))
    strange = sorted(set(only) - models - trainings)
    if strange:
        known = [*config.models, *dict.fromkeys(training for _, training, _ in named)]
        raise OperandError(f"--only {strange[0]}: no model and no training of {config.id}: one of {', '.join(known)}")
    kept = [run for run in named if (not models or run[0] in models) and (not trainings or run[1] in trainings)]
    if not kept:
        raise OperandError(f"{config.id}: no run is left: {', '.join(only)} never meet")
    return [Run(config, *run) for run in sorted(kept, key=lambda run: run[2])]


def _named(config: Config, seeds: Sequence[int] | None) -> Iterator[tuple[str, str, int]]:
    for grid in config.runs:
        for seed in grid.seeds if seeds is None else seeds:
            yield from ((model, training, seed) for model in grid.models for training in grid.trainings)


def training_digest(name: str) -> str:
    """Return the digest of a training of the spec: its own facts and those of every recipe and transform that it names."""
    return digest(get("training", name))


def identity(run: Run, data: str, machine: dict[str, str]) -> dict[str, Any]:
    """Return what decides every bit of a run.

    data: digest of what it learns from, empty where that is drawn.   machine: versions of the libraries whose arithmetic is used.
    """
    model = run.config.models[run.model].model_dump(mode="json")
    return {
        "config": facts(run.config),
        "model": model,
        "training": run.training,
        "training_digest": training_digest(run.training),
        "seed": run.seed,
        "data": data,
        **machine,
    }


def difference(kept: Any, now: Any, path: str = "") -> str | None:
    """Return the first place where two identities differ, as `path: old, now new`; None where they are equal."""
    if isinstance(kept, dict) and isinstance(now, dict):
        for key in sorted({*kept, *now}):
            found = difference(kept.get(key), now.get(key), f"{path}.{key}" if path else key)
            if found is not None:
                return found
        return None
    return None if kept == now else f"{path} was {_short(kept)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = str(value)
    return text[:16] if len(text) == 64 else text
