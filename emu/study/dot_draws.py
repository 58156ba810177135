"""Random choices for rows of a dot product: Philox4x32-10 words of a key and a named place, so that every row is drawn alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from emu import philox

Item = TypeVar("Item")
_BATCH = 256


class Draws:
    """Choices of one row. key: 64-bit.   place: names the row; the same key and place give the same choices."""

    def __init__(self, key: int, place: str) -> None:
        philox.check_key(key)
        self._key, self._stream, self._next = key, philox.stream_of(place), 0
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next 32 bits."""
        if not self._words:
            self._words = philox.words(self._key, _BATCH, self._next, self._stream).tolist()[::-1]
            self._next += _BATCH
        return self._words.pop()

    def below(self, count: int) -> int:
        """Return 0 .. count - 1, for a count of at most 2^32."""
        return self.word() * count >> 32

    def between(self, low: int, high: int) -> int:
        """Return low .. high."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """Return true in `percent` of 100 cases."""
        return self.below(100) < percent

    def bits(self, count: int) -> int:
        """Return `count` random bits, at most 32."""
        return self.word() >> (32 - count)
