"""Inputs for the distribution of stochastic rounding: numbers at known parts of an interval of the grid, and numbers half way."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from emu.contracts.form import Bits, Form, integer_dtype
from emu.contracts.grid import code_at, grid_values
from emu.contracts.quantize.blocks import Blocks
from emu.contracts.quantize.contract import QuantizeContract
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.spec import derive, get
from emu.spec.models import Format

PARTS: Final = (Fraction(1, 16), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(15, 16))
INTERVALS: Final = 4


def spread_of(form: Form, source: str) -> Bits:
    """Return one row of inputs: each part of chosen intervals of the grid with both signs; for a recipe, in blocks whose scale is one."""
    return _row(form, source, PARTS, INTERVALS)


def halves_of(form: Form, source: str) -> Bits | None:
    """Return one row of inputs half way between codes; None where the source has none."""
    found = _row(form, source, (Fraction(1, 2),), INTERVALS)
    return found if found.size else None


def _row(form: Form, source: str, parts: tuple[Fraction, ...], most: int) -> Bits:
    fmt: Format = get("format", source)
    if form.op == "convert":
        return np.array(_between(form.answers["codes"], fmt, parts, most), integer_dtype(fmt))
    op = QuantizeContract.of(form.contract, source)
    blocks = Blocks(op)
    inner = _between(blocks.elements[0][0], fmt, parts, most)
    first = blocks.code(blocks.unit)
    lanes = op.columns - 1
    inner += inner[: -len(inner) % lanes]
    row = [code for at in range(0, len(inner), lanes) for code in (first, *inner[at : at + lanes])]
    return np.array(row, integer_dtype(fmt))


def _between(fmt: Format, source: Format, parts: tuple[Fraction, ...], most: int) -> list[int]:
    """Return source codes at parts of intervals of a grid, exact ones only, both signs."""
    values = grid_values(fmt)[:-1]
    intervals = list(pairwise(values))
    chosen = sorted({(len(intervals) - 1) * place // max(most - 1, 1) for place in range(most)})
    sign, out = derive.codes(source).sign_bit, []
    for place in chosen:
        low, high = intervals[place]
        for part in parts:
            number = low + (high - low) * part
            code = code_at(number, source)
            if decode_code(code, source).magnitude == number:
                out += [code, code | sign] if sign and derive.codes(fmt).sign_bit else [code]
    return out


def own_amax(form: Form) -> Bits:
    """Return the tensor maximum under which blocks of the inputs have the scale one."""
    source = form.operands["x"]
    assert source is not None
    unit = Blocks(QuantizeContract.of(form.contract, source.id)).tensor_unit
    return np.array(encode_value(finite(unit), get("format", "fp32")), "u4")
