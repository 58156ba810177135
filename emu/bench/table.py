"""Measurements as a Markdown table and as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence

import numpy as np

from emu.bench.measurement import Measurement
from emu.bench.model import Stage
from emu.bench.peers import installed
from emu.engines.native import convert as kernel


def versions() -> dict[str, str]:
    """Return what was measured on: processor word, Python, NumPy and the peers."""
    packages = {name: installed(name) or "not installed" for name in ("ml_dtypes", "torch", "torchao", "mmasim")}
    form = kernel.FORMS[kernel.BEST_FORM]
    return {"machine": platform.machine(), "kernels": form, "python": platform.python_version(), "numpy": np.__version__, **packages}


def as_markdown(rows: Sequence[Measurement]) -> str:
    """Return a table with rates in million elements (of matrix products: million products) a second of processor time."""
    lines = ["| job | emu | peer | peer's rate | ratio | promised |", "| --- | ---: | --- | ---: | ---: | ---: |"]
    for row in rows:
        rate = "-" if row.peer_rate is None else f"{row.peer_rate:.0f}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio < 1 else f"{row.ratio:.1f}"
        promised = "-" if row.promised is None else f"{row.promised:g}"
        lines.append(f"| {row.name} | {row.rate:.0f} | {row.peer or '-'} | {rate} | {ratio} | {promised} |")
    return "\n".join(lines) + "\n"


def model_markdown(elements: int, stages: Sequence[Stage]) -> str:
    """Return the table of one model's stages."""
    lines = [f"{elements} elements", "", "| stage | seconds | million elements a second |", "| --- | ---: | ---: |"]
    lines += [f"| {stage.name} | {stage.seconds:.3f} | {stage.rate:.0f} |" for stage in stages]
    return "\n".join(lines) + "\n"


def model_json(elements: int, stages: Sequence[Stage]) -> str:
    """Return the same as JSON, with versions."""
    return json.dumps({"versions": versions(), "elements": elements, "stages": [vars(stage) for stage in stages]}, indent=1)


def as_json(rows: Sequence[Measurement]) -> str:
    """Return the same as JSON, with versions."""
    body = [
        {
            "name": r.name,
            "elements": r.elements,
            "rate": r.rate,
            "peer": r.peer,
            "peer_rate": r.peer_rate,
            "ratio": r.ratio,
            "promised": r.promised,
        }
        for r in rows
    ]
    return json.dumps({"versions": versions(), "rows": body}, indent=1)
