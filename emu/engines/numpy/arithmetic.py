"""The operations of recipe programs on float32 arrays.

Native where binary32 and nearest even are asked; elsewhere exact or rounded to odd in binary64, then rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError, OperandError
from emu.engines.numpy import tables
from emu.engines.numpy.convert import convert_marked, to_fp32
from emu.engines.numpy.fields import split
from emu.engines.numpy.float64 import add_to_odd, divide_to_odd
from emu.engines.numpy.integer import Target, locate, target_of
from emu.engines.numpy.integer import goes_up as rounds_up
from emu.engines.numpy.logarithm import logarithm_of
from emu.spec import derive
from emu.spec.ieee import binary_format, is_binary32, is_nearest_even, is_single
from emu.spec.models import Format, Rounding
from emu.spec.programs.types import Constant, Instruction

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
U32 = NDArray[np.uint32]


def apply(item: Instruction, v: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the result of an elementwise step of a program; v: its arguments, in shapes that broadcast. Raises: EngineError."""
    op, step = item.op, item.step
    if op == "select":
        tested = v[:-2]
        return np.where(compare(step.test, tested[0], tested[1] if len(tested) > 1 else None), v[-2], v[-1])
    if op in ("abs", "neg"):
        signed: NDArray[Any] = np.abs(v[0]) if op == "abs" else np.negative(v[0])
        return signed
    if op in ("min", "max"):
        return _min_max(op, v[0], v[1], step.nan, item.args)
    if op == "clamp":
        return _min_max("min", _min_max("max", v[0], v[1], step.nan, item.args[:2]), v[2], step.nan, item.args[2:])
    if op == "pow2":
        return power(v[0])
    if op == "log2":
        return logarithm_of(v[0])
    if item.type.is_code:
        return _code_result(item, v)
    if op not in ("round", "fma", *_NATIVE) or item.to is None or item.rounding is None:
        raise EngineError(f"engine numpy: step {item.out}: it has no operation {op}: use engine='exact'")
    if op == "round":
        unbounded = step.overflow == "none"
        return round_unbounded(v[0], item.to, item.rounding) if unbounded else round_values(v[0], item.to, item.rounding)
    if op == "fma":
        return fused(v[0], v[1], v[2], item.to, item.rounding)
    return binary(op, v[0], v[1], item.to, item.rounding)


