"""One thing that a machine may do otherwise than a contract says. The contract of each operation lists its own: `Contract.deviations`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emu.contracts.rows import Answer

Values = tuple[int, ...]


@dataclass(frozen=True)
class Deviation:
    """A single deviation.

    text: in words.   stage: the first stage that it makes wrong.   answer: values of a row -> what such a machine gives;
    None, or an EmuError: it cannot be said.   batch: the same for many rows at once, where that is much quicker.
    """

    text: str
    stage: str
    answer: Callable[[Values], Answer | None]
    batch: Callable[[Sequence[Values]], list[Answer | None]] | None = None
