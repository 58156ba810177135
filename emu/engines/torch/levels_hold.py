"""What a hold of a datapath of levels leaves of tensors of values: a float format, a register in fixed point, a cut, a policy."""

from __future__ import annotations

import torch

from emu.engines.torch.datapath_sum import magnitude_code
from emu.engines.torch.levels_value import Bounds, Value, read
from emu.engines.torch.numbers import MOST_BITS, Number
from emu.engines.torch.round import attach_sign, encode
from emu.engines.torch.wide import beyond, cut, resized, wrapped
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE
from emu.spec.levels import rounding_of
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.registry import get

OVERFLOW, POLICY_OPEN, POLICY_REFUSES = 1, 2, 3


def held(
    x: Value, hold: Hold, unit_exp: int | None, random: torch.Tensor | None, of_sum: bool, zero: str
) -> tuple[Value, torch.Tensor | None]:
    """Return values as a register holds them, without their flags, and where a number was beyond it; None: nowhere.

    unit_exp: of a register in fixed point.   random: int64 words of each value, for a rounding that draws.
    of_sum: a sum that is cut to zero is +0, a product keeps its sign.   zero: plus or ieee, the sign of a zero in a float format.
    """
    if hold == "exact":
        return x, None
    if isinstance(hold, FloatHold):
        codes, fault, over = code_of(x, hold, random, zero)
        found = read(codes, get("format", hold.format), "keep")._replace(fault=fault)
        return (found if hold.policy is not None else found.with_special(x.nan, x.inf, x.negative)), over
    if isinstance(hold, CutHold):
        return _cut_number(x, hold, random, of_sum), None
    assert unit_exp is not None
    return _fixed(x, hold, unit_exp, random)


def _cut_number(x: Value, hold: CutHold, random: torch.Tensor | None, of_sum: bool) -> Value:
    """Fewer bits; the exponent that it names, and whether it is live, stay."""
    low, high, least, most, lead = x.bounds
    if hold.fraction_bits is not None:
        unit, high = x.exp - hold.fraction_bits, max(high, most - hold.fraction_bits)
        bits = max(lead + hold.fraction_bits, 0)
    else:
        assert hold.significant_bits is not None
        unit = x.lsb + (x.size.top + 1 - hold.significant_bits).clamp(min=0)
        bits, high = hold.significant_bits, max(high, high + x.size.bits - hold.significant_bits)
    unit = torch.maximum(unit, x.lsb)
    size = cut(x.size, unit - x.lsb, min(bits, x.size.bits) + 1, x.negative, rounding_of(hold), random)
    negative = x.negative & ~(size.zero & ~x.inf) if of_sum else x.negative
    return x._replace(size=size, lsb=unit, negative=negative, bounds=Bounds(low, high, least, most, lead + 1))


def _fixed(x: Value, hold: FixedHold, unit_exp: int, random: torch.Tensor | None) -> tuple[Value, torch.Tensor | None]:
    room = max(x.size.bits + x.bounds.high - unit_exp, 0) + 1
    size, negative = cut(x.size, unit_exp - x.lsb, room, x.negative, rounding_of(hold), random), x.negative
    half, inf, fault, last = 1 << (hold.bits - 1), x.inf, x.fault, hold.bits - 1
    over = None
    if room > last:
        over = size.top >= last if hold.overflow == "saturate_symmetric" else beyond(size, negative, hold.bits)
        if hold.overflow == "wrap":
            size, negative = wrapped(size, negative, hold.bits)
        elif hold.overflow == "saturate_symmetric":
            size = size.where(~over, half - 1)
        elif hold.overflow == "saturate":
            size = size.where(~over | negative, half - 1).where(~over | ~negative, half)
        else:
            size = size.where(~over)
            if hold.overflow == "error":
                fault = torch.where(over & (fault == 0), OVERFLOW, fault)
            else:
                inf = inf | over
        size = resized(size, min(size.bits, hold.bits))
    negative, zero = torch.where(inf, x.negative, negative & ~size.zero), torch.zeros_like(x.exp)
    bounds = Bounds(unit_exp, unit_exp, 0, 0, size.bits + unit_exp)
    return Value(size, zero + unit_exp, zero, ~size.zero, negative, x.nan, inf, fault, bounds), over


def _number_of(x: Value) -> Number:
    """Return values as numbers of this engine: 62 bits from the leading one on, sticky."""
    if len(x.size.limbs) == 1:
        return Number(x.negative, x.nan, x.inf, x.size.limbs[0], x.lsb)
    lift = (x.size.top + 1 - MOST_BITS).clamp(min=0)
    size = cut(x.size, lift, MOST_BITS, x.negative, get("rounding", "odd"))
    return Number(x.negative, x.nan, x.inf, size.limbs[0], x.lsb + lift)


def code_of(x: Value, hold: FloatHold, random: torch.Tensor | None, zero: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return (codes, faults, where a number is beyond the format) of values in a float format.

    Without a policy NaN and infinities are the caller's; with one nothing is said of numbers beyond the format (None).
    """
    fmt: Format = get("format", hold.format)
    number, rounding = _number_of(x), rounding_of(hold) or get("rounding", "rz")  # without one nothing is lost, as the loader has proved
    if hold.policy is not None:
        return *_by_policy(number, hold, fmt, rounding, random, zero, x.fault), None
    assert isinstance(fmt.facts, FloatFacts)
    code = magnitude_code(number, fmt, rounding, fmt.facts.frac_bits if hold.keep is None else hold.keep, random)
    over = code > derive.codes(fmt).max_code
    code = torch.where(over, _beyond(x.negative, hold, rounding, fmt), code)
    if hold.subnormals == "flush":
        code = torch.where(code >> fmt.facts.frac_bits == 0, 0, code)
    coded = attach_sign(code, x.negative, fmt)
    return torch.where(code == 0, 0, coded) if zero == "plus" else coded, x.fault, over


def _beyond(negative: torch.Tensor, hold: FloatHold, rounding: Rounding, fmt: Format) -> torch.Tensor:
    """Return the magnitude codes of what is beyond the largest number."""
    known, words = derive.codes(fmt), rounding.facts.beyond_max
    found = []
    for word in (words.negative, words.positive):
        stays = hold.overflow == "saturate" or (hold.overflow == "ieee" and word == "max")
        found.append(known.max_code if stays or known.inf is None else known.inf)
    return torch.where(negative, *(torch.full_like(negative, code, dtype=torch.int64) for code in found))


def _by_policy(
    x: Number, hold: FloatHold, fmt: Format, rounding: Rounding, random: torch.Tensor | None, zero: str, fault: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    assert hold.policy is not None
    plain = x.nan | x.zero if zero == "plus" else x.nan
    entry = derive.policy_entry(get("policy", hold.policy), fmt)
    code = encode(x._replace(sign=x.sign & ~plain), fmt, rounding, entry, random)
    why = torch.where(code == OPEN, POLICY_OPEN, torch.where(code == REFUSE, POLICY_REFUSES, 0))
    if zero == "plus":
        code = torch.where(code == derive.codes(fmt).sign_bit, 0, code)
    return code.clamp(min=0), torch.where(fault != 0, fault, why)
