"""What a hold of a datapath of levels leaves of arrays of numbers: float format, register in fixed point, cut, policy; the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.engines.numpy import tables
from emu.engines.numpy.convert import Codes, code_dtype
from emu.engines.numpy.datapath_round import F64, exponent, power
from emu.engines.numpy.integer import split_and_convert
from emu.engines.numpy.levels_parts import LOWEST, Bool, Values, distill, leading, to_grid, whole
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE
from emu.spec.levels import rounding_of
from emu.spec.models import Format, Rounding
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.reach import reach
from emu.spec.registry import get

Words = NDArray[Any] | None
OVERFLOW, POLICY_OPEN, POLICY_REFUSES = 1, 2, 3
TABLE_BITS: Final = 16  # codes of at most so many bits are read from a table


class Decoded(NamedTuple):
    """Values of codes, and the exponent that each names."""

    value: F64
    exp: NDArray[np.int64]


_tables: Cache[tuple[str, bool], Decoded] = Cache("emu.engines.numpy.levels_hold._tables", 64)


def decode(codes: Codes, fmt: Format, flush: bool) -> Decoded:
    """Return what codes without unused bits mean. flush: a subnormal number is a zero of its sign."""
    bits = derive.codes(fmt).bits
    if bits > TABLE_BITS:
        return _fields(codes.astype(np.int64), fmt, flush)
    table = _tables.get((fmt.facts_digest, flush))
    if table is None:
        table = _tables.keep((fmt.facts_digest, flush), _fields(np.arange(1 << bits), fmt, flush))
    return Decoded(table.value[codes], table.exp[codes])


def _fields(codes: NDArray[np.int64], fmt: Format, flush: bool) -> Decoded:
    facts, known = fmt.facts, derive.codes(fmt)
    sign = (codes & known.sign_bit) != 0
    magnitude = codes & ~np.int64(known.sign_bit)
    if isinstance(facts, IntegerFacts):
        if derive.is_twos_complement(fmt):
            whole_number = np.where(codes >> (facts.bits - 1) != 0, codes - (1 << facts.bits), codes)
            return Decoded(np.ldexp(whole_number.astype(np.float64), facts.unit_exp), np.full(codes.shape, facts.unit_exp))
        value, exp = np.ldexp(magnitude.astype(np.float64), facts.unit_exp), np.full(codes.shape, facts.unit_exp)
    elif isinstance(facts, ExponentFacts):
        exp = magnitude - facts.bias
        value = power(exp)
    else:
        assert isinstance(facts, FloatFacts)
        field, fraction = magnitude >> facts.frac_bits, magnitude & ((1 << facts.frac_bits) - 1)
        small = (field == 0) & (facts.subnormals == "yes")
        exp = np.where(small, 1, field) - facts.bias
        value = (fraction + np.where(small, 0, 1 << facts.frac_bits)) * power(exp - facts.frac_bits)
    if known.inf is not None:
        value = np.where(magnitude == known.inf, np.inf, value)
    value = np.where(sign & (known.neg_zero | (value != 0)), -value, value)
    if flush and isinstance(facts, FloatFacts):
        value = np.where(small, np.copysign(0.0, value), value)
    if isinstance(facts, FloatFacts) and facts.nan == "ieee":
        nan = (magnitude >> facts.frac_bits == (1 << facts.exp_bits) - 1) & ~np.isinf(value)
    else:
        nan = np.isin(codes, np.array(known.nan, np.int64))
    return Decoded(np.where(nan, np.nan, value), exp)


class Holder:
    """The holds of one plan. named: do levels ask for exponents.   plus: are zeros of a float format +0.   nan: code of a NaN result."""

    def __init__(self, named: bool, plus: bool, nan: int) -> None:
        self.named, self.plus, self.nan = named, plus, nan
        self.over: Bool | None = None  # where the last hold had a finite value beyond its register

    def hold(self, value: Values, hold: Hold, words: Words, unit_exp: int | None) -> Values:
        """Return values as a register holds them. words: of a rounding that draws.   unit_exp: of a register in fixed point."""
        if hold == "exact" and len(value.parts) == 1:
            return value
        special = ~np.isfinite(value.top)
        plain = value
        if special.any():
            plain = replace(value, parts=[np.where(special, 0.0, part) for part in value.parts])
        if hold == "exact":
            found = replace(value, parts=distill(plain.parts))
        elif isinstance(hold, FloatHold):
            if hold.policy is not None:
                codes, fault = self.by_policy(value, hold, words)
                return self._named(value, decode(codes, get("format", hold.format), False), fault)
            found = self._named(value, Decoded(self.rounded(plain, hold, words), np.zeros(0, np.int64)), value.fault, hold)
        elif isinstance(hold, CutHold):
            found = _cut(plain, hold, words)
        else:
            assert unit_exp is not None
            found = self._fixed(plain, hold, words, unit_exp)
        return found.where(special, value.only(value.top)) if special.any() else found

    def _named(self, value: Values, found: Decoded, fault: Any, hold: FloatHold | None = None) -> Values:
        if not self.named:
            return Values([found.value], None, None, fault)
        exp = found.exp if hold is None else exponent(found.value, reach(get("format", hold.format)).min_exp)
        return Values([found.value], exp, found.value != 0, fault)

    def rounded(self, value: Values, hold: FloatHold, words: Words) -> F64:
        """Return finite values rounded once to a float format, as binary64; beyond it as the hold says."""
        fmt: Format = get("format", hold.format)
        assert isinstance(fmt.facts, FloatFacts)
        limits, rounding = reach(fmt), rounding_of(hold)
        exact = whole(value.parts)
        out = exact
        if rounding is not None:
            keep = fmt.facts.frac_bits if hold.keep is None else hold.keep
            out = to_grid([exact], exponent(exact, limits.min_exp) - keep, rounding, words)[0]
            largest = float(limits.largest)
            self.over = over = np.abs(out) > largest
            if over.any():
                beyond, facts = np.full(out.shape, largest if hold.overflow == "saturate" else np.inf), rounding.facts.beyond_max
                if hold.overflow == "ieee":
                    beyond = np.where(np.where(out < 0, facts.negative == "max", facts.positive == "max"), largest, np.inf)
                out = np.where(over, np.copysign(beyond, out), out)
        if hold.subnormals == "flush":
            out = np.where(np.abs(out) < 2.0**limits.min_exp, np.copysign(0.0, out), out)
        return out + 0.0 if self.plus or not derive.codes(fmt).neg_zero else out

    def _fixed(self, value: Values, hold: FixedHold, words: Words, unit_exp: int) -> Values:
        rounding: Rounding = rounding_of(hold) or get("rounding", "rz")
        parts = to_grid(distill(value.parts), unit_exp, rounding, words)
        end, unit = np.float64(2.0 ** (hold.bits - 1 + unit_exp)), 2.0**unit_exp
        low, high = whole([*parts, np.full_like(parts[-1], end)]) < 0, whole([*parts, np.full_like(parts[-1], -end)]) >= 0
        symmetric = hold.overflow == "saturate_symmetric"
        if symmetric:  # the lowest code never comes
            low = whole([*parts, np.full_like(parts[-1], end)]) <= 0
        fault, self.over = value.fault, low | high
        if low.any() or high.any():
            if hold.overflow == "wrap":
                parts = wrapped(parts, hold.bits, unit_exp)
            elif hold.overflow == "error":
                fault = np.where(low | high, OVERFLOW, 0).astype(np.int8) if fault is None else np.where(fault != 0, fault, low | high)
            elif hold.overflow == "sticky_inf":
                parts = [np.where(low | high, 0.0, part) for part in parts]
                parts[-1] = np.where(high, np.inf, np.where(low, -np.inf, parts[-1]))
            else:
                parts = [np.where(low | high, 0.0, part) for part in parts]
                inward = np.where(high, -unit, np.where(low & symmetric, unit, 0.0))
                parts = distill([*parts, np.where(high, end, np.where(low, -end, 0.0)), inward])
        parts = [part + 0.0 for part in parts]
        if not self.named:
            return Values(parts, None, None, fault)
        return Values(parts, np.zeros(parts[-1].shape, np.int64), parts[-1] != 0, fault)

    def by_policy(self, value: Values, hold: FloatHold, words: Words) -> tuple[Codes, NDArray[np.int8] | None]:
        """Return codes as a policy makes them, and faults where it does not."""
        assert hold.policy is not None
        fmt: Format = get("format", hold.format)
        special = ~np.isfinite(value.top)
        exact = value.top
        if len(value.parts) > 1:
            exact = np.where(special, value.top, whole([np.where(special, 0.0, part) for part in value.parts]))
        exact = np.where(np.isnan(exact), np.nan, exact + 0.0 if self.plus else exact)
        bits = np.ascontiguousarray(exact).reshape(-1).view(np.uint64)
        drawn = None if words is None else np.ascontiguousarray(np.broadcast_to(words, exact.shape)).reshape(-1).astype(np.uint64)
        entry = derive.policy_entry(get("policy", hold.policy), fmt)
        found = split_and_convert(bits, tables.fp64(), fmt, rounding_of(hold) or get("rounding", "rz"), entry, drawn).reshape(exact.shape)
        kind = np.where(found == OPEN, POLICY_OPEN, np.where(found == REFUSE, POLICY_REFUSES, 0)).astype(np.int8)
        if self.plus:
            found = np.where(found == derive.codes(fmt).sign_bit, 0, found)
        fault = value.fault
        if kind.any():
            fault = kind if fault is None else np.where(fault != 0, fault, kind)
        return np.where(kind != 0, 0, found).astype(code_dtype(fmt)), fault

    def encode(self, value: Values, hold: FloatHold, words: Words) -> tuple[Codes, NDArray[np.int8] | None]:
        """Return the codes of the result, and faults."""
        if hold.policy is not None:
            return self.by_policy(value, hold, words)
        fmt: Format = get("format", hold.format)
        assert isinstance(fmt.facts, FloatFacts)
        held, known, frac = self.hold(value, hold, words, None).top, derive.codes(fmt), fmt.facts.frac_bits
        special = ~np.isfinite(held)
        size = np.where(special, 0.0, np.abs(held))
        exp = exponent(size, 1 - fmt.facts.bias)
        significand = (size * power(frac - exp)).astype(np.int64)
        code = np.where(significand < 1 << frac, significand, ((exp + fmt.facts.bias - 1) << frac) + significand)
        if special.any():
            code = np.where(special, known.inf or 0, code)
        code = np.where(np.signbit(held), code | known.sign_bit, code)
        return np.where(np.isnan(held), self.nan, code).astype(code_dtype(fmt)), value.fault


def _cut(value: Values, hold: CutHold, words: Words) -> Values:
    parts, rounding = distill(value.parts), rounding_of(hold)
    assert rounding is not None
    if hold.fraction_bits is not None:
        assert value.exp is not None
        unit = value.exp - hold.fraction_bits
    else:
        assert hold.significant_bits is not None
        unit = np.maximum(leading(parts), LOWEST) + 1 - hold.significant_bits
        unit = np.where(parts[-1] == 0, 0, unit)
    return replace(value, parts=to_grid(parts, unit, rounding, words))


def wrapped(parts: list[F64], bits: int, unit: Any) -> list[F64]:
    """Return multiples of 2^unit with `bits` bits of two's complement kept: what lies above them goes."""
    half = np.broadcast_to(power(np.asarray(bits - 1 + np.asarray(unit, np.int64))), parts[-1].shape)
    above = to_grid(distill([*parts, half]), bits + np.asarray(unit, np.int64), get("rounding", "rd"))
    return distill([*parts, *(-part for part in above)])


def zero_sign(total: F64, terms: list[F64], hold: Hold) -> F64:
    """Give a sum that is zero its sign: that of equal zeros; else plus, or minus where the rounding goes down. Integers have none."""
    if not isinstance(hold, FloatHold):
        return total + 0.0
    rounding = rounding_of(hold)
    down = rounding is not None and rounding.rounds_down
    same: Bool = np.ones(total.shape, bool)
    for term in terms:
        same = same & (term == 0) & (np.signbit(term) != down)
    return np.where(total == 0, np.where(same != down, -0.0, 0.0), total)
