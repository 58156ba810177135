"""The record of forks: the configuration and a line for each fork. Not here: what follows from it (evidence.py, research.pages)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.files.record import Record, changed, opens
from research.forks.config import Forks, digest_of
from research.forks.plan import BASE, Fork, forks_of, read_result, training_digest

RECORD: Final = "docs/evidence/forks.json"
COMMAND: Final = f"python -m research forks run --record {RECORD}"
_MADE: Final = ("torch", "threads", "cpu", "data")
KIND: Final = Record(
    "record of forks", f"make it with: {COMMAND}", opens("runs", "trainings"), ("config", "trainings", "planned", "runs", "layers")
)
Data = dict[str, Any]


def collected(config: Forks, out: Path) -> Data:
    """Return the record of all finished forks of a configuration.

    Raises: FileError (nothing is finished; forks made by different libraries or on different text).
    """
    planned = forks_of(config)
    found = [(fork, result) for fork in planned if (result := read_result(fork.path(out, config))) is not None]
    made = {json.dumps([result["identity"][word] for word in _MADE]) for _, result in found}
    if len(made) != 1:
        why = "forks of different libraries or texts: run all of them in one place" if made else "no finished fork: run it first"
        raise FileError(f"{out / config.id}: {why}")
    return {
        "command": COMMAND,
        "config": config.model_dump(mode="json", exclude_none=True),
        "config_digest": digest_of(config),
        "made_with": dict(zip(_MADE, json.loads(made.pop()), strict=True)),
        "trainings": {name: training_digest(name) for name in dict.fromkeys([BASE, *(fork.training for fork, _ in found)])},
        "planned": dict(Counter(fork.part for fork in planned)),
        "runs": [_line(fork, result["figures"]) for fork, result in found],
        "layers": _layers(config, found),
    }


def short(value: Any) -> Any:
    """Return a figure with six digits, also inside lists and dictionaries."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


def _line(fork: Fork, figures: Data) -> Data:
    return {**vars(fork), **{key: short(value) for key, value in figures.items() if key != "layers"}}


def _layers(config: Forks, found: Sequence[tuple[Fork, Data]]) -> Data:
    """Return training -> model -> forward pass -> product -> layer -> figures, the mean over forks, of the two primary trainings."""
    sums: Any = {}
    for fork, result in found:
        if fork.part == "primary" and fork.draw == 0 and fork.training in (config.primary.better, config.primary.worse):
            for forward, products in result["figures"]["layers"].items():
                for gemm, layers in products.items():
                    for label, figures in layers.items():
                        place = sums.setdefault(fork.training, {}).setdefault(fork.model, {}).setdefault(forward, {}).setdefault(gemm, {})
                        place.setdefault(label, []).append(figures)
    means: Data = _means(sums)
    return means


def _means(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _means(item) for key, item in value.items()}
    return [float(f"{sum(column) / len(column):.4g}") for column in zip(*value, strict=True)]


def stale(kept: Data) -> list[str]:
    """Return the trainings of a record that the spec says otherwise now; empty when it still fits."""
    known = kept["trainings"]
    return sorted(changed(known, {name: training_digest(name) for name in known}))
