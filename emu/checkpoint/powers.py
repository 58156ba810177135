"""Real scales that are all powers of two: no recipe of the spec makes such, so what is known beside the original is said, and no more."""

from __future__ import annotations

import numpy as np

from emu.checkpoint.compare import Original, Outcome
from emu.checkpoint.read import StoredTensor, spread
from emu.checkpoint.report import POWERS
from emu.ops.functions import convert, decode
from emu.spec import derive


def powers_of_two(tensor: StoredTensor, original: Original, outcomes: list[Outcome]) -> str | None:
    """Return what is known of a weight whose real scales are all powers of two; None: they are not, or a recipe gives all of them.

    outcomes: what each recipe gives; none of them every byte.   Reads the weight once.
    Tests: tests/checkpoint/test_checkpoint_deepseek.py.
    """
    if derive.codes(tensor.scale_format).bits <= 8 or any(item.scales == 0 and item.refused is None for item in outcomes):
        return None
    wrong, total, element = 0, 0, tensor.block.element_formats[0]
    for rows in tensor.chunks():
        scales = decode(rows.scales, tensor.scale_format).astype(np.float64)
        if not np.isfinite(scales).all() or (np.frexp(scales)[0] != 0.5).any():
            return None
        values = decode(original.rows(rows.first, len(rows.codes)), original.format).astype(np.float64)
        units = spread(scales, tensor.grid.wide, values.shape[1])
        wrong += int((convert(values / units, element, policy="ocp_saturate") != rows.codes).sum())  # a power of two: the quotient is exact
        total += rows.codes.size
    under = f"{wrong} of {total} codes are not" if wrong else f"every one of {total} codes is"
    return f"{POWERS}: not known whether they are right; under them {under} the nearest to the original"
