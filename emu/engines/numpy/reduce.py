"""Reductions inside blocks: amax by integer maxima of magnitude bits, sums in their stated order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.engines.numpy.arithmetic import binary
from emu.spec.models import Format, Rounding

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_INF = np.uint32(0x7F800000)


def amax_lanes(values: F32, lanes: int, nan: str) -> F32:
    """Return max |v| over each `lanes` consecutive elements of a contiguous array.

    values: [..., n] with n a multiple of lanes.   Returns: [..., n / lanes].   nan: propagate or drop.
    Magnitude bits order like magnitudes, and NaN above Inf: one integer maximum does both.
    """
    bits = np.ascontiguousarray(values).view(np.uint32) & _MAGNITUDE
    shape = (*values.shape[:-1], values.shape[-1] // lanes)
    if nan == "drop":
        return _dropping(bits.reshape(*shape, lanes))
    flat, left = bits.reshape(-1), lanes
    while left % 2 == 0:
        flat = np.maximum(flat[0::2], flat[1::2])
        left //= 2
    if left > 1:
        flat = flat.reshape(-1, left).max(axis=1)
    return np.ascontiguousarray(flat).reshape(shape).view(np.float32)


def _dropping(groups: U32) -> F32:
    nan = groups > _INF
    best = np.where(nan, np.uint32(0), groups).max(axis=-1)
    return np.where(nan.all(axis=-1), np.uint32(0x7FC00000), best).view(np.float32)


def amax_axes(values: F32, axes: tuple[int, ...], nan: str) -> F32:
    """Return max |v| over whole axes, kept as length 1."""
    bits = np.ascontiguousarray(values).view(np.uint32) & _MAGNITUDE
    if nan == "drop":
        is_nan = bits > _INF
        best = np.where(is_nan, np.uint32(0), bits).max(axis=axes, keepdims=True)
        return np.where(is_nan.all(axis=axes, keepdims=True), np.uint32(0x7FC00000), best).view(np.float32)
    return np.ascontiguousarray(bits.max(axis=axes, keepdims=True)).view(np.float32)


def sum_lanes(values: F32, lanes: int, order: str, to: Format, rounding: Rounding) -> F32:
    """Return the sum of each `lanes` consecutive elements in a stated order, every addition rounded.

    values: [..., n].   Returns: [..., n / lanes].   Raises: EngineError for order exact (the reference model does it).
    """
    if order == "exact":
        raise EngineError("engine numpy has no exact sum: use engine='exact'")
    columns = np.ascontiguousarray(values.reshape(-1, lanes).T)
    least = {"tree": 1, "halves": lanes // 2}.get(order, lanes)
    while len(columns) > least:
        half = len(columns) // 2
        columns = binary("add", columns[:half], columns[half:], to, rounding)
    if order == "tree":
        total: F32 = columns[0]
    else:
        total = np.zeros(columns.shape[1], np.float32)
        for column in columns:
            total = binary("add", total, column, to, rounding)
    return total.reshape(*values.shape[:-1], values.shape[-1] // lanes)
