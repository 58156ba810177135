"""round, overflow, encode: exact numbers -> codes of a format, by integers. Every rounding mode, every grid but codebooks."""

from __future__ import annotations

from typing import NamedTuple

import torch

from emu.base.errors import EngineError
from emu.engines.torch.numbers import MOST_BITS, Number, as_int64, signed_mask, top_bit
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, ExponentFacts, IntegerFacts
from emu.spec.models.rounding import LostPart

_HUGE = 1 << 40  # a magnitude code beyond every maximum; its low 16 bits are zero
_WRAPPED_BITS = 16  # of a huge integer code that stay true, for overflow: wrap


class TargetGrid(NamedTuple):
    """Values of unbounded magnitude codes: significand = fraction (+ hidden bit), unit exponent = exp - frac_bits.

    lowest_exp: of the first binade.   with_zero: the first binade holds zero and has no hidden bit.
    """

    frac_bits: int
    bias: int
    lowest_exp: int
    with_zero: bool


class Position(NamedTuple):
    """The unbounded magnitude code at or below a value and the discarded part, rest / 2^shift ulp; shift is at least 1."""

    code: torch.Tensor
    rest: torch.Tensor
    shift: torch.Tensor


def grid_of(fmt: Format) -> TargetGrid | int:
    """Return the grid of a float or exponent format, or the unit exponent of an integer one. Raises: EngineError (codebook)."""
    facts = fmt.facts
    if isinstance(facts, IntegerFacts):
        return facts.unit_exp
    if isinstance(facts, ExponentFacts):
        return TargetGrid(0, facts.bias, -facts.bias, False)
    if isinstance(facts, CodebookFacts):
        raise EngineError(f"{fmt.id} is a codebook: its grid does not go on above the maximum; engine exact does it")
    with_zero = facts.subnormals == "yes"
    return TargetGrid(facts.frac_bits, facts.bias, int(with_zero) - facts.bias, with_zero)


def exponent_of(x: Number) -> torch.Tensor:
    """Return floor(log2) of magnitudes; far below every exponent for zero."""
    return torch.where(x.significand > 0, x.lsb_exp + top_bit(x.significand), -(1 << 20))


def locate(x: Number, fmt: Format) -> Position:
    """Return where magnitudes lie on the grid of a format that has no maximum."""
    grid = grid_of(fmt)
    if isinstance(grid, int):
        return _locate_integer(x, grid)
    unit = exponent_of(x).clamp(min=grid.lowest_exp) - grid.frac_bits
    whole, rest, shift = cut(x.significand, unit - x.lsb_exp)
    hidden = 1 << grid.frac_bits
    normal = ((unit + grid.frac_bits + grid.bias) << grid.frac_bits) + whole - hidden
    below = whole < hidden
    if grid.with_zero:
        return Position(torch.where(below, whole, normal), rest, shift)
    return Position(torch.where(below, 0, normal), torch.where(below, 0, rest), shift)


