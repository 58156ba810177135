"""Random integers for rows of dot products: Philox4x32-10 words of one row, taken one after another. No floats, no state outside a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from emu.base import philox
from emu.contracts.suites import SEED

PER_ROW: Final = 1 << 14  # words that a row may take
STEP: Final = 256
Item = TypeVar("Item")


class Draw:
    """The random words of one row. stream: names the list of rows.   row: its number."""

    def __init__(self, stream: int, row: int) -> None:
        self.stream, self.start, self.used = stream, row * PER_ROW, 0
        self.held: list[int] = []

    def word(self) -> int:
        """Return the next 32-bit word."""
        if self.used == len(self.held):
            self.held += philox.words(SEED, STEP, self.start + self.used, self.stream).tolist()
        self.used += 1
        return self.held[self.used - 1]

    def below(self, count: int) -> int:
        """Return an integer of 0 .. count - 1; count up to 2^64."""
        wide = self.word() if count <= 1 << 16 else self.word() << 32 | self.word()
        return wide * count >> (32 if count <= 1 << 16 else 64)

    def between(self, low: int, high: int) -> int:
        """Return an integer of low .. high; low where the range is empty."""
        return low + self.below(max(1, high - low + 1))

    def chance(self, percent: int) -> bool:
        """Return true in `percent` of 100 draws."""
        return self.below(100) < percent

    def bits(self, count: int) -> int:
        """Return an integer of `count` bits."""
        return self.below(1 << count)

    def of(self, items: Sequence[Item]) -> Item:
        """Return one of some things."""
        return items[self.below(len(items))]

    def some(self, count: int, wanted: int) -> list[int]:
        """Return `wanted` different places of 0 .. count - 1, in random order."""
        places = list(range(count))
        for i in range(min(wanted, count)):
            j = self.between(i, count - 1)
            places[i], places[j] = places[j], places[i]
        return places[:wanted]

    def normal(self) -> int:
        """Return a number of mean 0 and standard deviation 256: twelve bytes added, the nearest thing to a normal draw in integers."""
        total = 0
        for _ in range(3):
            word = self.word()
            total += sum(word >> shift & 255 for shift in (0, 8, 16, 24))
        return total - 1530
