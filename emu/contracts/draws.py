"""Random integers of `random` rows: Philox4x32-10 words indexed by the row, keyed by the seed, streamed by the stem. No state."""

from __future__ import annotations

from typing import Final

from emu.base import philox
from emu.contracts.rows import pack

SEED: Final = 1


def row_words(stem: str, start: int, stop: int, per_row: int) -> list[list[int]]:
    """Return `per_row` 32-bit words for each of the rows start .. stop - 1; any split of the rows gives the same words."""
    words = philox.words(SEED, (stop - start) * per_row, start * per_row, philox.stream_of(stem)).tolist()
    return [words[at : at + per_row] for at in range(0, len(words), per_row)]


def wide(words: list[int], bits: int) -> int:
    """Return 32-bit words as one integer of `bits` bits."""
    return pack(words, 32) & ((1 << bits) - 1)
