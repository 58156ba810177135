"""One measured row, and rows as a Markdown table and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from emu.bench.run import versions as of_machine
from tools.bench.peers import installed


@dataclass(frozen=True)
class Measurement:
    """One row: what emu and the peer did in each of `repeats` alternating runs over the same elements.

    rates, peer_rates: million elements a second of processor time, a number for each run. peer_rates: empty where the peer is not
    installed, one number where the peer is an aim.   promised: least ratio, or None.
    """

    name: str
    elements: int
    rates: tuple[float, ...]
    peer: str
    peer_rates: tuple[float, ...]
    promised: float | None

    @property
    def rate(self) -> float:
        """The median of emu's runs."""
        return median(self.rates)

    @property
    def peer_rate(self) -> float | None:
        """The median of the peer's runs."""
        return median(self.peer_rates) if self.peer_rates else None

    @property
    def ratio(self) -> float | None:
        """emu's rate over the peer's."""
        return None if self.peer_rate is None else self.rate / self.peer_rate


def rates(elements: int, seconds: Sequence[float]) -> tuple[float, ...]:
    """Return million elements a second of each run. seconds: of a run over so many elements."""
    return tuple(elements / max(each, 1e-9) / 1e6 for each in seconds)


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


def as_data(rows: Sequence[Measurement]) -> dict[str, Any]:
    """Return a run as data: the versions, and of each row all that was measured."""
    body = [{**asdict(row), "rate": row.rate, "peer_rate": row.peer_rate, "ratio": row.ratio} for row in rows]
    return {"versions": versions(), "rows": body}
