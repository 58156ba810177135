"""Facts decide, never ids: a copy of every shipped object under another id gets the same engine and the same answers.

Each order runs in a process of its own: what is asked first must not find its answer in a cache that the other one filled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.whole import tries

SCRIPT = Path(__file__).with_name("copies.py")
OPERATIONS = {"decode", "amax", "convert", "transform", "quantize", "dequantize", "dot"}


def answers(folder: Path, first: str, every: int) -> dict[str, list[Any]]:
    """What the script prints, checked to be about every operation."""
    command = [sys.executable, "-P", str(SCRIPT), str(folder), first, str(every)]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parent)}  # where the script finds its sibling
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    found: dict[str, list[Any]] = json.loads(run.stdout)
    assert {name.partition("/")[0] for name in found} == OPERATIONS
    assert sum(len(original) > 2 for original, _ in found.values()) > 0.6 * len(found)  # most have a second engine, also without torch
    return found


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("first", ["original", "copy"])
def test_a_copy_under_another_id_is_the_same_thing(tmp_path: Path, first: str) -> None:
    found = answers(tmp_path, first, tries(397, 61))
    assert [name for name, (original, copy) in found.items() if original != copy] == []


@pytest.mark.cases(0, 0)
def test_every_copy_in_both_orders(tmp_path: Path) -> None:
    both = [answers(tmp_path / first, first, 1) for first in ("original", "copy")]
    assert both[0] == both[1]
    assert [name for name, (original, copy) in both[0].items() if original != copy] == []
