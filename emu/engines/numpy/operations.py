"""operate on arrays: operands in binary64, where products are exact and sums and quotients are rounded to odd; then one projection.

53 bits rounded to odd hold every rounding to a format within binary32. Neighbours and classes come from the fields of a code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.convert import Codes, code_dtype, convert, to_fp64
from emu.engines.numpy.float64 import F64, add_to_odd, divide_to_odd
from emu.spec import derive
from emu.spec.ieee import is_within
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.operations import OPERATIONS
from emu.spec.registry import get

_BITS = 53  # significant bits of binary64
_FEWER = 2  # what a rounding to odd must keep beyond the bits of the result


def can_operate(name: str, formats: Sequence[Format], to: Format, rounding: Rounding) -> bool:
    """Tell whether every product of significands fits binary64 and what is rounded to odd is rounded to fewer bits."""
    if OPERATIONS[name].gives != "number":
        return all(_plain(fmt) for fmt in formats)
    if rounding.random_bits or not isinstance(to.facts, FloatFacts) or to.facts.frac_bits + 1 + _FEWER > _BITS:
        return False
    if not all(is_within(fmt, get("format", "fp32")) for fmt in (*formats, to)):
        return False
    bits = [fmt.facts.frac_bits + 1 for fmt in formats if isinstance(fmt.facts, FloatFacts)]
    if name in ("multiply", "scaled_multiply"):
        return sum(bits) <= _BITS
    return all(sum(pair) <= _BITS for pair in (bits[:2], bits[2:]))


def _plain(fmt: Format) -> bool:
    """Numbers lie in the order of their magnitude codes, without a gap up to Inf or beside zero; binary64 holds them."""
    derived = derive.codes(fmt)
    top = derived.max_code if derived.inf is None else derived.inf
    gaps = [code for code in derived.nan if code & ~derived.sign_bit <= top and code != derived.sign_bit]
    has_middle = derived.has_zero or not derived.sign_bit
    return not gaps and has_middle and top - derived.max_code in (0, 1) and is_within(fmt, get("format", "fp64"))


def operate(name: str, codes: Sequence[Codes], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy) -> NDArray[Any]:
    """Return the codes, or truth values, of an operation on arrays of one shape.

    codes: one array per operand, of `formats`.   to, rounding, policy: the projection of a number.
    Raises: OpenError, OperandError as emu.engines.numpy.convert.
    Tests: tests/engines/together/test_differential_operations.py.
    """
    flat = [part.reshape(-1) for part in codes]
    return _operate(name, flat, formats, to, rounding, policy).reshape(codes[0].shape)


def _operate(name: str, codes: Sequence[Codes], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy) -> NDArray[Any]:
    """The same for flat arrays."""
    gives = OPERATIONS[name].gives
    if gives == "code":
        return _neighbour(codes[0], formats[0], 1 if name == "next_greater_than" else -1)
    if name in ("is_normal", "is_subnormal"):
        return _of_exponent(codes[0], formats[0], normal=name == "is_normal")
    values = [np.asarray(to_fp64(part, fmt)) + 0.0 for part, fmt in zip(codes, formats, strict=True)]  # + 0.0: -0 is 0
    with np.errstate(all="ignore"):
        if gives == "truth":
            found: NDArray[Any] = _TRUTHS[name](*values)
            return found
        if OPERATIONS[name].scaled:
            values = [values[0] * values[1], values[2] * values[3]]
        result = np.asarray(_NUMBERS[name.removeprefix("scaled_")](*values), np.float64)
    result = np.where(np.isnan(result), np.nan, result + 0.0)
    fp64: Format = get("format", "fp64")
    projected = convert(result.view(np.uint64), fp64, to, rounding, policy)
    derived = derive.codes(to)
    if derived.neg_zero:
        projected[projected == derived.sign_bit] = 0
    return projected


def _sum(a: F64, b: F64) -> F64:
    """a + b to odd; infinities as IEEE 754 adds them."""
    return np.where(np.isfinite(a) & np.isfinite(b), add_to_odd(a, b), a + b)


def _sum_of_three(a: F64, b: F64, c: F64) -> F64:
    """a + b + c to odd: the errors of two exact steps are added to odd first, so that nothing of them is lost."""
    part = b + c
    back = part - b
    low = (b - (part - back)) + (c - back)
    total = a + part
    back = total - a
    lower = (a - (total - back)) + (part - back)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    return np.where(finite, add_to_odd(total, add_to_odd(lower, low)), (a + b) + c)


def _recip(a: F64) -> F64:
    return np.where(a == 0, np.nan, divide_to_odd(np.ones_like(a), a))


def _by_magnitude(smallest: bool, ties: Callable[[F64, F64], F64]) -> Callable[[F64, F64], F64]:
    def chosen(a: F64, b: F64) -> F64:
        one, other = np.abs(a), np.abs(b)
        first, second = (one < other, other < one) if smallest else (one > other, other > one)
        return np.where(first, a, np.where(second, b, ties(a, b)))

    return chosen


def _number_first(choose: Callable[[F64, F64], F64]) -> Callable[[F64, F64], F64]:
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, choose(a, b)))


def _finite_first(choose: Callable[[F64, F64], F64]) -> Callable[[F64, F64], F64]:
    def chosen(a: F64, b: F64) -> F64:
        one, other = np.isfinite(a), np.isfinite(b)
        return np.where(one == other, choose(a, b), np.where(one, a, b))

    return chosen


_NUMBERS: dict[str, Callable[..., F64]] = {
    "convert": lambda a: a,
    "negate": np.negative,
    "abs": np.abs,
    "recip": _recip,
    "add": _sum,
    "subtract": lambda a, b: _sum(a, -b),
    "multiply": np.multiply,
    "fma": lambda a, b, c: _sum(a * b, c),
    "faa": _sum_of_three,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "minimum_number": np.fmin,
    "maximum_number": np.fmax,
    "minimum_magnitude": _by_magnitude(True, np.minimum),
    "maximum_magnitude": _by_magnitude(False, np.maximum),
    "minimum_magnitude_number": _number_first(_by_magnitude(True, np.minimum)),
    "maximum_magnitude_number": _number_first(_by_magnitude(False, np.maximum)),
    "minimum_finite": _finite_first(np.fmin),
    "maximum_finite": _finite_first(np.fmax),
}
_TRUTHS: dict[str, Callable[..., NDArray[Any]]] = {
    "compare_less": np.less,
    "compare_less_equal": np.less_equal,
    "compare_equal": np.equal,
    "compare_greater": np.greater,
    "compare_greater_equal": np.greater_equal,
    "is_zero": lambda a: a == 0,
    "is_one": lambda a: a == 1,
    "is_nan": np.isnan,
    "is_infinite": np.isinf,
    "is_finite": np.isfinite,
    "is_sign_minus": lambda a: a < 0,
}


def _of_exponent(codes: Codes, fmt: Format, normal: bool) -> NDArray[np.bool_]:
    """Finite and not zero, with an exponent field above 0 (normal) or of 0; a format without subnormals has normal numbers alone."""
    facts, derived = fmt.facts, derive.codes(fmt)
    assert isinstance(facts, FloatFacts)
    magnitude = codes.astype(np.int64) & ~np.int64(derived.sign_bit)
    number = ((magnitude > 0) | np.bool_(not derived.has_zero)) & (magnitude <= derived.max_code) & ~np.isin(codes, derived.nan)
    above = magnitude >> facts.frac_bits > 0 if facts.subnormals == "yes" else number
    return number & (above if normal else ~above)


def _neighbour(codes: Codes, fmt: Format, step: int) -> Codes:
    """One step along the magnitude codes, through zero and up to Inf; NaN beyond."""
    derived = derive.codes(fmt)
    wide = codes.astype(np.int64)
    magnitude = wide & ~np.int64(derived.sign_bit)
    top = derived.max_code if derived.inf is None else derived.inf
    place = np.where(wide & derived.sign_bit, -magnitude, magnitude) + step
    least = -top if derived.sign_bit else 0
    moved = np.where(place < 0, derived.sign_bit | -place, place)
    lost = (magnitude > top) | np.isin(codes, derived.nan) | (place > top) | (place < least)
    return np.where(lost, derived.nan[0], moved).astype(code_dtype(fmt))
