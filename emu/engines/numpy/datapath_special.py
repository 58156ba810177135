"""NaN and infinity in one step of a matrix product, as masks over its outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.datapath_operands import Side
from emu.engines.numpy.datapath_round import F64

Bool = NDArray[np.bool_]


class Special(NamedTuple):
    """Outputs that are NaN, and those that an infinite product or C pulls to +Inf or -Inf; an output may be in both of these."""

    nan: Bool
    plus: Bool
    minus: Bool

    def patch(self, values: F64) -> F64:
        """Return values with the specials put in: infinities of both signs give NaN."""
        values[self.plus] = np.inf
        values[self.minus] = -np.inf
        values[self.nan | (self.plus & self.minus)] = np.nan
        return values


def outer(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two arrays over rows as views that broadcast over [..., rows of a, rows of b]."""
    return x[..., :, np.newaxis], y[..., np.newaxis, :]


def find_special(a: Side, b: Side, step: int, size: int, c: F64) -> Special | None:
    """Return the specials of one step, or None when all its outputs are numbers.

    step: number of the fused step of `size` products.   c: the addend.
    """
    of_c = not bool(np.isfinite(c).all())
    missing = [side for side in (a, b) if side.nan is not None and side.nan[step].any()]
    part = slice(step * size, (step + 1) * size)
    infinite = any(side.inf is not None and side.inf[..., part].any() for side in (a, b))
    dead_scale = any(side.nan_scale is not None and side.nan_scale[..., part].any() for side in (a, b))
    if not (of_c or missing or infinite or dead_scale):
        return None
    found = Special(np.isnan(c), c == np.inf, c == -np.inf)
    for side in missing:
        assert side.nan is not None
        rows = side.nan[step]
        np.logical_or(found.nan, rows[..., :, np.newaxis] if side is a else rows[..., np.newaxis, :], out=found.nan)
    if infinite:
        _infinite(a, b, part, found)
    if dead_scale:
        _nan_scales(a, b, part, found)
    return found


def _meets(x: Any, y: Any) -> Bool:
    """Tell for each output whether some k has both bits set; x, y: bool [..., rows, k]."""
    hit: Bool = np.matmul(x.astype(np.float32), np.swapaxes(y.astype(np.float32), -1, -2)) > 0
    return hit


def _infinite(a: Side, b: Side, part: slice, found: Special) -> None:
    """Add the products of infinities: by zero NaN, else infinity of the sign."""
    inf, plus, minus, zero = [], [], [], []
    for side in (a, b):
        value = side.value[..., part]
        sign = np.zeros(value.shape, np.int8) if side.inf is None else side.inf[..., part]
        inf.append(sign != 0)
        plus.append((value > 0) | (sign > 0))
        minus.append((value < 0) | (sign < 0))
        zero.append((value == 0) & (sign == 0))
    found.nan[...] |= _meets(inf[0], zero[1]) | _meets(zero[0], inf[1])
    for signs, out in (((0, 0), found.plus), ((1, 1), found.plus), ((0, 1), found.minus), ((1, 0), found.minus)):
        x, y = (plus, minus)[signs[0]][0], (plus, minus)[signs[1]][1]
        out[...] |= _meets(x & inf[0], y) | _meets(x, y & inf[1])


def _nan_scales(a: Side, b: Side, part: slice, found: Special) -> None:
    """Add NaN scales that count only under products that are not zero."""
    assert a.nonzero is not None and b.nonzero is not None
    x, y = a.nonzero[..., part], b.nonzero[..., part]
    if a.nan_scale is not None:
        found.nan[...] |= _meets(x & a.nan_scale[..., part], y)
    if b.nan_scale is not None:
        found.nan[...] |= _meets(x, y & b.nan_scale[..., part])
