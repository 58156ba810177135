"""Conversion by integer arithmetic on the fields of the source: every rounding mode, every float, integer or exponent target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.engines.numpy.fields import I64, U64, Bool, Fields, split
from emu.engines.numpy.float64 import add_to_odd
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import is_within
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, ExponentFacts, IntegerFacts
from emu.spec.models.rounding import LostPart
from emu.spec.registry import get

_HUGE = 1 << 40  # a magnitude code that exceeds every maximum, its low 16 bits zero


class Target(NamedTuple):
    """What locating needs to know of the destination: value of code c follows from these four numbers."""

    frac_bits: int
    bias: int
    lowest_exp: int
    hidden_zero: bool


def target_of(fmt: Format) -> Target | int:
    """Return the float layout of a destination, or the unit exponent of an integer format."""
    facts = fmt.facts
    if isinstance(facts, IntegerFacts):
        return facts.unit_exp
    if isinstance(facts, ExponentFacts):
        return Target(0, facts.bias, -facts.bias, False)
    if isinstance(facts, CodebookFacts):
        raise EngineError(f"{fmt.id} is a codebook: it has no field layout")
    with_zero = facts.subnormals == "yes"
    return Target(facts.frac_bits, facts.bias, 1 - facts.bias if with_zero else -facts.bias, with_zero)


class Located(NamedTuple):
    """Unbounded magnitude code below the value, and the discarded part as rest / 2^shift (shift at least 1)."""

    code: I64
    rest: U64
    shift: I64


def locate(fields: Fields, fmt: Format) -> Located:
    """Return where each magnitude lies on the destination's grid without a maximum."""
    target = target_of(fmt)
    if isinstance(target, int):
        unit = np.full(fields.exp.shape, target, np.int64)
    else:
        unit = np.maximum(fields.exp, target.lowest_exp) - target.frac_bits
    shift = unit - fields.lsb_exp
    right = np.clip(shift, 0, 63).astype(np.uint64)
    left = np.clip(-shift, 0, 62 if isinstance(target, int) else 53).astype(np.uint64)
    whole = np.where(shift > 63, np.uint64(0), (fields.significand >> right) << left)
    if isinstance(target, int):  # of a code of more than 62 bits the low 16 stay true, for overflow: wrap
        low = (fields.significand & np.uint64(0xFFFF)) << np.clip(-shift, 0, 16).astype(np.uint64) & np.uint64(0xFFFF)
        whole = np.where((shift < 0) & (fields.exp - unit > 61) & (fields.significand > 0), np.uint64(_HUGE) | low, whole)
    rest = np.where(shift > 63, fields.significand, fields.significand & ((np.uint64(1) << right) - np.uint64(1)))
    rest = np.where(shift > 0, rest, np.uint64(0))
    code = whole.astype(np.int64)
    if not isinstance(target, int):
        code, rest = _float_code(code, rest, unit, fields, target)
    return Located(code, rest, np.maximum(shift, 1))


def _float_code(whole: I64, rest: U64, unit: I64, fields: Fields, target: Target) -> tuple[I64, U64]:
    """Turn significands into codes; below the smallest value of a format without zero everything is code 0."""
    hidden = 1 << target.frac_bits
    normal = ((unit + target.frac_bits + target.bias) << target.frac_bits) + whole - hidden
    if target.hidden_zero:
        return np.where(whole < hidden, whole, normal), rest
    below = (whole < hidden) | (fields.significand == 0)
    return np.where(below, 0, normal), np.where(below, np.uint64(0), rest)


def goes_up(place: Located, sign: Bool, fmt: Format, rounding: Rounding, random: U64 | None) -> Bool:
    """Tell where the code above is taken."""
    facts = rounding.facts
    some = place.rest > 0
    if facts.add is not None:
        assert random is not None
        return some & _random_up(place, facts.add, rounding.random_bits, random)
    wide = place.shift > 63
    half = np.uint64(1) << np.clip(place.shift - 1, 0, 63).astype(np.uint64)
    less, equal = wide | (place.rest < half), ~wide & (place.rest == half)
    odd = (place.code & 1) == 1
    if facts.magnitude is not None:
        return some & _choose(facts.magnitude, less, equal, odd)
    assert facts.positive is not None and facts.negative is not None
    return some & np.where(sign, _choose(facts.negative, less, equal, odd), _choose(facts.positive, less, equal, odd))


def _choose(rule: LostPart, less: Bool, equal: Bool, odd: Bool) -> Bool:
    table: dict[str, Bool] = {"keep": np.zeros_like(odd), "next": np.ones_like(odd), "to_even_code": odd, "to_odd_code": ~odd}
    found: NDArray[np.bool_] = np.where(less, table[rule.less_than_half], np.where(equal, table[rule.half], table[rule.more_than_half]))
    return found


