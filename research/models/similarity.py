"""Pairs of texts and of words whose likeness people judged, and rank correlations. Not here: the encoder."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from research.models.data import FOLDER, TEXTS, lines_of

Array = NDArray[np.float64]
FILES: Final = {"simlex999": "simlex999.txt", "wordsim353": "wordsim353.tsv"}
JUDGED: Final = f"{FOLDER}/similarities0-1.txt"  # of the texts of TEXTS: a row and a column for each, what stands below the diagonal is 0
GROUP: Final = 50  # pairs of words whose order makes one figure


class Pairs(NamedTuple):
    """texts: each once.   first, second: places of the two sides of each pair.   people: how alike they are, by people.   groups: pairs
    whose order makes one figure, [groups, pairs of each].
    """

    texts: tuple[str, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    people: Array
    groups: list[NDArray[np.int64]]

    def figures(self, found: Array, wanted: Array) -> list[float]:
        """Return the rank correlation of each group. found, wanted: one value a pair."""
        return [rank_correlation(found[group], wanted[group]) for group in self.groups]


@cache
def pairs_of(name: str) -> Pairs:
    """Return lee: every two texts of TEXTS, a group for each text; simlex999, wordsim353: pairs of words, groups of GROUP or some more."""
    if name == "lee":
        judged = np.array([line.split() for line in lines_of(JUDGED)], np.float64)
        first, second = np.triu_indices(len(judged), 1)
        groups = [np.flatnonzero((first == place) | (second == place)) for place in range(len(judged))]
        return Pairs(tuple(lines_of(TEXTS)), first, second, judged[first, second], groups)
    rows = [line.split("\t") for line in lines_of(f"{FOLDER}/{FILES[name]}") if not line.startswith("#")]
    texts = tuple(dict.fromkeys(word for row in rows for word in row[:2]))
    place = {word: number for number, word in enumerate(texts)}
    first, second = (np.array([place[row[side]] for row in rows]) for side in (0, 1))
    count = len(rows) // GROUP
    groups = [np.arange(number, len(rows), count) for number in range(count)]
    return Pairs(texts, first, second, np.array([float(row[2]) for row in rows]), groups)


def similarities(vectors: Any, pairs: Pairs) -> Array:
    """Return the cosine of each pair. vectors: torch, of length 1, one a text."""
    wide: Array = vectors.double().numpy()
    found: Array = (wide[pairs.first] * wide[pairs.second]).sum(1)
    return found


def rank_correlation(left: Array, right: Array) -> float:
    """Return Spearman's coefficient; equal values share the mean of their ranks."""
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def _ranks(values: Array) -> Array:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    found: Array = (np.cumsum(count) - (count - 1) / 2)[place]
    return found
