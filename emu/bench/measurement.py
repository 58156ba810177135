"""One measured row."""

from __future__ import annotations

from dataclasses import dataclass

SEED = 2606


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
