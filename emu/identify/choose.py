"""Choosing rows: the few that separate every pair of variants which some candidate separates. Greedy, each the one that separates most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.identify.rows import OPEN, Answers, Tile

CHUNK: Final = 4096
Marks = NDArray[np.int64]
Flags = NDArray[np.bool_]


def marks(answers: Sequence[Answers], names: Sequence[str]) -> Marks:
    """Return [variants, rows] numbers, the same where two variants answer the same; OPEN where a part is open.

    names: the answers that count; a variant without one of them has none there.
    """
    count = len(answers[0]["codes"])
    out = np.full((len(answers), count), OPEN, np.int64)
    for row in range(count):
        known: dict[tuple[Any, ...], int] = {}
        for number, found in enumerate(answers):
            key = tuple((name, *found[name][row].tolist()) for name in names if name in found)
            if all(OPEN not in part[1:] for part in key):
                out[number, row] = known.setdefault(key, len(known))
    return out


def pairs_of(groups: Sequence[Sequence[int]]) -> Marks:
    """Return [n, 2] every pair of numbers inside each group."""
    found = [(a, b) for group in groups for place, a in enumerate(group) for b in group[place + 1 :]]
    return np.array(sorted(set(found)), np.int64).reshape(-1, 2)


def separating(table: Marks, pairs: Marks) -> Flags:
    """Return [pairs, rows]: does a row separate a pair."""
    out = np.empty((len(pairs), table.shape[1]), bool)
    narrow = table.astype(np.int16)
    for start in range(0, len(pairs), CHUNK):
        first, second = narrow[pairs[start : start + CHUNK, 0]], narrow[pairs[start : start + CHUNK, 1]]
        out[start : start + CHUNK] = (first != second) & (first != OPEN) & (second != OPEN)
    return out


def choose(parts: Sequence[Flags], rows: Sequence[Tile]) -> tuple[int, ...]:
    """Return the places of rows that separate every pair that any separates; bf16 rows as far as they reach, then the others.

    parts: [pairs, rows] of each stage.
    """
    chosen: list[int] = []
    narrow = np.array([not any(code & 0xFFFF for code in row.x) for row in rows])
    left = [part for part in parts if len(part)]
    for allowed in (narrow, ~narrow):
        left = [part[part.any(axis=1)] for part in left]
        while allowed.any():
            gain = sum(part.sum(axis=0) for part in left) * allowed
            known = {rows[place].amax for place in chosen}
            best = max(range(len(rows)), key=lambda place: (int(gain[place]), rows[place].amax in known, -place))
            if not gain[best]:
                break
            chosen.append(best)
            left = [part[~part[:, best]] for part in left]
    return tuple(sorted(chosen))
