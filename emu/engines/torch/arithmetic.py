"""Exact sums, products and quotients of numbers, rounded once: by integers, to any float format in any deterministic mode.

binary32 results to nearest even of one add, sub, mul or div are the device's own single operation: IEEE 754 says it is the same.
"""

from __future__ import annotations

import torch

from emu.base.caches import Cache
from emu.base.errors import EngineError, OperandError
from emu.engines.torch.logarithm import logarithm_of
from emu.engines.torch.numbers import MOST_BITS, Number, shifted, signed_mask, split, top_bit
from emu.engines.torch.odd import take
from emu.engines.torch.round import decode_unbounded, encode, goes_up, grid_of, locate
from emu.spec import derive
from emu.spec.ieee import is_binary32, is_nearest_even, is_single
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.one_table import table_is_exact
from emu.spec.programs.types import Instruction
from emu.spec.registry import get

_TOP = MOST_BITS - 2  # leading bit of a term before an addition; the sum has one bit more
_FRAC_BITS, _BIAS, _LEAST_POWER = 23, 127, -149  # binary32: what IEEE 754 calls p - 1, emax and the exponent of the least subnormal
_MOST_POWER = 12  # 2^(2^12) is far beyond every number
_TABLE_BITS = 16  # formats of at most so many bits are decoded by a table


def fp32() -> Format:
    """Return binary32."""
    fmt: Format = get("format", "fp32")
    return fmt


def number_of(values: torch.Tensor) -> Number:
    """Return float32 values as exact numbers."""
    return split(values.view(torch.int32).to(torch.int64) & 0xFFFFFFFF, fp32())


def values_of(codes: torch.Tensor) -> torch.Tensor:
    """Return int64 binary32 codes as float32 values."""
    return codes.to(torch.int32).view(torch.float32)


def apply(item: Instruction, v: list[torch.Tensor]) -> torch.Tensor:
    """Return the result of an elementwise step of a program; v: its arguments, in shapes that broadcast. Raises: EngineError."""
    op, step = item.op, item.step
    if op == "select":
        tested = v[:-2]
        return torch.where(compare(step.test, tested[0], tested[1] if len(tested) > 1 else None), v[-2], v[-1])
    if op in ("abs", "neg"):
        bits = v[0].contiguous().view(torch.int32)
        return (bits & 0x7FFFFFFF if op == "abs" else bits ^ -0x80000000).view(torch.float32)
    if op in ("min", "max"):
        return pick(op, v[0], v[1], step.nan)
    if op == "clamp":
        return pick("min", pick("max", v[0], v[1], step.nan), v[2], step.nan)
    if op == "pow2":
        return power_of_two(v[0])
    if op == "log2":
        return logarithm_of(v[0])
    if item.type.is_code:
        return _code_result(item, v)
    if op not in ("round", "fma", *_SINGLE) or item.to is None or item.rounding is None:
        raise EngineError(f"engine torch: step {item.out}: it has no operation {op}: engine exact does it")
    if op == "round":
        unbounded = step.overflow == "none"
        return round_unbounded(v[0], item.to, item.rounding) if unbounded else round_values(v[0], item.to, item.rounding)
    if op == "fma":
        return fused(v[0], v[1], v[2], item.to, item.rounding)
    return binary(op, v[0], v[1], item.to, item.rounding)


def _code_result(item: Instruction, v: list[torch.Tensor]) -> torch.Tensor:
    """Return the codes that e8m0_rule, nearest or wrap gives. Raises: EngineError (another operation)."""
    if item.op == "e8m0_rule":
        return e8m0_rule(v[0], item.step.rule, item.step.emax or 0, item.step.frac_bits or 0)
    if item.op == "nearest" and item.to is not None and item.rounding is not None:
        return nearest_codes(v[0], v[1], item.to, item.rounding)
    if item.op == "wrap" and item.to is not None:
        return wrapped(v[0], item.to)
    raise EngineError(f"engine torch: step {item.out}: it has no operation {item.op}: engine exact does it")


_SINGLE = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}


