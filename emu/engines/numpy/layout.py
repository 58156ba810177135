"""layout in NumPy: memory in order, folded into an axis per digit, the axes sorted, the padding cut off. No place is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.spec.models import Layout


def places(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return the place of every code of a tensor. int64 [rows, codes]."""
    return _padded(rows, codes, layout)[:rows, :codes]


def origins(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return, for every place, row x codes + index of the code that lies there; -1 for padding. int64 [places]. The inverse of places."""
    memory = _padded(rows, codes, layout)
    found = np.full(memory.size, -1, np.int64)
    found[memory[:rows, :codes].reshape(-1)] = np.arange(rows * codes)
    return found


def _padded(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return the place of every code and of the padding behind the rows and beside them. int64 [padded rows, padded codes]."""
    size = {"row": rows, "idx": codes}
    slowest_first = layout.facts.digits[::-1]
    shape = [digit.count or -(-size[digit.axis] // digit.step) for digit in slowest_first]
    memory = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    memory = memory[tuple(slice(None, None, -1 if digit.order == "down" else 1) for digit in slowest_first)]
    order = sorted(range(len(shape)), key=lambda axis: (slowest_first[axis].axis == "idx", -slowest_first[axis].step))
    lengths = [int(np.prod([shape[axis] for axis in order if slowest_first[axis].axis == name], dtype=np.int64)) for name in ("row", "idx")]
    return memory.transpose(order).reshape(lengths)