def _random_up(place: Located, add: str, bits: int, random: U64) -> Bool:
    """Compare the top bits of the discarded part with the random integer; what lies below them is a sticky bit."""
    down, up = place.shift - bits, np.clip(bits - place.shift, 0, 63).astype(np.uint64)
    right = np.clip(down, 0, 63).astype(np.uint64)
    top = np.where(down > 63, np.uint64(0), np.where(down > 0, place.rest >> right, place.rest << up))
    below = np.where(down > 63, place.rest, np.where(down > 0, place.rest & ((np.uint64(1) << right) - np.uint64(1)), np.uint64(0)))
    if add == "cmp":
        hit: Bool = (random < top) | ((random == top) & (below > 0))
        return hit
    if add in ("half", "nearest"):
        at_half = np.uint64(1) << np.clip(down - 1, 0, 63).astype(np.uint64)
        tie_goes_up = np.True_ if add == "half" else (top & np.uint64(1)) == 1
        top = top + ((down > 0) & (down <= 63) & ((below > at_half) | ((below == at_half) & tie_goes_up))).astype(np.uint64)
    return top + random >= np.uint64(1 << bits)


def convert_fields(
    fields: Fields, fmt: Format, rounding: Rounding, entry: EntryCodes, random: U64 | None, located: Located | None = None
) -> NDArray[np.int64]:
    """Return the codes of split sources; OPEN and REFUSE stay negative.

    random: one integer per element, for a mode that draws.   located: a place found otherwise (its rest is not looked at again).
    """
    derived = derive.codes(fmt)
    two = derive.is_twos_complement(fmt)
    sign = fields.sign
    kept_sign = sign if derived.sign_bit or two else np.zeros_like(sign)
    if located is None:
        place = locate(fields, fmt)
        code = place.code + goes_up(place, sign if entry.negative_rounded else kept_sign, fmt, rounding, random)
    else:
        code = located.code
    largest = derived.max_code + kept_sign.astype(np.int64) if two else np.full(code.shape, derived.max_code, np.int64)
    out = _attach_sign(code, kept_sign, fmt)
    over = np.where(fields.inf, True, False if entry.overflow == "wrap" else code > largest)
    if over.any():
        out = np.where(over, _overflowed(fields.inf, kept_sign, largest, fmt, rounding, entry), out)
    zero = (fields.significand == 0) & ~fields.inf & ~fields.nan
    if entry.zero is not None:
        out = np.where(zero, _by_sign(entry.zero, sign), out)
    if entry.negative is not None and not derived.sign_bit and not two:
        out = np.where(sign & ~zero, _negative(code, fields, rounding, entry), out)
    return np.where(fields.nan, _by_sign(entry.nan, sign), out)


def _negative(code: I64, fields: Fields, rounding: Rounding, entry: EntryCodes) -> I64 | int:
    """Codes of negative numbers in a format without sign. code: what their magnitudes round to."""
    assert entry.negative is not None
    if not entry.negative_rounded:
        return entry.negative
    stays = derive.stops_at(rounding, 1, 0)
    rounded = np.where((code == 0) | stays, np.int64(0), np.int64(entry.negative))
    return np.where(fields.inf, np.int64(entry.negative if entry.inf is None else entry.inf[1]), rounded)


def _by_sign(pair: tuple[int, int], sign: Bool) -> I64:
    return np.where(sign, _int64(pair[1]), _int64(pair[0]))


def _int64(code: int) -> np.int64:
    """Return a code as int64; the upper half of 64-bit codes as negative numbers of the same bits."""
    return np.int64(code - (1 << 64) if code >> 63 > 0 else code)


def _attach_sign(code: I64, sign: Bool, fmt: Format) -> I64:
    derived = derive.codes(fmt)
    if derive.is_twos_complement(fmt):
        return np.where(sign, -code, code) & ((1 << derived.bits) - 1)
    magnitude = code & _int64((1 << derived.bits) - 1)
    negative = sign & ((magnitude != 0) | derived.neg_zero | (not derived.has_zero))
    return np.where(negative, magnitude | _int64(derived.sign_bit), magnitude)


def _overflowed(inf: Bool, sign: Bool, largest: I64, fmt: Format, rounding: Rounding, entry: EntryCodes) -> I64:
    """Codes of what lies beyond the maximum."""
    at_max = _attach_sign(largest, sign, fmt)
    if entry.overflow in ("saturate", "wrap"):
        out = at_max
    else:
        if entry.overflow in ("inf", "ieee_inf"):
            away = _attach_sign(np.full(largest.shape, derive.codes(fmt).inf, np.int64), sign, fmt)
        else:
            assert entry.overflow_nan is not None
            away = _by_sign(entry.overflow_nan, sign)
        ends = [derive.stops_at(rounding, one, derive.codes(fmt).max_code) for one in (0, 1)]
        stays = np.where(sign, ends[1], ends[0]) & ~inf & entry.overflow.startswith("ieee")
        out = np.where(stays, at_max, away)
    return out if entry.inf is None else np.where(inf, _by_sign(entry.inf, sign), out)


def split_and_convert(
    codes: NDArray[np.unsignedinteger], source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes, random: U64 | None
) -> I64:
    """Return the codes of source codes by integer arithmetic; OPEN and REFUSE are negative."""
    fields = split(codes, source)
    if rounding.facts.add == "te_fma":
        assert random is not None
        return convert_fields(fields, fmt, rounding, entry, None, locate_te_fma(codes, source, fields, fmt, rounding, random))
    return convert_fields(fields, fmt, rounding, entry, random)


# The software stochastic rounder: one binary32 fma adds random * ulp / 2^N to the magnitude, the sum is cut to the grid.


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
