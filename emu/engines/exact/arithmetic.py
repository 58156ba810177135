"""The operations of recipe programs on exact values. Each gives its exact result; rounding it once is the interpreter's business.

IEEE 754 rules for zeros, Inf and NaN; the payload and sign of a NaN carry no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from emu.base.errors import EngineError, OperandError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.logarithm import logarithm_of
from emu.engines.exact.round import round_value
from emu.engines.exact.value import NAN, Value, equal, finite, less, power_of_two
from emu.spec import derive
from emu.spec.derive import OPEN
from emu.spec.models import Format, Rounding
from emu.spec.programs.types import Instruction


def value_result(item: Instruction, v: list[Value], arithmetic: Format) -> Value:
    """Return the result of an operation from values to a value. arithmetic: the program's. Raises: EngineError (no such operation)."""
    op, step = item.op, item.step
    if op in ("abs", "neg"):
        return magnitude(v[0]) if op == "abs" else negate(v[0])
    if op in ("min", "max"):
        return smaller(v[0], v[1], step.nan) if op == "min" else larger(v[0], v[1], step.nan)
    if op == "clamp":
        return clamp(v[0], v[1], v[2], step.nan)
    if op == "pow2":
        return two_to_the(v[0], arithmetic)
    if op == "log2":
        assert item.to is not None and item.rounding is not None
        return round_result(logarithm_of(v[0], item.to, item.rounding), item.to, item.rounding)
    if op not in ("round", "add", "sub", "mul", "div", "fma") or item.to is None or item.rounding is None:
        raise EngineError(f"engine exact: step {item.out}: it has no operation {op}: write it (docs/add_an_operation.md)")
    if op == "round":
        if step.overflow == "none":
            return carried(round_value(v[0], item.to, item.rounding), arithmetic)
        return round_result(v[0], item.to, item.rounding)
    if op in ("add", "sub"):
        exact = add(v[0], negate(v[1]) if op == "sub" else v[1], item.rounding)
    elif op == "mul":
        exact = multiply(v[0], v[1])
    elif op == "div":
        exact = divide(v[0], v[1])
    else:
        exact = add(multiply(v[0], v[1]), v[2], item.rounding)
    return round_result(exact, item.to, item.rounding)


def round_result(value: Value, to: Format, rounding: Rounding) -> Value:
    """Return a value rounded once to a float format; overflow as ieee_inf; a result that vanishes keeps its sign."""
    return decode_code(convert_value(value, to, rounding, derive.arithmetic_entry(to)), to)


def carried(value: Value, arithmetic: Format) -> Value:
    """Return a value of an unbounded grid as the arithmetic format carries it: Inf beyond that one's maximum."""
    largest = decode_code(derive.codes(arithmetic).max_code, arithmetic).magnitude
    return Value("inf", value.sign) if value.kind == "finite" and value.magnitude > largest else value


def add(a: Value, b: Value, rounding: Rounding) -> Value:
    """a + b. An exact zero sum is +0, or -0 when both are -0 or the mode rounds down."""
    if a.kind == "nan" or b.kind == "nan" or (a.kind == b.kind == "inf" and a.sign != b.sign):
        return NAN
    if a.kind == "inf" or b.kind == "inf":
        return a if a.kind == "inf" else b
    both_zero = a.is_zero and b.is_zero and a.sign == b.sign
    return finite(a.signed + b.signed, zero_sign=a.sign if both_zero else int(rounding.rounds_down))


def negate(a: Value) -> Value:
    """-a: the sign bit alone."""
    return Value(a.kind, 1 - a.sign, a.magnitude)


def magnitude(a: Value) -> Value:
    """|a|: the sign bit alone."""
    return Value(a.kind, 0, a.magnitude)


def multiply(a: Value, b: Value) -> Value:
    """a * b; 0 * Inf is NaN."""
    if a.kind == "nan" or b.kind == "nan" or (a.kind == "inf" and b.is_zero) or (b.kind == "inf" and a.is_zero):
        return NAN
    sign = a.sign ^ b.sign
    if a.kind == "inf" or b.kind == "inf":
        return Value("inf", sign)
    return Value("finite", sign, a.magnitude * b.magnitude)


def divide(a: Value, b: Value) -> Value:
    """a / b; 0/0 and Inf/Inf are NaN, x/0 is Inf."""
    if a.kind == "nan" or b.kind == "nan" or (a.is_zero and b.is_zero) or (a.kind == b.kind == "inf"):
        return NAN
    sign = a.sign ^ b.sign
    if a.kind == "inf" or b.is_zero:
        return Value("inf", sign)
    return Value("finite", sign, Fraction(0) if b.kind == "inf" else a.magnitude / b.magnitude)


def smaller(a: Value, b: Value, nan: str) -> Value:
    """min(a, b); of two equal values the first. nan: propagate or drop."""
    if a.kind == "nan" or b.kind == "nan":
        return NAN if nan == "propagate" else b if a.kind == "nan" else a
    return b if less(b, a) else a


