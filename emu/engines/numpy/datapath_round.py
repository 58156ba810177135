"""Numbers of a datapath in binary64: powers of two, exact sums rounded to odd, the one rounding to the grid of the result.

Every operation here is exact or says how it rounds; binary64 holds each intermediate because its width is known
(datapath_shape.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.float64 import add_to_odd
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import binary_format
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

F64 = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]


def power(exp: NDArray[Any]) -> F64:
    """Return 2^exp as binary64, -1022 <= exp <= 1023; any integer dtype."""
    field = exp.astype(np.int64)
    field += 1023
    field <<= 52
    return field.view(np.float64)


def exponent(values: F64, lowest: int) -> NDArray[np.int64]:
    """Return the exponent of the leading bit of finite binary64 numbers, at least `lowest` (zero: lowest)."""
    field: NDArray[np.int64] = values.view(np.int64) >> 52
    field &= 0x7FF
    field -= 1023
    np.maximum(field, lowest, out=field)
    return field


def _away(n: F64) -> F64:
    whole = np.trunc(n)
    out: F64 = whole + np.copysign(np.abs(n - whole) >= 0.5, n)
    return out


def is_odd(whole: F64) -> NDArray[np.bool_]:
    """Return where integers are odd; half of one is exact, and no integer then. Infinities and NaN: as np.fmod(whole, 2) has them."""
    half = whole * 0.5
    found: NDArray[np.bool_] = half != np.trunc(half)
    return found


def _odd(n: F64) -> F64:
    whole = np.trunc(n)
    moves = (n != whole) & ~is_odd(whole)
    out: F64 = whole + np.copysign(moves, n)
    return out


ROUNDINGS: dict[str, Callable[..., Any]] = {"rz": np.trunc, "rne": np.rint, "rd": np.floor, "ru": np.ceil, "rna": _away, "odd": _odd}


class ResultGrid(NamedTuple):
    """The result format and how a sum is rounded to it. keep: fraction bits kept.   lowest: exponent of the smallest normal number."""

    frac_bits: int
    keep: int
    lowest: int
    largest: float
    mode: str
    beyond: float
    flush: bool
    zero_plus: bool
    nan: int


def grid_of(plan: DatapathPlan) -> ResultGrid:
    """Return the grid of a plan's result."""
    facts, fmt = plan.facts, plan.d
    assert isinstance(fmt.facts, FloatFacts)
    derived = derive.codes(fmt)
    top, frac_bits = derived.max_code >> fmt.facts.frac_bits, fmt.facts.frac_bits
    significand = (1 << frac_bits) + (derived.max_code & ((1 << frac_bits) - 1))
    largest = ldexp(significand, top - fmt.facts.bias - frac_bits)
    beyond = float("inf") if facts.round.overflow == "inf" else largest
    nan = plan.nan_code
    flush = facts.subnormal.result == "flush"
    lowest, zero_plus = 1 - fmt.facts.bias, facts.special.zero == "plus"
    return ResultGrid(frac_bits, facts.round.keep, lowest, largest, plan.round_direction or "", beyond, flush, zero_plus, nan)


def round_values(exact: F64, grid: ResultGrid) -> F64:
    """Return finite binary64 numbers (exact, or rounded to odd) rounded once to the grid.

    Gradual subnormals, overflow as the datapath says; an exact zero is +0, a result that vanishes too where zeros are plus.
    """
    exp = exponent(exact, grid.lowest)
    units = exact * power(grid.keep - exp)
    units += 0.0
    rounded: F64 = ROUNDINGS[grid.mode](units)
    rounded *= power(exp - grid.keep)
    size = np.abs(rounded)
    over = size > grid.largest
    if over.any():
        rounded[over] = np.copysign(grid.beyond, rounded[over])
    if grid.flush:
        small = size < ldexp(1.0, grid.lowest)
        rounded[small] = np.copysign(0.0, rounded[small])
    if grid.zero_plus:
        rounded += 0.0
    return rounded


def decode_addend(codes: Codes, fmt: Format, flush: bool) -> F64:
    """Return codes of fp32, fp16 or bf16 as binary64, Inf and NaN kept. flush: a subnormal code is zero."""
    known = binary_format(fmt)
    if known == "binary16":
        narrow: NDArray[Any] = np.ascontiguousarray(codes, np.uint16).view(np.float16)
    elif known == "bfloat16":
        narrow = (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        narrow = np.ascontiguousarray(codes, np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        values: F64 = narrow.astype(np.float64)
    if flush:
        assert isinstance(fmt.facts, FloatFacts)
        values[np.abs(values) < ldexp(1.0, 1 - fmt.facts.bias)] = 0.0
    return values


def encode_values(values: F64, fmt: Format, nan: int) -> Codes:
    """Return the codes of numbers on the grid of fp32, fp16 or bf16; NaN becomes the code given."""
    known = binary_format(fmt)
    with np.errstate(invalid="ignore"):
        if known == "binary16":
            codes: Codes = values.astype(np.float16).view(np.uint16)
        else:
            codes = values.astype(np.float32).view(np.uint32)
            codes = (codes >> np.uint32(16)).astype(np.uint16) if known == "bfloat16" else codes
    missing = np.isnan(values)
    if missing.any():
        codes[missing] = codes.dtype.type(nan)
    return codes


def two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """Return (s, t): s the binary64 sum and t its error, s + t = a + b exactly."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def sum_to_odd(terms: Sequence[F64]) -> F64:
    """Return the exact sum of binary64 numbers rounded to odd; far from overflow and underflow.

    Two or three terms or more: an expansion of parts that do not overlap is grown term by term (Shewchuk 1997, theorem 10), then added
    from its smallest part upwards, each sum rounded to odd.
    """
    if len(terms) == 2:
        return add_to_odd(terms[0], terms[1])
    parts: list[F64] = []
    for term in terms:
        carried = term
        for number, part in enumerate(parts):
            carried, parts[number] = two_sum(carried, part)
        parts.append(carried)
    total = parts[0]
    for part in parts[1:]:
        total = add_to_odd(total, part)
    return total
