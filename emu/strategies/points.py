"""Where things change: edge codes of a format, decision points of its grid, codes beside them. Needs no Hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded
from emu.base.errors import OperandError
from emu.engines.exact.decode import codebook_values, decode_code, magnitude_of
from emu.engines.exact.round import locate
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.format import CodebookFacts, FloatFacts

CodeArray = NDArray[np.unsignedinteger]
LISTED = 16  # bits of a format whose grid points are all listed


def edge_codes(of: str | Format) -> tuple[int, ...]:
    """Return the codes of a format where things change, ascending.

    Both signs of zero, the smallest and largest subnormal, the smallest normal, 1 and its neighbours, the two largest finite numbers,
    Inf, and quiet and signalling NaN; for formats of at most 4 bits all codes.
    """
    fmt: Format = get("format", of)
    derived = derive.codes(fmt)
    if derived.bits <= 4:
        return tuple(range(1 << derived.bits))
    found = {0, 1, derived.max_code, derived.max_code - 1}
    if isinstance(fmt.facts, FloatFacts):
        hidden, one = 1 << fmt.facts.frac_bits, fmt.facts.bias << fmt.facts.frac_bits
        found |= {hidden - 1, hidden, hidden + 1, one - 1, one, one + 1, *_infinite(fmt)}
    found |= {code | derived.sign_bit for code in found}
    if derive.is_twos_complement(fmt):
        found |= {derived.max_code + 1, (1 << derived.bits) - 1}
    return tuple(sorted(code for code in found | set(derived.nan) if 0 <= code < 1 << derived.bits))


def _infinite(fmt: Format) -> set[int]:
    """Return Inf and the first and last NaN above it, magnitudes only."""
    derived = derive.codes(fmt)
    if derived.inf is None:
        return set()
    return {derived.inf, min(derived.inf + 1, (1 << derived.magnitude_bits) - 1), (1 << derived.magnitude_bits) - 1}


def is_finite_code(code: int, of: str | Format) -> bool:
    """Tell whether a code stands for a number."""
    return decode_code(code, get("format", of)).kind == "finite"


def decision_points(of: str | Format) -> tuple[Fraction, ...]:
    """Return every magnitude where some rounding mode changes its code, ascending: grid points and the midpoints between them.

    The grid goes one code beyond the maximum, where overflow begins.
    Raises: OperandError for a format of more than 16 bits, which has too many (see decision_sample).
    """
    fmt: Format = get("format", of)
    if not _is_listed(fmt):
        raise OperandError(f"{fmt.id} has 2^{derive.codes(fmt).magnitude_bits} grid points, too many for a list: use decision_sample")
    return _points(fmt.facts_digest, fmt)


def decision_sample(of: str | Format) -> tuple[Fraction, ...]:
    """Return decision points as decision_points does, of a format of more than 16 bits some of each binade.

    Those are: the grid points whose fraction is at or beside its ends or its middle, and the midpoints next to them; in fixed point,
    the same beside each power of two.
    """
    fmt: Format = get("format", of)
    return _points(fmt.facts_digest, fmt)


def _is_listed(fmt: Format) -> bool:
    return isinstance(fmt.facts, CodebookFacts) or derive.codes(fmt).bits <= LISTED


@bounded(64)
def _points(digest: str, fmt: Format) -> tuple[Fraction, ...]:  # the digest is the key that differs between formats
    if isinstance(fmt.facts, CodebookFacts):
        signed = sorted({value.signed for value in codebook_values(fmt)})
        middles = [(a + b) / 2 for a, b in pairwise(signed)]
        return tuple(sorted({abs(point) for point in (*signed, *middles)}))
    last = derive.codes(fmt).max_code + 1 + derive.is_twos_complement(fmt)
    runs = [range(last + 1)] if _is_listed(fmt) else _sampled(fmt, last)
    found: set[Fraction] = set()
    for run in runs:
        grid = [magnitude_of(code, fmt.facts) for code in run]
        found |= {*grid, *((a + b) / 2 for a, b in pairwise(grid))}
    return tuple(sorted(found))


def _sampled(fmt: Format, last: int) -> list[range]:
    """Return runs of neighbouring codes around the ends and the middle of each binade. last: the largest code."""
    if isinstance(fmt.facts, FloatFacts):
        centres: Iterable[int] = range(0, last + 1, 1 << max(fmt.facts.frac_bits - 1, 0))
    else:
        centres = (1 << place for place in range(last.bit_length()))
    return [range(max(centre - 2, 0), min(centre + 2, last) + 1) for centre in (*centres, last)]


def codes_near(point: Fraction, source: str | Format, distances: Sequence[int] = range(-3, 4)) -> tuple[int, ...]:
    """Return the source codes at given distances, in ulps, from the code at or below a magnitude; finite ones only, ascending."""
    fmt: Format = get("format", source)
    centre = locate(point, fmt).code
    return tuple(sorted({centre + step for step in distances if 0 <= centre + step <= derive.codes(fmt).max_code}))


def dtype_of(fmt: Format) -> Any:
    """Return the dtype that holds one code of a format."""
    bits = derive.codes(fmt).bits
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def element_maximum(recipe: Recipe) -> Fraction:
    """Return the largest magnitude of the element format that a recipe writes."""
    block: Block = get("block", recipe.facts.block)
    fmt: Format = get("format", block.element_formats[0])
    return decode_code(derive.codes(fmt).max_code, fmt).magnitude
