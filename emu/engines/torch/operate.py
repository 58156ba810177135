"""operate on tensors of codes: exact numbers of integers, one operation, one projection. No floating point.

What 62 bits do not hold keeps a sticky last bit below every bit that a result reads. Zero and NaN have no sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import torch

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.torch.arithmetic import add, multiply
from emu.engines.torch.can import can_operate
from emu.engines.torch.convert import CHUNK, check_markers
from emu.engines.torch.numbers import MOST_BITS, Number, as_int64, shifted, split, top_bit
from emu.engines.torch.round import TargetGrid, encode, exponent_of, grid_of
from emu.engines.torch.tensors import checked, code_dtype, signed_view
from emu.spec import derive
from emu.spec.models import Format, Policy, Rounding
from emu.spec.operations import OPERATIONS
from emu.spec.registry import get

_NEAR = 7  # binades: two terms no further apart add up exactly
_DIVISOR_TOP, _DIGITS, _STEPS = 52, 7, 7  # of a reciprocal: the divisor's leading bit; bits of a step; steps after the first 9 bits
_BEYOND = 1 << 20  # an exponent above that of every number
_tables: Cache[tuple[object, ...], torch.Tensor] = Cache("emu.engines.torch.operate._tables", 256)


def operate(
    name: str, codes: Sequence[torch.Tensor], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy
) -> torch.Tensor:
    """Return the codes, or truth values, of an operation on tensors of one shape.

    codes: one tensor per operand, of `formats`, on one device.   to, rounding, policy: the projection of a number, unread otherwise.
    Returns: unsigned codes of `to` (of the operand's format for a neighbour), or bool; shape and device of the operands.
    Exactness: equals emu.engines.exact.operate.operate_codes bit for bit.
    Raises: OpenError, OperandError (what the policy leaves open or refuses), SpecError (no entry), EngineError (can_operate says no).
    Source: IEEE P3109 interim report 4.0.   Tests: tests/engines/torch/test_torch_operate.py.
    """
    if not can_operate(name, formats, to, rounding):
        raise EngineError(f"engine torch cannot operate {name} on this: engine exact does it")
    gives = OPERATIONS[name].gives
    flat = [part.contiguous().view(-1) for part in codes]
    out = torch.empty(flat[0].shape, dtype=torch.bool if gives == "truth" else code_dtype(to), device=codes[0].device)
    entry = derive.policy_entry(policy, to) if gives == "number" else None
    for start in range(0, out.numel(), CHUNK):
        rows = [checked(part[start : start + CHUNK], fmt) for part, fmt in zip(flat, formats, strict=True)]
        if gives == "code":
            signed_view(out)[start : start + CHUNK] = _neighbours(formats[0], name == "next_greater_than", out.device)[rows[0]]
            continue
        numbers = [_plain(split(row, fmt)) for row, fmt in zip(rows, formats, strict=True)]
        if entry is None:
            out[start : start + CHUNK] = _truth(name, numbers, formats[0])
            continue
        found = encode(_plain(_bounded(_number(name, numbers), to)), to, rounding, entry)
        if derive.codes(to).neg_zero:
            found = torch.where(found == as_int64(derive.codes(to).sign_bit), 0, found)
        check_markers(found, f"operate {name} under {policy.id}", entry, start)
        signed_view(out)[start : start + CHUNK] = found
    return out.view(codes[0].shape)


def _plain(x: Number) -> Number:
    """Zero and NaN without sign."""
    return x._replace(sign=x.sign & ~x.nan & ~x.zero)


def _bounded(x: Number, to: Format) -> Number:
    """Numbers beyond the binade after the maximum of a format at its start, where int64 still holds an unbounded code."""
    grid = grid_of(to)
    assert isinstance(grid, TargetGrid)
    start = (derive.codes(to).max_code >> grid.frac_bits) - grid.bias + 1
    far = exponent_of(x) > start
    return x._replace(significand=torch.where(far, 1, x.significand), lsb_exp=torch.where(far, start, x.lsb_exp))


def _pick(chosen: torch.Tensor, x: Number, y: Number) -> Number:
    """x where chosen, y elsewhere."""
    return Number(*(torch.where(chosen, one, other) for one, other in zip(x, y, strict=True)))


def _number(name: str, v: Sequence[Number]) -> Number:
    """The result of an operation before its projection."""
    if OPERATIONS[name].scaled:
        v = [_plain(multiply(v[0], v[1])), _plain(multiply(v[2], v[3]))]
    return _NUMBERS[name.removeprefix("scaled_")](*v)


def _sum(x: Number, y: Number) -> Number:
    return add(x, y, get("rounding", "rne"))


def _sum_of_three(x: Number, y: Number, z: Number) -> Number:
    """x + y + z with a sticky last bit, whatever cancels. Significands of at most 53 bits.

    The two largest first where they lie close together: their sum is exact. Else nothing cancels the largest, and the others go first.
    """
    special = _sum(_sum(x, y), z)
    x, y, z = (item._replace(significand=torch.where(item.inf | item.nan, 0, item.significand)) for item in (x, y, z))
    x, y = _larger_first(x, y)
    y, z = _larger_first(y, z)
    x, y = _larger_first(x, y)
    near = exponent_of(x) - exponent_of(y) <= _NEAR
    pair = _sum(_pick(near, x, y), _pick(near, y, z))
    pair = pair._replace(significand=shifted(pair.significand, torch.full_like(pair.lsb_exp, -1)), lsb_exp=pair.lsb_exp + 1)
    total = _sum(_pick(near, z, x), pair)
    return total._replace(sign=torch.where(special.inf, special.sign, total.sign), nan=special.nan, inf=special.inf)


def _larger_first(x: Number, y: Number) -> tuple[Number, Number]:
    """The number of the larger exponent, the other."""
    swap = exponent_of(x) < exponent_of(y)
    return _pick(swap, y, x), _pick(swap, x, y)


def _recip(x: Number) -> Number:
    """1 / x with a sticky last bit, by long division; NaN of zero, 0 of an infinity."""
    up = _DIVISOR_TOP - top_bit(x.significand.clamp(min=1))
    divisor = x.significand.clamp(min=1) << up
    one = torch.full_like(divisor, 1 << (MOST_BITS - 1))
    quotient = torch.div(one, divisor, rounding_mode="floor")
    rest = one - quotient * divisor
    for _ in range(_STEPS):
        digit = torch.div(rest << _DIGITS, divisor, rounding_mode="floor")
        quotient, rest = (quotient << _DIGITS) + digit, (rest << _DIGITS) - digit * divisor
    quotient = torch.where(x.inf, 0, torch.where(rest > 0, quotient | 1, quotient))
    lsb_exp = up - x.lsb_exp - (MOST_BITS - 1 + _DIGITS * _STEPS)
    return Number(x.sign, x.nan | x.zero, torch.zeros_like(x.inf), quotient, lsb_exp)


def _less_in_magnitude(x: Number, y: Number) -> torch.Tensor:
    """Where abs(x) < abs(y); no NaN."""
    one, other = (torch.where(item.inf, _BEYOND, exponent_of(item)) for item in (x, y))
    bits = [torch.where(item.inf, 0, item.significand << (MOST_BITS - 1 - top_bit(item.significand.clamp(min=1)))) for item in (x, y)]
    return (one < other) | ((one == other) & (bits[0] < bits[1]))


def _less(x: Number, y: Number) -> torch.Tensor:
    """Where x < y; nowhere with NaN."""
    found = torch.where(x.sign, _less_in_magnitude(y, x), _less_in_magnitude(x, y))
    return torch.where(x.sign == y.sign, found, x.sign) & ~x.nan & ~y.nan


def _minimum(x: Number, y: Number) -> Number:
    return _pick(x.nan | _less(x, y), x, y)


def _maximum(x: Number, y: Number) -> Number:
    return _pick(x.nan | _less(y, x), x, y)


_Choice = Callable[[Number, Number], Number]


def _of_magnitudes(smallest: bool, ties: _Choice) -> _Choice:
    """The one of the smaller or larger magnitude; of two equal ones, and with NaN, what `ties` says."""

    def chosen(x: Number, y: Number) -> Number:
        below, above = _less_in_magnitude(x, y), _less_in_magnitude(y, x)
        first, second = (below, above) if smallest else (above, below)
        nan = x.nan | y.nan
        return _pick(first & ~nan, x, _pick(second & ~nan, y, ties(x, y)))

    return chosen


def _numbers_first(choose: _Choice) -> _Choice:
    """NaN only where both are."""
    return lambda x, y: _pick(x.nan, y, _pick(y.nan, x, choose(x, y)))


def _finite_first(choose: _Choice) -> _Choice:
    """Of a finite number and another datum the finite one."""

    def chosen(x: Number, y: Number) -> Number:
        one, other = ~x.nan & ~x.inf, ~y.nan & ~y.inf
        return _pick(one & ~other, x, _pick(other & ~one, y, choose(x, y)))

    return chosen


_NUMBERS: Final[dict[str, Callable[..., Number]]] = {
    "convert": lambda x: x,
    "negate": Number.negated,
    "abs": lambda x: x._replace(sign=torch.zeros_like(x.sign)),
    "recip": _recip,
    "add": _sum,
    "subtract": lambda x, y: _sum(x, y.negated()),
    "multiply": multiply,
    "fma": lambda x, y, z: _sum(multiply(x, y), z),
    "faa": _sum_of_three,
    "minimum": _minimum,
    "maximum": _maximum,
    "minimum_number": _numbers_first(_minimum),
    "maximum_number": _numbers_first(_maximum),
    "minimum_magnitude": _of_magnitudes(True, _minimum),
    "maximum_magnitude": _of_magnitudes(False, _maximum),
    "minimum_magnitude_number": _of_magnitudes(True, _numbers_first(_minimum)),
    "maximum_magnitude_number": _of_magnitudes(False, _numbers_first(_maximum)),
    "minimum_finite": _finite_first(_numbers_first(_minimum)),
    "maximum_finite": _finite_first(_numbers_first(_maximum)),
}


def _truth(name: str, v: Sequence[Number], fmt: Format) -> torch.Tensor:
    """Yes or no: a comparison, or what kind of number it is. fmt: of the operand, for normal and subnormal."""
    x = v[0]
    if name.startswith("compare_"):
        y, orders = v[1], name.removeprefix("compare_")
        less, greater = _less(x, y), _less(y, x)
        equal = ~less & ~greater & ~x.nan & ~y.nan
        kinds = {"less": less, "greater": greater, "equal": equal, "less_equal": less | equal, "greater_equal": greater | equal}
        return kinds[orders]
    finite = ~x.nan & ~x.inf
    if name in ("is_normal", "is_subnormal"):
        grid = grid_of(fmt)
        assert isinstance(grid, TargetGrid)
        return finite & ~x.zero & ((exponent_of(x) >= grid.lowest_exp) == (name == "is_normal"))
    if name == "is_one":
        return finite & ~x.sign & (exponent_of(x) == 0) & (x.significand & (x.significand - 1) == 0)
    return {"is_zero": x.zero, "is_nan": x.nan, "is_infinite": x.inf, "is_finite": finite, "is_sign_minus": x.sign}[name]


def _neighbours(fmt: Format, above: bool, device: torch.device) -> torch.Tensor:
    """The code of the least larger number, or the largest smaller one, of every code; NaN after the last. Every pair is compared."""
    key = (fmt.facts_digest, above, device)
    if key not in _tables:
        codes = torch.arange(1 << derive.codes(fmt).bits, device=device)
        x = split(codes, fmt)
        kept = ~x.nan & ~(x.zero & x.sign)  # -0 is none beside 0
        x = _plain(x)
        beyond = _less(*(Number(*(part.unsqueeze(axis) for part in x)) for axis in (1, 0)))  # [code, other]: code < other
        if not above:
            beyond = beyond.T
        place = (beyond & kept[None, :] & kept[:, None]).sum(0)  # of a number: how many lie before it in this direction
        wanted = (beyond & kept[None, :]).sum(1)  # of a code: how many lie after it
        last = int(kept.sum()) - 1
        order = torch.full((last + 2,), derive.codes(fmt).nan[0], device=device)
        order[place[kept]] = codes[kept]
        _tables[key] = torch.where(x.nan | (wanted == 0), order[-1], order[last + 1 - wanted.clamp(min=1)])
    return _tables[key]
