"""Worked examples of coverage models: one row each, its bins by the code that gives axes their meaning."""

from __future__ import annotations

from typing import Any

from emu.spec import Coverage
from emu.vectors.coverage.count import subject_of
from emu.vectors.coverage.model import row_bins
from emu.vectors.suites.plan import find


def check(model: Coverage, example: Any) -> str | None:
    """Return None when a worked example holds, else which cross says something else."""
    op = find(example.stem).operation
    if op.name.op != model.facts.op:
        return f"{example.stem} is no suite of {model.facts.op}"
    found = row_bins(subject_of(op), model, tuple(int(text, 16) for text in example.given))
    for name, wanted in example.bins.items():
        if sorted(found.get(name, ())) != sorted(wanted):
            return f"{name}: {', '.join(found.get(name, ())) or 'no bin'}, not {', '.join(wanted) or 'no bin'}"
    return None
