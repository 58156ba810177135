"""The software stochastic rounder: one binary32 fma adds random * ulp / 2^N to the magnitude, the sum is cut to the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.engines.numpy.fields import U64, Fields, split
from emu.engines.numpy.float64 import add_to_odd
from emu.engines.numpy.integer import Located, Target, locate, target_of
from emu.spec.ieee import is_within
from emu.spec.models import Format, Rounding
from emu.spec.registry import get


def locate_te_fma(
    codes: NDArray[np.unsignedinteger], source: Format, fields: Fields, fmt: Format, rounding: Rounding, random: U64
) -> Located:
    """Return the final place of each magnitude: its grid point where it lies on one, else the fma's sum cut to the grid.

    The product random * ulp is exact in binary64, the sum is rounded to odd there, then once to binary32.
    Raises: EngineError when the source holds values that binary32 does not, or the target is no float format.
    """
    target = target_of(fmt)
    if not is_within(source, get("format", "fp32")) or not isinstance(target, Target):
        raise EngineError(f"te_fma rounds binary32 values to float formats, not {source.id} to {fmt.id}: use engine='exact'")
    first = locate(fields, fmt)
    finite = ~(fields.nan | fields.inf)
    magnitude = np.where(finite, np.ldexp(fields.significand.astype(np.float64), np.where(finite, fields.lsb_exp, 0)), 0.0)
    ulp_exp = np.where(finite, np.maximum(fields.exp, target.lowest_exp) - target.frac_bits, 0)
    step = np.ldexp(random.astype(np.float64), ulp_exp - rounding.random_bits)
    with np.errstate(over="ignore", under="ignore"):
        total = add_to_odd(magnitude, step).astype(np.float32)
    moved = locate(split(total.view(np.uint32), get("format", "fp32")), fmt)
    code = np.where((first.rest > 0) & finite, moved.code, first.code)
    return Located(code, np.zeros_like(first.rest), first.shift)