def cut(significand: torch.Tensor, shift: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (kept bits, lost bits, shift), the shift at least 1; lost / 2^shift is the discarded part."""
    right, left = shift.clamp(0, MOST_BITS), (-shift).clamp(0, MOST_BITS - 1)
    whole = (significand >> right) << left
    rest = torch.where(shift > 0, significand - ((significand >> right) << right), 0)
    return whole, rest, shift.clamp(min=1)


def _locate_integer(x: Number, unit_exp: int) -> Position:
    """Codes that 62 bits do not hold are not needed one by one: they keep the bits that a wrap reads."""
    shift = unit_exp - x.lsb_exp
    huge = (x.significand > 0) & (shift < 0) & (top_bit(x.significand) - shift >= MOST_BITS)
    low = ((x.significand & signed_mask(_WRAPPED_BITS)) << (-shift).clamp(0, _WRAPPED_BITS)) & signed_mask(_WRAPPED_BITS)
    whole, rest, shift = cut(torch.where(huge, 0, x.significand), shift)
    return Position(torch.where(huge, _HUGE | low, whole), rest, shift)


def goes_up(place: Position, sign: torch.Tensor, rounding: Rounding, random: torch.Tensor | None) -> torch.Tensor:
    """Tell where the code above is taken. sign: of the value as the destination sees it.   random: int64, for a mode that draws."""
    facts = rounding.facts
    some = place.rest > 0
    if facts.add is not None:
        assert random is not None
        return some & _random_up(place, facts.add, rounding.random_bits, random)
    far = place.shift > MOST_BITS  # the discarded part is far below one half
    half = torch.ones_like(place.rest) << (place.shift - 1).clamp(max=MOST_BITS)
    less, equal = far | (place.rest < half), ~far & (place.rest == half)
    odd = (place.code & 1) == 1
    if facts.magnitude is not None:
        return some & _choice(facts.magnitude, less, equal, odd)
    assert facts.positive is not None and facts.negative is not None
    return some & torch.where(sign, _choice(facts.negative, less, equal, odd), _choice(facts.positive, less, equal, odd))


def _choice(rule: LostPart, less: torch.Tensor, equal: torch.Tensor, odd: torch.Tensor) -> torch.Tensor:
    words = {"keep": torch.zeros_like(odd), "next": torch.ones_like(odd), "to_even_code": odd, "to_odd_code": ~odd}
    return torch.where(less, words[rule.less_than_half], torch.where(equal, words[rule.half], words[rule.more_than_half]))


def _random_up(place: Position, add: str, bits: int, random: torch.Tensor) -> torch.Tensor:
    """add: the top `bits` of the discarded part plus random carry; cmp: random below it; half, nearest: it is rounded first."""
    down = place.shift - bits
    right = down.clamp(0, MOST_BITS)
    top = torch.where(down > 0, place.rest >> right, place.rest << (-down).clamp(0, MOST_BITS))
    below = torch.where(down > 0, place.rest - ((place.rest >> right) << right), 0)
    if add == "cmp":
        return (random < top) | ((random == top) & (below > 0))
    if add in ("half", "nearest"):
        half = torch.ones_like(top) << (down - 1).clamp(0, MOST_BITS)
        tie = below == half if add == "half" else (below == half) & ((top & 1) == 1)
        top = top + ((down > 0) & (down <= MOST_BITS) & ((below > half) | tie)).to(torch.int64)
    return top + random >= 1 << bits


def encode(
    x: Number, fmt: Format, rounding: Rounding, entry: EntryCodes, random: torch.Tensor | None = None, code: torch.Tensor | None = None
) -> torch.Tensor:
    """Return codes, int64; OPEN and REFUSE stay negative, 64-bit codes are the int64 of the same bits.

    entry: the policy of this destination.   random: int64, for a mode that draws.   code: unbounded magnitude codes found otherwise.
    """
    derived, two = derive.codes(fmt), derive.is_twos_complement(fmt)
    sign = x.sign if derived.sign_bit or two else torch.zeros_like(x.sign)
    if code is None:
        place = locate(x, fmt)
        code = place.code + goes_up(place, x.sign if entry.negative_rounded else sign, rounding, random).to(torch.int64)
    largest = derived.max_code + sign.to(torch.int64) if two else torch.full_like(code, derived.max_code)
    out = attach_sign(code, sign, fmt)
    over = x.inf if entry.overflow == "wrap" else x.inf | (code > largest)
    out = torch.where(over, _beyond(x.inf, sign, largest, fmt, rounding, entry), out)
    if entry.zero is not None:
        out = torch.where(x.zero, by_sign(entry.zero, x.sign), out)
    if entry.negative is not None and not derived.sign_bit and not two:
        out = torch.where(x.sign & ~x.zero, _negative(code, x.inf, rounding, entry), out)
    return torch.where(x.nan, by_sign(entry.nan, x.sign), out)


def _negative(code: torch.Tensor, inf: torch.Tensor, rounding: Rounding, entry: EntryCodes) -> torch.Tensor:
    """Return the codes of negative numbers in a format without sign. code: what their magnitudes round to."""
    assert entry.negative is not None
    outcome = torch.full_like(code, entry.negative)
    if not entry.negative_rounded:
        return outcome
    rounded = torch.zeros_like(code) if derive.stops_at(rounding, 1, 0) else torch.where(code == 0, 0, outcome)
    return torch.where(inf, outcome if entry.inf is None else entry.inf[1], rounded)


def by_sign(pair: tuple[int, int], sign: torch.Tensor) -> torch.Tensor:
    """Return the code of each sign."""
    positive, negative = (torch.full_like(sign, as_int64(code), dtype=torch.int64) for code in pair)
    return torch.where(sign, negative, positive)


def attach_sign(code: torch.Tensor, sign: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return codes of magnitude codes with signs; -0 becomes +0 where the format has none."""
    derived = derive.codes(fmt)
    mask = signed_mask(derived.bits)
    if derive.is_twos_complement(fmt):
        return torch.where(sign, -code, code) & mask
    magnitude = code & mask
    if not derived.sign_bit:
        return magnitude
    negative = sign & (magnitude != 0) if derived.has_zero and not derived.neg_zero else sign
    return torch.where(negative, magnitude | as_int64(derived.sign_bit), magnitude)


def _beyond(
    inf: torch.Tensor, sign: torch.Tensor, largest: torch.Tensor, fmt: Format, rounding: Rounding, entry: EntryCodes
) -> torch.Tensor:
    """Return the codes of what lies beyond the maximum, infinite or not."""
    derived = derive.codes(fmt)
    at_max = attach_sign(largest, sign, fmt)
    if entry.overflow in ("saturate", "wrap"):
        out = at_max
    elif entry.overflow in ("inf", "ieee_inf"):
        assert derived.inf is not None
        out = attach_sign(torch.full_like(largest, derived.inf), sign, fmt)
    else:
        assert entry.overflow_nan is not None
        out = by_sign(entry.overflow_nan, sign)
    if entry.overflow.startswith("ieee"):
        ends = [torch.full_like(sign, derive.stops_at(rounding, one, derived.max_code)) for one in (0, 1)]
        stays = torch.where(sign, ends[1], ends[0])
        out = torch.where(stays & ~inf, at_max, out)
    return out if entry.inf is None else torch.where(inf, by_sign(entry.inf, sign), out)


def decode_unbounded(code: torch.Tensor, sign: torch.Tensor, fmt: Format) -> Number:
    """Return the numbers of unbounded magnitude codes of a float, integer or exponent format."""
    grid = grid_of(fmt)
    none = torch.zeros_like(sign)
    if isinstance(grid, int):
        return Number(sign, none, none, code, torch.full_like(code, grid))
    field, fraction = code >> grid.frac_bits, code & signed_mask(grid.frac_bits)
    normal = field > 0 if grid.with_zero else torch.ones_like(sign)
    significand = torch.where(normal, fraction + (1 << grid.frac_bits), fraction)
    exp = torch.where(normal, field - grid.bias, grid.lowest_exp)
    return Number(sign, none, none, significand, exp - grid.frac_bits)
