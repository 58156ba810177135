"""Strategies of codes: any, near ties of a destination, random integers of a rounding. Not here: which codes are edges (points.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.spec import derive, get
from emu.spec.models import Format, Rounding
from emu.strategies.points import codes_near, decision_sample, edge_codes, is_finite_code


def codes(of: str | Format, *, specials: bool = True) -> st.SearchStrategy[int]:
    """Codes of a format; about half of them edge codes.

    of: id or model of a format.   specials: False leaves NaN and Inf out.
    """
    fmt: Format = get("format", of)
    every = st.integers(0, (1 << derive.codes(fmt).bits) - 1)
    edges = st.sampled_from(edge_codes(fmt))
    return st.one_of(edges, every) if specials else st.one_of(edges, every).filter(lambda code: is_finite_code(code, fmt))


def near_ties(to: str | Format, source: str | Format = "fp32", *, distances: Sequence[int] = range(-3, 4)) -> st.SearchStrategy[int]:
    """Source codes beside the numbers where conversion to a format changes its code, both signs.

    to: destination.   source: a float format.   distances: ulps of the source from each grid point and midpoint.
    """
    fmt: Format = get("format", source)
    near = sorted({code for point in decision_sample(to) for code in codes_near(point, fmt, distances)})
    if not near:
        raise OperandError(f"no {fmt.id} number lies near the grid of {get('format', to).id}")
    return st.builds(lambda code, sign: code | sign, st.sampled_from(near), st.sampled_from([0, derive.codes(fmt).sign_bit]))


def random_operands(rounding: str | Rounding, size: int) -> st.SearchStrategy[NDArray[np.uint64]]:
    """Random operands of a rounding that draws, for `size` consecutive elements: uint64, one per element or one word per `lanes`.

    All-zero and all-one integers and single bits come up often.   Raises: OperandError when the rounding draws nothing.
    """
    mode: Rounding = get("rounding", rounding)
    if mode.facts.random == "none":
        raise OperandError(f"rounding {mode.id} draws nothing")
    lanes, bits = mode.random_operand
    count = -(-size // lanes)
    top = (1 << bits) - 1
    one = st.one_of(st.sampled_from([0, top, 1, 1 << (bits - 1), top - 1]), st.integers(0, top), st.integers(0, bits - 1).map(_bit))
    return st.lists(one, min_size=count, max_size=count).map(lambda items: np.array(items, np.uint64))


def _bit(place: int) -> int:
    return 1 << place
