"""Results of runs: one JSON file a run, and the record that collects them. Not here: statistics.py, the page (research.pages)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.files.record import Place, changed
from emu.files.record import Record as Kind
from research.train.config import Config, digest_of
from research.train.plan import Run, training_digest

RESULT: Final = "result.json"
WEIGHTS: Final = "weights.safetensors"
RECORD: Final = "docs/evidence/training.json"
POINTS: Final = 25  # of a loss curve in a record: each the mean of a stretch of steps
Record = dict[str, Any]


def read_result(folder: Path) -> dict[str, Any] | None:
    """Return the result of a finished run, or None. Raises: FileError (a damaged file)."""
    path = folder / RESULT
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if {"identity", "metric", "curve"} <= set(found):
            return found
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, TypeError):
        pass
    raise FileError(f"{path}: no result of python -m research train: delete it, and the run starts anew")


def finished(runs: Iterable[Run], out: Path) -> list[tuple[Run, dict[str, Any]]]:
    """Return the runs that have a result, and it."""
    return [(run, found) for run in runs if (found := read_result(run.folder(out))) is not None]


def thinned(curve: Sequence[float], points: int = POINTS) -> list[tuple[int, float]]:
    """Return (last step, mean loss) of equal stretches of a curve, at most so many."""
    points = min(points, len(curve))
    ends = [round(len(curve) * (place + 1) / points) for place in range(points)]
    return [(end, sum(curve[begin:end]) / (end - begin)) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def section(config: Config, command: str, found: Sequence[tuple[Run, dict[str, Any]]], planned: int) -> Record:
    """Return what a record keeps of a configuration: on which facts, and a line for each finished run.

    Raises: FileError (runs made by different libraries or on different data).
    """
    machines = {json.dumps([item["identity"][word] for word in ("torch", "threads", "cpu", "data")]) for _, item in found}
    if len(machines) > 1:
        raise FileError(f"{config.id}: its runs were made by different libraries or on different data: run all of them again in one place")
    made = dict(zip(("torch", "threads", "cpu", "data"), json.loads(machines.pop()), strict=True)) if machines else {}
    return {
        "command": command,
        "config": config.model_dump(mode="json", exclude_none=True),
        "config_digest": digest_of(config),
        "made_with": made,
        "trainings": {run.training: item["identity"]["training_digest"] for run, item in found},
        "planned": planned,
        "runs": [_line(run, item) for run, item in found],
    }


def _line(run: Run, item: dict[str, Any]) -> dict[str, Any]:
    curve = [[step, float(f"{value:.5g}")] for step, value in thinned(item["curve"])]
    kept = ("metric", "bits", "weights", "seconds")
    return {"model": run.model, "training": run.training, "seed": run.seed, **{word: item[word] for word in kept}, "curve": curve}


def _opened(place: Place, _: Any) -> bool:
    """One line a fact of each configuration, and a run."""
    return len(place) < 2 or (len(place) == 2 and place[1] == "runs")


def _check(found: Record) -> None:
    for name, item in found.items():
        missing = {"command", "config", "runs", "trainings"} - set(item)
        if missing:
            raise ValueError(f"{name} has no {', '.join(sorted(missing))}")


KIND: Final = Kind("record of training", f"make it with: python -m research train --config NAME --record {RECORD}", _opened, check=_check)
read_record, as_text = KIND.read, KIND.text


def stale(kept: Record) -> list[str]:
    """Return the trainings that a record's runs were made under and that the spec says otherwise now; empty when it still fits."""
    known = {name: made for item in kept.values() for name, made in item["trainings"].items()}
    return sorted(changed(known, {name: training_digest(name) for name in known}))
