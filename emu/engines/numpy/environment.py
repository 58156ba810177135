"""Check of the floating-point environment: engines that use floats refuse flushed subnormals and other rounding modes."""

from __future__ import annotations

import numpy as np

from emu.base.errors import EngineError

_TINY = np.array([1, 0x00800000, 0x3F800000, 0x3F800000, 0xBF800000], np.uint32)
_OTHER = np.array([0x3F800000, 0x3F000000, 0x33800000, 0x33800001, 0xB3800001], np.uint32)
_PRODUCT = np.array([1, 0x00400000], np.uint32)
_SUM = np.array([0x3F800000, 0x3F800001, 0xBF800001], np.uint32)


def check_environment() -> None:
    """Refuse to compute when subnormals are flushed or the rounding mode is not nearest even.

    Two products give subnormals and three sums lie around half an ulp of 1.   Raises: EngineError.
    """
    a, b = _TINY.view(np.float32), _OTHER.view(np.float32)
    product, total = (a[:2] * b[:2]).view(np.uint32), (a[2:] + b[2:]).view(np.uint32)
    if not np.array_equal(product, _PRODUCT):
        raise EngineError("this process flushes subnormals to zero: unset FTZ/DAZ (exact and c_ref use no floats)")
    if not np.array_equal(total, _SUM):
        raise EngineError("this process does not round to nearest even: restore the rounding mode (exact and c_ref use no floats)")
