"""Questions that are asked again at the end of a check, in another order: what a call leaves behind, and faults that come by chance.

Not here: what is asked first (inputs, matmul/default_sets.py).   Tests: tests/check/test_check_again.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from emu.base.errors import OperandError
from emu.contracts.form import Arrays

LEAST: Final = 60  # questions that are asked again
BYTES: Final = 1 << 26  # of operands and answers that are kept for it
SURE: Final = 20  # 95 %: the chance to see nothing is at most one in so many


@dataclass(frozen=True)
class Kept:
    """A question that was answered. exact: its bits are judged; else the order of summation may change them."""

    number: int
    size: int
    why: str
    operands: Arrays
    answers: Arrays
    layout: str
    exact: bool


@dataclass
class Again:
    """The cheapest questions of a check. wanted: how many are asked again, some several times where there are fewer."""

    wanted: int = LEAST
    kept: list[Kept] = field(default_factory=list)
    calls: int = 0  # whose bits were judged
    open: bool = True
    held: int = 0  # bytes

    def __post_init__(self) -> None:
        """Refuse a negative number. Raises: OperandError."""
        if self.wanted < 0:
            raise OperandError(f"repeat {self.wanted}: write how many questions are asked again, 0 for none")

    def keep(self, operands: Arrays, answers: Arrays, why: str, layout: str = "", exact: bool = True) -> None:
        """Keep a question, while it is among the cheapest; those whose bits are not judged first."""
        self.calls += exact
        if not self.open:
            return
        size = sum(array.nbytes for array in (*operands.values(), *answers.values()))
        self.kept.append(Kept(len(self.kept) + self.calls, size, why, operands, answers, layout, exact))
        self.held += size
        if len(self.kept) > 2 * self.wanted + LEAST or self.held > 2 * BYTES:
            self._least()

    def _least(self) -> None:
        """Leave what will be asked: the latest first among equally cheap ones."""
        self.kept.sort(key=lambda kept: (kept.exact, kept.size, -kept.number))
        del self.kept[self.wanted :]
        room = BYTES
        for place, kept in enumerate(self.kept):
            room -= kept.size
            if room < 0 and place:
                del self.kept[place:]
                break
        self.kept.sort(key=lambda kept: (kept.size, -kept.number))
        self.held = sum(kept.size for kept in self.kept)

    def differing(self, call: Callable[[Kept], Arrays]) -> Iterator[tuple[Kept, str]]:
        """Ask again, cheap ones first, and yield each question with another answer, and where. call: a question -> its answers."""
        self._least()
        self.open = False
        for number in range(self.wanted if self.kept else 0):
            kept = self.kept[number % len(self.kept)]
            self.calls += kept.exact
            place = _other(kept.answers, call(kept))
            if place:
                yield kept, f"other answer to the same question: {kept.why}, {place}"


def _other(first: Arrays, second: Arrays) -> str:
    """Return where two answers to one question differ, "" where nowhere."""
    for name, array in first.items():
        again = second.get(name)
        if again is None or again.shape != array.shape:
            return f"{name} was {array.shape}, and {'nothing' if again is None else again.shape} when it was asked again"
        if not np.array_equal(array, again):
            at = tuple(int(index) for index in np.argwhere(array != again)[0])
            where = f"{name}[{', '.join(map(str, at))}]" if at else name
            return f"{where} was {int(array[at]):#x}, and {int(again[at]):#x} when it was asked again"
    return ""


def rarest(calls: int) -> int:
    """Return the largest N for which a fault in 1 of N calls, by chance, shows in so many with 95 %: (1 - 1/N)^calls <= 1/20."""
    low, high = 1, calls + 2
    while high - low > 1:
        middle = (low + high) // 2
        if SURE * (middle - 1) ** calls <= middle**calls:
            low = middle
        else:
            high = middle
    return low


def line(calls: int, again: int) -> str:
    """Return the line of a report."""
    return f"calls: {calls}, {again} of them a question asked again in another order; a fault in 1 of {rarest(calls)} calls shows with 95 %"
