"""Random bytes by the kernel: the words of emu.base.philox, a byte each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.base.philox import check_key
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, check


def random_bytes(key: int, stream: int, count: int, bits: int, *, form: int = BEST_FORM) -> NDArray[np.uint8]:
    """Return one random integer of at most 8 bits for each of `count` places: what emu.base.philox.draw gives, in a byte.

    Raises: OperandError (key, stream, bits), EngineError (the machine lacks the form).
    Tests: tests/engines/native/test_native_stochastic.py.
    """
    check_key(key, stream)
    if not 1 <= bits <= 8:
        raise OperandError(f"random bytes have 1 to 8 bits, not {bits}: use emu.base.philox.draw")
    groups = -(-count // 4)
    out = np.empty(4 * groups, np.uint8)
    check(lib.emu_random_bytes(form, key, stream, groups, (1 << bits) - 1, ffi.from_buffer("uint8_t[]", out)))
    return out[:count]
