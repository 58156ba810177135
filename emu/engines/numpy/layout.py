"""layout in NumPy: memory in order, folded into an axis per digit, the axes sorted, the padding cut off. No place is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.spec.models import Layout


def places(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return the place of every code of a tensor. int64 [rows, codes]."""
    size = {"row": rows, "idx": codes}
    slowest_first = layout.facts.digits[::-1]
    shape = [digit.count or -(-size[digit.axis] // digit.step) for digit in slowest_first]
    memory = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    order = sorted(range(len(shape)), key=lambda axis: (slowest_first[axis].axis == "idx", -slowest_first[axis].step))
    lengths = [int(np.prod([shape[axis] for axis in order if slowest_first[axis].axis == name], dtype=np.int64)) for name in ("row", "idx")]
    return memory.transpose(order).reshape(lengths)[:rows, :codes]
