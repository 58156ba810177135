"""Blocks whose maximum lies a few codes beside the places where a power-of-two scale changes: there a float32 logarithm is wrong.

Inputs of 16 bits never come so near as binary32 does, so no exhaustive suite holds them. Not here: other directed rows
(emu/contracts/quantize/cases.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.arrays.values import float_dtype
from emu.contracts.form import Bits, Form, Question, integer_dtype
from emu.spec import derive, get
from emu.spec.ieee import same_facts
from emu.spec.models.format import FloatFacts

OFFSETS: Final = (*range(-4, 5), *(sign * far for far in (8, 16, 22, 32, 44, 64) for sign in (-1, 1)))
PLACES: Final = (0, 4, 6)  # eighths above one as significands: rules of floor, of A / 6, of even
BINADES: Final = 126  # each way from one
LADDER: Final = (1, 3, 5, 7, 10, 14, 20)  # ties of E2M1 in quarters


def beside_scale_steps(form: Form) -> Question | None:
    """Return the blocks as one question, a block a row; None for a recipe whose scales are not powers of two, or another operation.

    Tests: tests/identify/test_identify_scale_steps.py.
    """
    source = form.operands.get("x")
    if source is None or form.block is None or not isinstance(source.facts, FloatFacts):
        return None
    scales = [get("format", level.format) for level in form.block.facts.levels]
    if len(scales) != 1 or not same_facts(scales[0], get("format", "e8m0")):
        return None
    bias, frac = source.facts.bias, source.facts.frac_bits
    binades = range(max(bias - BINADES, 1), min(bias + BINADES + 1, 2 * bias) + 1)
    tops = [(exp << frac) + (place << frac >> 3) + off for exp in binades for place in PLACES for off in OFFSETS]
    tops = [top for top in tops if 0 < top <= derive.codes(source).max_code]
    return Question({"x": _blocks(np.array(tops, integer_dtype(source)), form, frac)}, ("scale_edge",))


def _blocks(tops: Bits, form: Form, frac: int) -> Bits:
    """Return a block under each maximum: numbers at ties of the grid with both signs, no larger than the maximum, then zeros."""
    source = form.operands["x"]
    assert source is not None and form.block is not None
    x = np.zeros((len(tops), form.block.facts.shape[1]), tops.dtype)
    x[:, 0] = tops
    kind = float_dtype(source)
    with np.errstate(over="ignore"):
        unit = (tops >> tops.dtype.type(frac) << tops.dtype.type(frac)).view(kind).astype(np.float64)
        for lane, tie in enumerate(LADDER, 1):
            value = (unit * (tie / 16)).astype(kind).view(tops.dtype)
            x[:, lane] = np.minimum(value, tops)
            x[:, lane + len(LADDER)] = x[:, lane] | tops.dtype.type(derive.codes(source).sign_bit)
    return x
