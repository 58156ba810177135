"""operate: operations of the IEEE P3109 draft on exact numbers, then one projection: rounding, saturation, encoding.

Zero has no sign: a result that is zero, or rounds to it, is +0. NaN has none either.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from emu.base.caches import Cache
from emu.engines.exact.arithmetic import larger, magnitude, multiply, negate, smaller
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import NAN, ZERO, Value, equal, finite, less
from emu.spec import derive
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.operations import OPERATIONS

_ordered: Cache[str, list[tuple[Any, ...]]] = Cache("emu.engines.exact.operate._ordered", 256)


def operate_codes(name: str, codes: Sequence[int], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy) -> int:
    """Return the code, or 0 or 1, that an operation gives.

    codes: one per operand, of `formats`.   to, rounding, policy: the projection; unread where the result is no number to project.
    A code that the policy leaves open or refuses is derive.OPEN or derive.REFUSE.
    Source: IEEE P3109 interim report 4.0, 4.10 to 4.16 and 5.5.   Tests: tests/engines/exact/test_exact_operations.py.
    """
    gives = OPERATIONS[name].gives
    if gives == "code":
        return _neighbour(codes[0], formats[0], 1 if name == "next_greater_than" else -1)
    if gives == "truth":
        return int(_truth(name, _values(codes, formats), formats))
    code = convert_value(exact_result(name, codes, formats), to, rounding, derive.policy_entry(policy, to))
    derived = derive.codes(to)
    return 0 if derived.neg_zero and code == derived.sign_bit else code


def exact_result(name: str, codes: Sequence[int], formats: Sequence[Format]) -> Value:
    """Return the number that an operation projects: exact, its zero and NaN without sign. codes: as in operate_codes."""
    return _unsigned_zero(_number(name, _values(codes, formats)))


def _values(codes: Sequence[int], formats: Sequence[Format]) -> list[Value]:
    return [_unsigned_zero(decode_code(code, fmt)) for code, fmt in zip(codes, formats, strict=True)]


def _unsigned_zero(value: Value) -> Value:
    return Value(value.kind, 0, ZERO) if value.is_zero or value.kind == "nan" else value


def _number(name: str, v: Sequence[Value]) -> Value:
    """The exact result of an operation."""
    plain = _NUMBERS[name.removeprefix("scaled_")]
    if OPERATIONS[name].scaled:
        return plain(multiply(v[0], v[1]), multiply(v[2], v[3]))
    return plain(*v)


def _sum(*terms: Value) -> Value:
    """The sum of all at once; NaN where infinities of both signs meet."""
    infinite = {item.sign for item in terms if item.kind == "inf"}
    if len(infinite) == 2 or any(item.kind == "nan" for item in terms):
        return NAN
    if infinite:
        return Value("inf", infinite.pop())
    return finite(sum((item.signed for item in terms), Fraction(0)))


def _recip(a: Value) -> Value:
    """1/a; NaN of zero, since zero has no sign; 0 of an infinity."""
    if a.kind == "nan" or a.is_zero:
        return NAN
    return finite(ZERO) if a.kind == "inf" else finite(1 / a.signed)


_smaller, _larger = partial(smaller, nan="propagate"), partial(larger, nan="propagate")
_smaller_number, _larger_number = partial(smaller, nan="drop"), partial(larger, nan="drop")


def _by_magnitude(choose: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """The one of the smaller or larger magnitude; of two equal magnitudes, and with NaN, what `choose` says."""

    def chosen(a: Value, b: Value) -> Value:
        one, other = magnitude(a), magnitude(b)
        if "nan" in (a.kind, b.kind) or equal(one, other):
            return choose(a, b)
        return a if equal(choose(one, other), one) else b

    return chosen


def _finite_first(choose: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """Of a finite number and another datum the finite one; of an infinity and NaN the infinity."""

    def chosen(a: Value, b: Value) -> Value:
        if (a.kind == "finite") != (b.kind == "finite"):
            return a if a.kind == "finite" else b
        return choose(a, b)

    return chosen


_NUMBERS: dict[str, Callable[..., Value]] = {
    "convert": lambda a: a,
    "negate": negate,
    "abs": magnitude,
    "recip": _recip,
    "add": _sum,
    "subtract": lambda a, b: _sum(a, negate(b)),
    "multiply": multiply,
    "fma": lambda a, b, c: _sum(multiply(a, b), c),
    "faa": _sum,
    "minimum": _smaller,
    "maximum": _larger,
    "minimum_number": _smaller_number,
    "maximum_number": _larger_number,
    "minimum_magnitude": _by_magnitude(_smaller),
    "maximum_magnitude": _by_magnitude(_larger),
    "minimum_magnitude_number": _by_magnitude(_smaller_number),
    "maximum_magnitude_number": _by_magnitude(_larger_number),
    "minimum_finite": _finite_first(_smaller_number),
    "maximum_finite": _finite_first(_larger_number),
}


def _truth(name: str, v: Sequence[Value], formats: Sequence[Format]) -> bool:
    """Yes or no: a comparison, or what kind of number it is. A comparison with NaN is no."""
    if name.startswith("compare_"):
        a, b = v
        found = (less(a, b), equal(a, b), less(b, a))
        return any(found[place] for place in _COMPARES[name.removeprefix("compare_")])
    (a,) = v
    if name in ("is_normal", "is_subnormal"):
        return a.kind == "finite" and not a.is_zero and (a.magnitude >= _least_normal(formats[0])) == (name == "is_normal")
    return {
        "is_zero": a.is_zero,
        "is_one": equal(a, finite(Fraction(1))),
        "is_nan": a.kind == "nan",
        "is_infinite": a.kind == "inf",
        "is_finite": a.kind == "finite",
        "is_sign_minus": a.kind != "nan" and bool(a.sign),
    }[name]


_COMPARES = {"less": (0,), "less_equal": (0, 1), "equal": (1,), "greater": (2,), "greater_equal": (1, 2)}


def _least_normal(fmt: Format) -> Fraction:
    facts = fmt.facts
    assert isinstance(facts, FloatFacts)
    return decode_code(1 << facts.frac_bits if facts.subnormals == "yes" else 0, fmt).magnitude


def _neighbour(code: int, fmt: Format, step: int) -> int:
    """The code of the next larger (step 1) or smaller (-1) number, infinities among them; NaN after the last."""
    nan, value = derive.codes(fmt).nan[0], decode_code(code, fmt)
    if value.kind == "nan":
        return nan
    if fmt.facts_digest not in _ordered:
        every = ((decode_code(item, fmt), item) for item in range(1 << derive.codes(fmt).bits))
        _ordered[fmt.facts_digest] = sorted((_rank(found), item) for found, item in every if _is_number(found))
    order = _ordered[fmt.facts_digest]
    place = bisect_left(order, (_rank(value),)) + step
    return order[place][1] if 0 <= place < len(order) else nan


def _is_number(value: Value) -> bool:
    """A number or an infinity; -0 is none beside 0."""
    return value.kind != "nan" and not (value.is_zero and value.sign)


def _rank(value: Value) -> tuple[int, Fraction]:
    return (-1 if value.sign else 1, ZERO) if value.kind == "inf" else (0, value.signed)