def _code_result(item: Instruction, v: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the codes that e8m0_rule, nearest or wrap gives. Raises: EngineError (another operation)."""
    if item.op == "e8m0_rule":
        return e8m0_rule(v[0], item.step.rule, item.step.emax or 0, item.step.frac_bits or 0)
    if item.op == "nearest" and item.to is not None and item.rounding is not None:
        return nearest_codes(v[0], v[1], item.to, item.rounding)
    if item.op == "wrap" and item.to is not None:
        return wrapped(v[0], item.to)
    raise EngineError(f"engine numpy: step {item.out}: it has no operation {item.op}: use engine='exact'")


def _min_max(op: str, a: F32, b: F32, nan: str, args: Sequence[str | Constant]) -> NDArray[Any]:
    """NumPy's own functions where no two zeros of different sign can meet, else the rule `of equal values the first`.

    args: which of the two operands are constants: one that is not zero keeps zeros apart. fmin and fmax are of no use: the C library's
    give NaN for a signalling one.
    """
    if nan == "propagate" and any(isinstance(arg, Constant) and arg.bits & 0x7FFFFFFF for arg in args):
        return np.minimum(a, b) if op == "min" else np.maximum(a, b)
    return pick(op, a, b, nan)


_NATIVE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def binary(op: str, a: F32, b: F32, to: Format, rounding: Rounding, out: F32 | None = None) -> F32:
    """Return a op b, op one of add sub mul div, rounded once to `to`; broadcast. out: an array to use for a native result."""
    if is_single(to, rounding):
        return _NATIVE[op](a, b, out=out)
    wide, other = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    if op == "mul":
        exact = wide * other
    elif op == "div":
        exact = divide_to_odd(np.ascontiguousarray(wide), np.ascontiguousarray(other))
    else:
        exact = _sum(wide, -other if op == "sub" else other, rounding)
    return round_wide(exact, to, rounding)


def fused(a: F32, b: F32, c: F32, to: Format, rounding: Rounding) -> F32:
    """Return a * b + c, rounded once: the product is exact in binary64."""
    product, addend = np.broadcast_arrays(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return round_wide(_sum(product, addend, rounding), to, rounding)


def _sum(a: F64, b: F64, rounding: Rounding) -> F64:
    """a + b to odd; an exact zero sum of different operands is -0 in a mode that rounds down."""
    total = add_to_odd(np.ascontiguousarray(a), np.ascontiguousarray(b))
    if rounding.rounds_down:
        total = np.where((total == 0) & ((np.signbit(a) != np.signbit(b)) | (a != 0)), -0.0, total)
    return total


def round_wide(exact: F64, to: Format, rounding: Rounding) -> F32:
    """Return binary64 numbers (exact or rounded to odd) rounded once to a float format, as float32; overflow as ieee_inf."""
    if is_single(to, rounding):
        return exact.astype(np.float32)
    flat = np.ascontiguousarray(exact).reshape(-1).view(np.uint64)
    codes = convert_marked(flat, tables.fp64(), to, rounding, derive.arithmetic_entry(to))
    return to_fp32(codes, to).reshape(exact.shape)


def round_values(values: F32, to: Format, rounding: Rounding) -> F32:
    """Return binary32 numbers rounded once to a float format inside binary32, as float32; overflow as ieee_inf."""
    if is_binary32(to):
        return values
    bits = np.ascontiguousarray(values).view(np.uint32)
    if binary_format(to) == "bfloat16" and is_nearest_even(rounding):
        return round_to_bf16(bits).view(np.float32)
    codes = convert_marked(bits.reshape(-1), tables.fp32(), to, rounding, derive.arithmetic_entry(to))
    return to_fp32(codes, to).reshape(values.shape)


def round_to_bf16(bits: U32) -> U32:
    """Return binary32 codes rounded to bf16 (nearest even), still binary32 codes; NaN becomes the canonical one."""
    out = bits >> np.uint32(16)
    out &= np.uint32(1)
    out += np.uint32(0x7FFF)
    out += bits
    out &= np.uint32(0xFFFF0000)
    nan = np.isnan(bits.view(np.float32))
    if nan.any():
        out[nan] = np.uint32(0x7FC00000)
    return out


def round_unbounded(values: F32, to: Format, rounding: Rounding) -> F32:
    """Return values rounded to the grid of a float format that goes on above its maximum; NaN and Inf stay."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    fields = split(bits, tables.fp32())
    place = locate(fields, to)
    code = place.code + rounds_up(place, fields.sign, to, rounding, None)
    layout = target_of(to)
    if isinstance(layout, int):
        size = np.ldexp(code.astype(np.float64), layout)
        size = np.where(place.rest == 0, np.abs(values), size)  # a multiple of the unit stays; its code may have too many bits
    else:
        size = _magnitude(code, layout)
    out = np.where(fields.sign, -size, size).astype(np.float32)
    return np.where(fields.nan | fields.inf, values, out)


def _magnitude(code: NDArray[np.int64], layout: Target) -> F64:
    """Return the magnitudes of unbounded codes, exact in binary64."""
    field, fraction = code >> layout.frac_bits, code & ((1 << layout.frac_bits) - 1)
    normal = (field > 0) | (not layout.hidden_zero)
    significand = np.where(normal, fraction + (1 << layout.frac_bits), fraction).astype(np.float64)
    exp = np.where(normal, field - layout.bias, 1 - layout.bias) - layout.frac_bits
    out: F64 = np.ldexp(significand, exp)
    return out


def pick(op: str, a: F32, b: F32, nan: str) -> F32:
    """Return min or max, elementwise; of equal values the first (it matters for +0 and -0). nan: propagate or drop."""
    take_b = b < a if op == "min" else a < b
    out = np.where(take_b, b, a)
    if nan == "drop":
        return np.where(np.isnan(a), b, out)
    return np.where(np.isnan(b), b, out)


def power(n: F32) -> F32:
    """Return 2^n of integral values: below 2^-149 +0, above 2^127 Inf; NaN gives NaN. Raises: OperandError for another finite value."""
    with np.errstate(all="ignore"):
        if (np.isfinite(n) & (np.trunc(n) != n)).any():
            raise OperandError("pow2 takes an integral value")
        whole = np.where(np.isfinite(n), np.clip(n, -200, 200), 0).astype(np.int64)
        out = np.where(whole < -149, 0.0, np.ldexp(1.0, whole)).astype(np.float32)
        return np.where(np.isnan(n), n, np.where(np.isinf(n), np.where(n > 0, n, np.float32(0)), out)).astype(np.float32)


def nearest_codes(values: F32, unit: F32, to: Format, rounding: Rounding) -> NDArray[np.uint16]:
    """Return the first finite code of `to` whose value times the unit has the least rounded error; a NaN error is less than none."""
    fp32 = tables.fp32()
    codes = derive.finite_codes(to)
    candidates = to_fp32(np.array(codes, np.uint32), to)
    products = (binary("mul", each.reshape(1, 1, 1, 1), unit, fp32, rounding) for each in candidates)
    errors = (np.abs(binary("sub", product, values, fp32, rounding)) for product in products)
    least = next(errors)
    best = np.full(least.shape, codes[0], np.uint16)
    for code, error in zip(codes[1:], errors, strict=True):
        less = error < least
        best[less], least = code, np.where(less, error, least)
    return best


def wrapped(n: F32, to: Format) -> NDArray[np.uint32]:
    """Return the codes whose bits are integers modulo 2^bits; open for NaN and Inf. Raises: OperandError (not integral)."""
    finite = np.isfinite(n)
    if (finite & (np.trunc(n) != n)).any():
        raise OperandError("wrap takes an integral value")
    size = np.float64(1 << derive.codes(to).bits)
    code = np.mod(np.where(finite, n, np.float32(0)).astype(np.float64), size)  # of a power of two: exact
    return np.where(finite, code, tables.mark(derive.OPEN, to)).astype(tables.marker_dtype(to))


def e8m0_rule(values: F32, rule: str, emax: int, frac_bits: int) -> NDArray[np.uint16]:
    """Return the E8M0 codes that a rule gives for the binary32 fields of magnitudes; NaN gives 0xFF."""
    bits = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0x7FFFFFFF)
    nan = bits > np.uint32(0x7F800000)
    if rule == "even":
        bits = (bits + np.uint32(1 << (22 - frac_bits))) & np.uint32(0x7F800000)
    field = (bits >> np.uint32(23)).astype(np.int32)
    if rule in ("ceil", "field_up"):
        field = field + ((bits & np.uint32(0x7FFFFF)) != 0)
    code = np.minimum(field, 255) if rule == "field_up" else np.clip(field - 127 - emax, -127, 128) + 127
    return np.where(nan, 255, code).astype(np.uint16)


def compare(test: str, u: F32, v: F32 | None) -> NDArray[np.bool_]:
    """Return where the test of a select holds; comparisons with NaN are false."""
    with np.errstate(invalid="ignore"):
        if test == "nan":
            return np.isnan(u)
        if test == "inf":
            return np.isinf(u)
        hit: NDArray[np.bool_]
        if test in ("zero", "neg"):
            hit = u == 0 if test == "zero" else u < 0
            return hit
        assert v is not None
        hit = u < v if test == "lt" else u <= v if test == "le" else u >= v
        return hit