def larger(a: Value, b: Value, nan: str) -> Value:
    """max(a, b); of two equal values the first. nan: propagate or drop."""
    if a.kind == "nan" or b.kind == "nan":
        return NAN if nan == "propagate" else b if a.kind == "nan" else a
    return b if less(a, b) else a


def clamp(v: Value, low: Value, high: Value, nan: str) -> Value:
    """min(max(v, low), high)."""
    return smaller(larger(v, low, nan), high, nan)


def largest_magnitude_of(values: Sequence[Value], nan: str) -> Value:
    """Return the maximum of |v|; never empty. nan: propagate, or drop (all NaN gives NaN)."""
    best = magnitude(values[0])
    for value in values[1:]:
        best = larger(best, magnitude(value), nan)
    return NAN if best.kind == "nan" else best


def total(values: Sequence[Value], order: str, to: Format, rounding: Rounding) -> Value:
    """Return the sum in a stated order, every addition rounded to `to` (exact: the whole sum once)."""
    row = list(values)
    if order == "tree":
        if len(row) & (len(row) - 1):
            raise OperandError(f"a tree sum needs a power of two of terms, not {len(row)}")
        while len(row) > 1:
            row = _halved(row, to, rounding)
        return row[0]
    if order == "halves":
        if len(row) % 2:
            raise OperandError(f"a sum of halves needs an even number of terms, not {len(row)}")
        row = _halved(values, to, rounding)
    acc = finite(Fraction(0))
    for value in row:
        acc = add(acc, value, rounding)
        if order != "exact":
            acc = round_result(acc, to, rounding)
    return round_result(acc, to, rounding)


def _halved(row: Sequence[Value], to: Format, rounding: Rounding) -> list[Value]:
    """Return the first half plus the second, value by value, each sum rounded."""
    half = len(row) // 2
    return [round_result(add(row[i], row[i + half], rounding), to, rounding) for i in range(half)]


def two_to_the(n: Value, to: Format) -> Value:
    """2^n of an integral value, in every rounding mode: below the smallest subnormal of `to` +0, beyond its maximum Inf. NaN gives NaN."""
    if n.kind != "finite":
        return n if n.kind == "nan" else Value("inf", 0) if not n.sign else Value("finite", 0)
    if n.signed.denominator != 1:
        raise OperandError("pow2 takes an integral value")
    exp = max(min(int(n.signed), 4096), -4096)
    largest, smallest = decode_code(derive.codes(to).max_code, to).magnitude, decode_code(1, to).magnitude
    power = power_of_two(exp)
    if power > largest:
        return Value("inf", 0)
    return finite(power) if power >= smallest else Value("finite", 0)


def nearest_code(v: Value, unit: Value, to: Format, arithmetic: Format, rounding: Rounding) -> int:
    """Return the first code of `to` whose value times the unit has the least rounded error; a NaN error is less than none."""

    def rounded(exact: Value) -> Value:
        return round_result(exact, arithmetic, rounding)

    best, least = -1, NAN
    for code in range(1 << derive.codes(to).bits):
        value = decode_code(code, to)
        if value.kind != "finite":
            continue
        error = magnitude(rounded(add(rounded(multiply(value, unit)), negate(v), rounding)))
        if best < 0 or less(error, least):
            best, least = code, error
    return best


def wrapped(n: Value, to: Format) -> int:
    """Return the code whose bits are an integer modulo 2^bits; OPEN for NaN and Inf. Raises: OperandError (not integral)."""
    if n.kind != "finite":
        return OPEN
    if n.signed.denominator != 1:
        raise OperandError("wrap takes an integral value")
    return int(n.signed) % (1 << derive.codes(to).bits)


def e8m0_rule(a: Value, rule: str, emax: int, frac_bits: int, fp32_code: int) -> int:
    """Return the E8M0 code that a rule gives for the binary32 fields of a magnitude.

    fp32_code: the bits of a >= 0; NaN gives 0xFF.   emax, frac_bits: of the element format, where the rule reads them.
    """
    # From here on only the rounded scale counts: docs/how_it_works.md#the-scale-decision-of-a-block
    if a.kind == "nan":
        return 0xFF
    bits = fp32_code & 0x7FFFFFFF
    if rule == "even":
        bits = bits + (1 << (22 - frac_bits)) & 0x7F800000
    exp_field, fraction = bits >> 23, bits & 0x7FFFFF
    if rule in ("ceil", "field_up"):
        exp_field += fraction > 0
    if rule == "field_up":
        return min(exp_field, 0xFF)
    return max(-127, min(exp_field - 127 - emax, 128)) + 127


def holds(test: str, u: Value, v: Value | None) -> bool:
    """Tell whether the test of a select holds; comparisons with NaN are false."""
    if test in ("nan", "inf"):
        return u.kind == test
    if test == "zero":
        return u.is_zero
    if test == "neg":
        return u.kind != "nan" and bool(u.sign) and not u.is_zero
    assert v is not None
    if test == "lt":
        return less(u, v)
    if test == "ge":
        return less(v, u) or equal(u, v)
    return less(u, v) or equal(u, v)
