"""One measured row, and rows as a Markdown table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from emu.bench.run import versions as of_machine
from tools.bench.peers import installed


@dataclass(frozen=True)
class Measurement:
    """One row: processor time of emu and of the peer over the same elements, medians of `repeats` alternating runs.

    rate, peer_rate: million elements a second; peer_rate None where the peer is not installed.   promised: least ratio, or None.
    """

    name: str
    elements: int
    rate: float
    peer: str
    peer_rate: float | None
    promised: float | None

    @property
    def ratio(self) -> float | None:
        """emu's rate over the peer's."""
        return None if self.peer_rate is None else self.rate / self.peer_rate


def versions() -> dict[str, str]:
    """Return what was measured on: processor word, Python, NumPy and the peers."""
    return {**of_machine(), **{name: installed(name) or "not installed" for name in ("ml_dtypes", "torch", "torchao", "mmasim")}}


def as_markdown(rows: Sequence[Measurement]) -> str:
    """Return a table with rates in million elements (of matrix products: million products) a second of processor time."""
    lines = ["| job | emu | peer | peer's rate | ratio | promised |", "| --- | ---: | --- | ---: | ---: | ---: |"]
    for row in rows:
        rate = "-" if row.peer_rate is None else f"{row.peer_rate:.0f}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio < 1 else f"{row.ratio:.1f}"
        promised = "-" if row.promised is None else f"{row.promised:g}"
        lines.append(f"| {row.name} | {row.rate:.0f} | {row.peer or '-'} | {rate} | {ratio} | {promised} |")
    return "\n".join(lines) + "\n"


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
