"""IEEE 754 exception flags of a conversion, with tininess before or after rounding. Not here: the converted code (convert.py)."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal

from emu.base.errors import SpecError
from emu.engines.exact.decode import decode_code, magnitude_of
from emu.engines.exact.overflow import largest_magnitude
from emu.engines.exact.round import check_random, floor_log2, goes_up, round_magnitude
from emu.engines.exact.value import power_of_two
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts

NV: Final = 0x10  # invalid operation: a signalling NaN
DZ: Final = 0x08  # division by zero: no conversion raises it
OF: Final = 0x04  # overflow
UF: Final = 0x02  # underflow: tiny and inexact
NX: Final = 0x01  # inexact


def convert_flags(
    code: int, source: Format, fmt: Format, rounding: Rounding, tininess: Literal["before", "after"], random: int | None = None
) -> int:
    """Return the flags NV DZ OF UF NX (16 8 4 2 1) that the conversion of one code raises, traps disabled.

    code: unsigned integer of the source format.   tininess: is a result tiny before or after rounding (IEEE 754-2019, 7.5).
    A signalling NaN (leading fraction bit clear, in a format with IEEE NaNs) raises NV; quiet NaN, Inf and zero raise nothing.
    Raises: SpecError (source or fmt is no float format), as round_magnitude.
    Source: IEEE 754-2019, 7.2 to 7.6.   Tests: tests/ops/instruction/test_instruction_flags.py.
    """
    if not isinstance(source.facts, FloatFacts) or not isinstance(fmt.facts, FloatFacts):
        raise SpecError(f"IEEE flags need float formats, not {source.id} and {fmt.id}")
    check_random(rounding, random)
    value = decode_code(code, source)
    if value.kind == "nan":
        return NV if is_signalling(code, source.facts) else 0
    if value.kind == "inf" or value.is_zero:
        return 0
    rounded = round_magnitude(value.magnitude, value.sign, fmt, rounding, random)
    if rounded > largest_magnitude(fmt, value.sign):
        return OF | NX
    if magnitude_of(rounded, fmt.facts) == value.magnitude:
        return 0
    return NX | (UF if _is_tiny(value.magnitude, value.sign, fmt.facts, rounding, tininess, random) else 0)


def is_signalling(code: int, facts: FloatFacts) -> bool:
    """Tell whether a NaN code signals; only NaNs as in IEEE 754 can."""
    return facts.nan == "ieee" and not code >> (facts.frac_bits - 1) & 1


def _is_tiny(magnitude: Fraction, sign: int, facts: FloatFacts, rounding: Rounding, tininess: str, random: int | None) -> bool:
    """Tell whether a magnitude lies below the smallest normal; after: once rounded to the full precision, exponent unbounded."""
    smallest = power_of_two(1 - facts.bias)
    if tininess == "before" or magnitude >= smallest:
        return magnitude < smallest
    ulp = power_of_two(floor_log2(magnitude) - facts.frac_bits)
    significand, lost = divmod(magnitude / ulp, 1)
    up = goes_up(lost, ulp, magnitude, sign, significand % 2 == 1, rounding, random)
    return (significand + up) * ulp < smallest
