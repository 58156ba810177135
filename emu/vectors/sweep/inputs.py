"""The inputs of a sweep, in the one order that its digest means, cut into leaves. Leaves, not shards or jobs, decide the digest.

finite: the codes 0, 1, 2, ... of the source; 2^22 a leaf.
special: every NaN, Inf and zero code of the source, class by class; a leaf for each rounding.
random: rows, 64 a leaf; a row is every code of the source once, with one random operand. A rounding with at most 8 bits an element meets
all of them; a wider one those at which a carry can change for a source of few bits: k * 2^(N-8), 2^j, 2^N - 2^j, each also less one.
A rounding that shares words meets 64 rows of Philox words, key = number of the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.caches import bounded
from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.rounding import Word
from emu.vectors.sweep.space import Sweep

LEAF: Final = 1 << 22
PIECE: Final = 1 << 18  # inputs that go through the engines together: changes nothing
LEAF_ROWS: Final = 64
WORD_ROWS: Final = 64
TOP_BITS: Final = 8
Codes = NDArray[np.unsignedinteger]


class Piece(NamedTuple):
    """Neighbouring inputs. codes: of the source.   random: as emu.convert takes it.   row: of a random sweep."""

    rounding: Rounding
    codes: Codes
    random: Codes | None = None
    row: int = 0


def count_inputs(sweep: Sweep, codes: range | None = None) -> int:
    """Return how many inputs a sweep has; codes: of a finite one only these source codes."""
    size = 1 << derive.codes(sweep.source).bits
    if sweep.kind == "finite":
        return size if codes is None else len(range(codes.start, min(codes.stop, size)))
    if sweep.kind == "special":
        return sum(part.size for part in special_classes(sweep.source)) * len(sweep.roundings)
    return size * count_rows(sweep.roundings[0])


def count_leaves(sweep: Sweep, codes: range | None = None) -> int:
    """Return how many leaves a sweep has; codes: as count_inputs."""
    if sweep.kind == "finite":
        return len(_leaves_of(sweep, codes))
    return len(sweep.roundings) if sweep.kind == "special" else -(-count_rows(sweep.roundings[0]) // LEAF_ROWS)


def _leaves_of(sweep: Sweep, codes: range | None) -> range:
    """Return the numbers of the leaves that source codes lie in: leaf k begins at k * LEAF, whatever the range."""
    size = 1 << derive.codes(sweep.source).bits
    wanted = codes or range(size)
    return range(wanted.start // LEAF, -(-min(wanted.stop, size) // LEAF))


def leaf_codes(sweep: Sweep, leaf: int, codes: range | None = None) -> range:
    """Return the source codes of the leaf-th leaf of a finite sweep."""
    wanted = codes or range(1 << derive.codes(sweep.source).bits)
    start = _leaves_of(sweep, codes)[leaf] * LEAF
    return range(max(start, wanted.start), min(start + LEAF, wanted.stop, 1 << derive.codes(sweep.source).bits))


def pieces(sweep: Sweep, leaf: int, codes: range | None = None) -> Iterator[Piece]:
    """Yield the inputs of the leaf-th leaf, in order."""
    if sweep.kind == "finite":
        span = leaf_codes(sweep, leaf, codes)
        for start in range(span.start, span.stop, PIECE):
            yield Piece(sweep.roundings[0], np.arange(start, min(span.stop, start + PIECE), dtype=_dtype(sweep.source)))
    elif sweep.kind == "special":
        for part in special_classes(sweep.source):
            yield from (Piece(sweep.roundings[leaf], part[start : start + PIECE]) for start in range(0, part.size, PIECE))
    else:
        yield from _rows(sweep, range(leaf * LEAF_ROWS, min((leaf + 1) * LEAF_ROWS, count_rows(sweep.roundings[0]))))


def _dtype(fmt: Format) -> Any:
    return np.uint16 if derive.codes(fmt).bits == 16 else np.uint32


def special_classes(source: Format) -> tuple[Codes, ...]:
    """Return the zeros, infinities and NaN of a float format with Inf, a class for each sign: positive first."""
    derived = derive.codes(source)
    assert derived.inf is not None
    top = 1 << derived.magnitude_bits
    magnitudes = (range(1), range(derived.inf, derived.inf + 1), range(derived.inf + 1, top))
    return tuple(
        np.arange(sign + part.start, sign + part.stop, dtype=_dtype(source)) for part in magnitudes for sign in (0, derived.sign_bit)
    )


@bounded(64)
def _operands(bits: int) -> tuple[int, ...]:
    if bits <= TOP_BITS:
        return tuple(range(1 << bits))
    top = 1 << bits
    edges = [k << (bits - TOP_BITS) for k in range(1 << TOP_BITS)] + [1 << j for j in range(bits)] + [top - (1 << j) for j in range(bits)]
    return tuple(sorted({(edge - less) % top for edge in edges for less in (0, 1)}))


def count_rows(rounding: Rounding) -> int:
    """Return how many random operands every source code meets."""
    return WORD_ROWS if isinstance(rounding.facts.random, Word) else len(_operands(rounding.random_bits))


def _rows(sweep: Sweep, rows: range) -> Iterator[Piece]:
    rounding, size = sweep.roundings[0], 1 << derive.codes(sweep.source).bits
    codes = np.arange(size, dtype=_dtype(sweep.source))
    for row in rows:
        yield Piece(rounding, codes, row_operand(rounding, row, size), row)


def row_operand(rounding: Rounding, row: int, size: int) -> Codes:
    """Return the random operand of a row of `size` elements."""
    source = rounding.facts.random
    if not isinstance(source, Word):
        return np.full(size, _operands(rounding.random_bits)[row], np.uint32)
    words = philox.words(row, 2 * -(-size // source.lanes)).view(np.uint64)
    return words & np.uint64((1 << source.word) - 1)
