"""Exact operations on binary32 values carried out in binary64 and rounded to odd: the later, single rounding then sees the truth.

Two binary32 operands: their product is exact in binary64; sums and quotients leave an error whose sign is known exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def add_to_odd(a: F64, b: F64) -> F64:
    """Return a + b rounded to odd, for finite or special binary64 operands far from overflow."""
    with np.errstate(all="ignore"):
        total = a + b
        shadow = total - a
        error = (a - (total - shadow)) + (b - shadow)
    return nudge_to_odd(total, np.sign(error))


def divide_to_odd(a: F64, b: F64) -> F64:
    """Return a / b rounded to odd, for operands that are binary32 values."""
    with np.errstate(all="ignore"):
        quotient = a / b
        high, low = _exact_product(quotient, b)
        rest = (a - high) - low
        direction = np.sign(rest) * np.sign(b)
    special = ~np.isfinite(quotient) | ~np.isfinite(b) | (quotient == 0)
    return nudge_to_odd(quotient, np.where(special, 0.0, direction))


def _exact_product(a: F64, b: F64) -> tuple[F64, F64]:
    """Return (high, low) with high + low = a * b exactly: b has 24 significant bits, so a is cut into two halves."""
    mask = np.uint64(0xFFFFFFFFF8000000)
    head = (a.view(np.uint64) & mask).view(np.float64)
    tail = a - head
    high = a * b
    return high, (head * b - high) + tail * b


def nudge_to_odd(value: F64, direction: F64) -> F64:
    """Return value, moved by one ulp towards the exact result where it is inexact and its last bit is even.

    direction: sign of (exact - value); 0 where value is exact or special.
    """
    bits = value.view(np.uint64)
    even = ((bits & np.uint64(1)) == 0) & (direction != 0) & np.isfinite(value)
    outward = (direction > 0) == ~np.signbit(value)
    moved = np.where(outward, bits + np.uint64(1), bits - np.uint64(1))
    return np.where(even, moved, bits).view(np.float64)