def binary(op: str, a: torch.Tensor, b: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return add, sub, mul or div of float32 values, rounded once to a format inside binary32, as float32; overflow as ieee_inf."""
    if is_single(to, rounding):
        return _SINGLE[op](a, b)
    x, y = (number_of(v.contiguous()) for v in torch.broadcast_tensors(a, b))
    if op == "mul":
        exact = multiply(x, y)
    elif op == "div":
        exact = divide(x, y)
    else:
        exact = add(x, y.negated() if op == "sub" else y, rounding)
    return round_number(exact, to, rounding)


def fused(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return a * b + c of float32 values, rounded once."""
    x, y, z = (number_of(v.contiguous()) for v in torch.broadcast_tensors(a, b, c))
    return round_number(add(multiply(x, y), z, rounding), to, rounding)


def round_number(exact: Number, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return exact numbers rounded once to a float format inside binary32, as float32; overflow as ieee_inf, NaN canonical."""
    codes = encode(exact, to, rounding, derive.arithmetic_entry(to))
    return values_of(codes) if is_binary32(to) else values_of(widened(codes, to))


def widened(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return the binary32 codes of int64 codes of a format inside binary32."""
    return encode(split(codes, fmt), fp32(), get("rounding", "rne"), derive.arithmetic_entry(fp32()))


def round_values(values: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return float32 values rounded once to a float format inside binary32, as float32; overflow as ieee_inf."""
    if is_binary32(to):
        return values
    if table_is_exact(fp32(), to, rounding, derive.arithmetic_entry(to)):
        return _by_table(values, to, rounding)
    if is_nearest_even(rounding) and is_cut(fp32(), to):
        lost = derive.codes(fp32()).bits - derive.codes(to).bits
        return (cut(values.contiguous().view(torch.int32), fp32(), to) << lost).view(torch.float32)
    return round_number(number_of(values.contiguous()), to, rounding)


_tables: Cache[tuple[object, ...], torch.Tensor] = Cache("emu.engines.torch.arithmetic._tables", 256)


def _by_table(values: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    key = (to.facts_digest, rounding.facts_digest, values.device)
    if key not in _tables:
        every = (torch.arange(1 << 16, device=values.device) << 16).to(torch.int32).view(torch.float32)
        _tables[key] = round_number(number_of(every), to, rounding)
    return take(_tables[key], values.contiguous().view(torch.int32))


def multiply(x: Number, y: Number) -> Number:
    """Return x * y; 0 * Inf is NaN. The product of the significands must fit 62 bits."""
    nan = x.nan | y.nan | (x.inf & y.zero) | (y.inf & x.zero)
    return Number(x.sign ^ y.sign, nan, (x.inf | y.inf) & ~nan, x.significand * y.significand, x.lsb_exp + y.lsb_exp)


def divide(x: Number, y: Number) -> Number:
    """Return x / y with a sticky last bit; 0/0 and Inf/Inf are NaN, x/0 is Inf. Significands of at most 24 bits."""
    nan = x.nan | y.nan | (x.zero & y.zero) | (x.inf & y.inf)
    inf = (x.inf | y.zero) & ~nan
    up = _TOP - top_bit(x.significand.clamp(min=1))
    top, bottom = x.significand << up, y.significand.clamp(min=1)
    quotient = torch.div(top, bottom, rounding_mode="floor")
    quotient = torch.where(quotient * bottom != top, quotient | 1, quotient)
    quotient = torch.where(y.inf | x.zero, 0, quotient)
    return Number(x.sign ^ y.sign, nan, inf, quotient, x.lsb_exp - up - y.lsb_exp)


def add(x: Number, y: Number, rounding: Rounding) -> Number:
    """Return x + y with a sticky last bit; an exact zero sum is +0, or -0 when both are -0 or the mode rounds down.

    Significands of at most 53 bits: whatever falls off below 2^60 then leaves more bits than any result keeps.
    """
    nan = x.nan | y.nan | (x.inf & y.inf & (x.sign != y.sign))
    inf = (x.inf | y.inf) & ~nan
    up_x, up_y = (_TOP - top_bit(v.significand.clamp(min=1)) for v in (x, y))
    low = -(1 << 20)
    lsb_x, lsb_y = torch.where(x.significand > 0, x.lsb_exp - up_x, low), torch.where(y.significand > 0, y.lsb_exp - up_y, low)
    lsb = torch.maximum(lsb_x, lsb_y)
    kept_x, kept_y = (shifted(v.significand << up, own - lsb) for v, up, own in ((x, up_x, lsb_x), (y, up_y, lsb_y)))
    total = torch.where(x.sign, -kept_x, kept_x) + torch.where(y.sign, -kept_y, kept_y)
    both = x.zero & y.zero & (x.sign == y.sign)
    zero_sign = torch.where(both, x.sign, torch.full_like(x.sign, rounding.rounds_down))
    sign = torch.where(inf, torch.where(x.inf, x.sign, y.sign), torch.where(total == 0, zero_sign, total < 0))
    return Number(sign, nan, inf, total.abs(), lsb)


def power_of_two(n: torch.Tensor) -> torch.Tensor:
    """Return 2^n of integral float32 values: below 2^-149 +0, above 2^127 Inf, NaN gives NaN. Raises: OperandError (not integral)."""
    x, most = number_of(n.contiguous()), 1 << _MOST_POWER
    right = (-x.lsb_exp).clamp(0, MOST_BITS)
    kept = x.significand >> right
    if bool(((kept << right) != x.significand)[~x.nan & ~x.inf].any()):
        raise OperandError("pow2 takes an integral value")
    whole = torch.where(x.inf | (x.lsb_exp > _MOST_POWER), most, kept << x.lsb_exp.clamp(0, _MOST_POWER)).clamp(max=most)
    exp = torch.where(x.sign, -whole, whole)
    normal = (exp + _BIAS).clamp(0, 2 * _BIAS + 1) << _FRAC_BITS
    subnormal = torch.where(exp < _LEAST_POWER, 0, torch.ones_like(exp) << (exp - _LEAST_POWER).clamp(0, _FRAC_BITS))
    out = torch.where(exp > -_BIAS, normal, subnormal)
    return values_of(torch.where(x.nan, derive.codes(fp32()).nan[0], out))


def nearest_codes(values: torch.Tensor, unit: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return the first finite code of `to`, int64, whose value times the unit has the least rounded error; NaN is less than nothing."""
    codes = derive.finite_codes(to)
    candidates = decoded(torch.tensor(codes, device=values.device), to)
    best, least = torch.zeros((), dtype=torch.int64, device=values.device), values
    for at, code in enumerate(codes):
        product = binary("mul", candidates[at].expand(unit.shape), unit, fp32(), rounding)
        difference = binary("sub", product, values, fp32(), rounding)
        error = (difference.contiguous().view(torch.int32) & 0x7FFFFFFF).view(torch.float32)
        less = error < least if at else torch.ones_like(error, dtype=torch.bool)
        best, least = torch.where(less, code, best), torch.where(less, error, least)
    return best


def wrapped(n: torch.Tensor, to: Format) -> torch.Tensor:
    """Return the codes, int64, whose bits are integers modulo 2^bits; open for NaN and Inf. Raises: OperandError (not integral)."""
    x, bits = number_of(n.contiguous()), derive.codes(to).bits
    finite = ~x.nan & ~x.inf
    right = (-x.lsb_exp).clamp(0, MOST_BITS)
    kept = x.significand >> right
    if bool(((kept << right) != x.significand)[finite].any()):
        raise OperandError("wrap takes an integral value")
    low = torch.where(x.lsb_exp >= bits, 0, kept << x.lsb_exp.clamp(0, bits))
    return torch.where(finite, torch.where(x.sign, -low, low) & signed_mask(bits), derive.OPEN)


def total(values: torch.Tensor, order: str, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return the sums along the last axis of float32 values in a stated order, every addition rounded; the axis stays, of length 1."""
    terms = values.shape[-1]
    least = {"tree": 1, "halves": terms // 2}.get(order, terms)
    while values.shape[-1] > least:
        half = values.shape[-1] // 2
        values = binary("add", values[..., :half], values[..., half:], to, rounding)
    if order == "tree":
        return values
    acc = torch.zeros_like(values[..., :1])
    for i in range(values.shape[-1]):
        acc = binary("add", acc, values[..., i : i + 1], to, rounding)
    return acc


def pick(op: str, a: torch.Tensor, b: torch.Tensor, nan: str) -> torch.Tensor:
    """Return min or max of float32 values; of equal ones the first (it matters for +0 and -0). nan: propagate or drop."""
    out = torch.where(b < a if op == "min" else a < b, b, a)
    return torch.where(torch.isnan(a if nan == "drop" else b), b, out)


def compare(test: str, u: torch.Tensor, v: torch.Tensor | None) -> torch.Tensor:
    """Return where the test of a select holds; comparisons with NaN are false."""
    if test in ("nan", "inf"):
        return torch.isnan(u) if test == "nan" else torch.isinf(u)
    if test in ("zero", "neg"):
        return u == 0 if test == "zero" else u < 0
    assert v is not None
    return u < v if test == "lt" else u <= v if test == "le" else u >= v


def e8m0_rule(values: torch.Tensor, rule: str, emax: int, frac_bits: int) -> torch.Tensor:
    """Return the E8M0 codes, int64, that a rule gives for the binary32 fields of magnitudes; NaN gives the format's NaN."""
    single, scale = fp32(), get("format", "e8m0")
    bits = values.contiguous().view(torch.int32).to(torch.int64) & signed_mask(derive.codes(single).magnitude_bits)
    inf = derive.codes(single).inf
    assert inf is not None
    nan = bits > inf
    if rule == "even":
        bits = (bits + (1 << (_FRAC_BITS - 1 - frac_bits))) & inf
    field = bits >> _FRAC_BITS
    if rule in ("ceil", "field_up"):
        field = field + ((bits & signed_mask(_FRAC_BITS)) != 0)
    largest = derive.codes(scale).nan[0]
    code = field.clamp(max=largest) if rule == "field_up" else (field - emax).clamp(0, largest)
    return torch.where(nan, largest, code)


def amax(values: torch.Tensor, axes: list[int], nan: str) -> torch.Tensor:
    """Return the largest magnitude over axes that stay, of length 1, from the bits: NaN is above Inf. All NaN gives NaN in both rules.

    nan: propagate, or drop: NaN is passed over.
    """
    single = derive.codes(fp32())
    inf = single.inf
    assert inf is not None
    bits = values.contiguous().view(torch.int32) & signed_mask(single.magnitude_bits)
    if nan == "drop":
        found = torch.where(bits > inf, -1, bits).amax(axes, keepdim=True)
        return torch.where(found < 0, single.nan[0], found).view(torch.float32)
    found = bits.amax(axes, keepdim=True)
    return torch.where(found > inf, single.nan[0], found).view(torch.float32)


def decoded(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return the values of codes as float32, exact; an open code (negative) gives NaN."""
    if is_binary32(fmt):
        return values_of(codes)
    if derive.codes(fmt).bits > _TABLE_BITS:
        return values_of(widened(codes.to(torch.int64), fmt))
    key = ("decode", fmt.facts_digest, codes.device)
    if key not in _tables:
        table = values_of(widened(torch.arange(1 << derive.codes(fmt).bits, device=codes.device), fmt))
        _tables[key] = torch.cat([table, torch.full_like(table[:1], torch.nan)])  # the last one is what -1 asks for
    index = codes.to(torch.int32)
    if codes.dtype not in (torch.uint8, torch.uint16):
        index = torch.where(index < 0, _tables[key].numel() - 1, index)
    return _tables[key].index_select(0, index.reshape(-1)).view(codes.shape)


def round_unbounded(values: torch.Tensor, to: Format, rounding: Rounding) -> torch.Tensor:
    """Return values rounded to the grid of a format that goes on above its maximum; NaN and Inf stay; beyond binary32 Inf."""
    x = number_of(values.contiguous())
    place = locate(x, to)
    code = place.code + goes_up(place, x.sign, rounding, None).to(torch.int64)
    rounded = decode_unbounded(code, x.sign, to)._replace(nan=x.nan, inf=x.inf)
    found = round_number(rounded, fp32(), get("rounding", "rne"))
    if isinstance(grid_of(to), int):  # a multiple of the unit stays; its code may have too many bits
        return torch.where((place.rest == 0) & ~x.nan, values, found)
    return found


# binary32 to the format that has its exponents and a shorter fraction (bf16), nearest even, by a carry on integer bits.


def is_cut(source: Format, to: Format) -> bool:
    """Tell whether a format is binary32 with a shorter fraction that fills 16 bits."""
    wide, narrow = source.facts, to.facts
    if not isinstance(wide, FloatFacts) or not isinstance(narrow, FloatFacts):
        return False
    same = (wide.exp_bits, wide.bias, wide.signed, wide.subnormals) == (narrow.exp_bits, narrow.bias, narrow.signed, narrow.subnormals)
    return same and derive.codes(source).bits == 32 and derive.codes(to).bits == 16


def cut(bits: torch.Tensor, source: Format, to: Format) -> torch.Tensor:
    """Return int32 tensors of the codes of `to`, sign-extended, of int32 binary32 codes; NaN canonical, beyond the maximum Inf."""
    wide, narrow = derive.codes(source), derive.codes(to)
    lost = wide.bits - narrow.bits
    out = bits >> lost
    out &= 1
    out += (1 << (lost - 1)) - 1
    out += bits
    out >>= lost
    assert wide.inf is not None
    nan = (bits & signed_mask(wide.magnitude_bits)) > wide.inf
    return torch.where(nan, narrow.nan[0], out)
