"""Speed of two builds by alternating processes: the median of new / old, beside the spread of old / old on the same machine."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import Any


def speed(pythons: tuple[str, str], rounds: int, start: Any, say: Any) -> bool:
    """Time the main operations x engines: each round runs old, new and old again. Returns: whether no case is slower.

    A case is slower when the median of new / old lies above the upper quartile of the ratios of old to old of the same rounds.
    """
    sides = (("old", pythons[0]), ("new", pythons[1]), ("again", pythons[0]))
    times: dict[str, list[dict[str, float]]] = {side: [] for side, _ in sides}
    with tempfile.TemporaryDirectory(prefix="compare_speed_") as name:
        torch = all(_has_torch(python, start, Path(name) / f"facts{i}") for i, python in enumerate(pythons))
        for number in range(rounds):
            for side, python in sides:
                times[side].append(_run(python, "speed", start, Path(name) / f"{number}{side}", torch))
    say(f"{'operation/engine':48}{'old ms':>10}{'new/old':>9}{'old/old, quartiles':>20}")
    slower = []
    for key in sorted(set(times["old"][0]) & set(times["new"][0])):
        ratios = sorted(new[key] / old[key] for new, old in zip(times["new"], times["old"], strict=True))
        noise = [one[key] / two[key] for one, two in zip(times["again"], times["old"], strict=True)]
        low, _, high = quantiles([*noise, *(1 / ratio for ratio in noise)], n=4)
        word = "  SLOWER" if median(ratios) > high else ""
        slower += [key] if word else []
        say(f"{key:48}{1000 * median(item[key] for item in times['old']):10.3f}{median(ratios):9.3f}{f'{low:.3f} to {high:.3f}':>20}{word}")
    lost = sorted(set(times["old"][0]) - set(times["new"][0]))
    say(f"slower: {', '.join(slower) or 'none'}" + (f"; only in old: {', '.join(lost)}" if lost else ""))
    return not slower and not lost


def _has_torch(python: str, start: Any, folder: Path) -> bool:
    return bool(_run(python, "facts", start, folder, False)["torch"])


def _run(python: str, group: str, start: Any, folder: Path, torch: bool) -> dict[str, Any]:
    """Run the driver alone on the machine. Raises: SystemExit when it fails."""
    process, out = start(python, group, folder, torch)
    if process.wait():
        raise SystemExit(f"compare_builds: {python}: " + (folder / "driver.err").read_text(encoding="utf-8")[-500:])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found
