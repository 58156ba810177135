"""Conversion to a codebook: the neighbour in value order that the rounding takes; the tie belongs to the format. Exact comparisons only."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import torch

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.torch.numbers import Number, codebook_values
from emu.engines.torch.round import by_sign
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts


class Steps(NamedTuple):
    """points: values of the codebook, ascending.   codes: the first code of each, of -0 where the book has both zeros; last: the same, of
    +0, which numbers above it take.   middles: half way between neighbours, one fewer.

    tie: the code taken at each middle.   zeros: code of +0 and of -0, equal where the book has one zero, None where it has none.
    """

    points: list[float]
    codes: list[int]
    last: list[int]
    middles: list[float]
    tie: list[int]
    zeros: tuple[int, int] | None


_known: Cache[str, Steps] = Cache("emu.engines.torch.codebook._known", 256)


def _steps(fmt: Format) -> Steps:
    if fmt.facts_digest not in _known:
        _known[fmt.facts_digest] = _make_steps(fmt)
    return _known[fmt.facts_digest]


def _make_steps(fmt: Format) -> Steps:
    values = codebook_values(fmt)
    signed = [(-size if sign else size, -int(sign), code) for code, (sign, size) in enumerate(values)]
    signed.sort()
    points = sorted({value for value, _, _ in signed})
    points = points if len(points) > 1 else 2 * points  # one number is its own neighbour
    first = [next(code for value, _, code in signed if value == point) for point in points]
    plus = [code for value, sign, code in signed if value == 0 and sign == 0]
    minus = [code for value, sign, code in signed if value == 0 and sign != 0]
    zeros = ((plus or minus)[0], (minus or plus)[0]) if plus or minus else None
    if any(a < 0 < b for a, b in pairwise(points)):
        raise EngineError(f"{fmt.id}: no value at zero between two neighbours of different sign; engine exact does it")
    lows = [plus[0] if point == 0 and plus else code for point, code in zip(points, first, strict=True)]
    tie = [_tie(fmt, lows[i], first[i + 1], points[i + 1] <= 0) for i in range(len(points) - 1)]
    middles = [(a + b) / 2 for a, b in pairwise(points)]
    return Steps(_exact_floats(points, fmt), first, lows, _exact_floats(middles, fmt), tie, zeros)


def _exact_floats(numbers: list[Fraction], fmt: Format) -> list[float]:
    found = [float(number) for number in numbers]
    if any(Fraction(value) != number for value, number in zip(found, numbers, strict=True)):
        raise EngineError(f"{fmt.id}: a threshold is no binary64 number; engine exact does it")
    return found


def _tie(fmt: Format, low: int, high: int, negative: bool) -> int:
    """Return the code of a value half way between two neighbours; away: from zero."""
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts)
    if facts.tie == "lower":
        return low
    if facts.tie == "away":
        return low if negative else high
    return low if low % 2 == 0 else high


def encode_codebook(x: Number, fmt: Format, rounding: Rounding, entry: EntryCodes) -> torch.Tensor:
    """Return codes, int64. The ends stand for everything beyond them.

    x: significands of at most 53 bits.   Raises: EngineError (a rounding that draws or asks for code order).
    """
    if rounding.random_bits or derive.needs_code_order(rounding):
        raise EngineError(f"engine torch rounds to codebooks by value, not with {rounding.id}: engine exact does it")
    steps, half = _steps(fmt), x.lsb_exp // 2
    value = torch.where(x.sign, -x.significand, x.significand).to(torch.float64) * _power(half) * _power(x.lsb_exp - half)
    value = torch.where(x.inf, torch.where(x.sign, -torch.inf, torch.inf), value)
    points, middles = (torch.tensor(row, dtype=torch.float64, device=value.device) for row in (steps.points, steps.middles))
    codes, last = (torch.tensor(row, device=value.device) for row in (steps.codes, steps.last))
    above = torch.searchsorted(points, value).clamp(1, len(steps.points) - 1)
    low, high, middle = last[above - 1], codes[above], middles[above - 1]
    out = _between(value, middle, low, high, torch.tensor(steps.tie, device=value.device)[above - 1], rounding)
    for end, beyond in ((codes[0], value < points[0]), (last[-1], value > points[-1])):
        out = torch.where(beyond, end, out)
    out = torch.where(value == points[above], high, torch.where(value == points[above - 1], codes[above - 1], out))
    if steps.zeros is not None:
        out = torch.where(value == 0, torch.where(x.sign, steps.zeros[1], steps.zeros[0]), out)
    if entry.zero is not None:
        out = torch.where(x.zero, by_sign(entry.zero, x.sign), out)
    if entry.inf is not None:
        out = torch.where(x.inf, by_sign(entry.inf, x.sign), out)
    return torch.where(x.nan, by_sign(entry.nan, x.sign), out)


def _power(exp: torch.Tensor) -> torch.Tensor:
    """Return 2^exp in binary64. Numbers lie in the range of binary64, so halves of their exponents do; others are of zeros and specials."""
    return ((exp.clamp(-1000, 971) + 1023) << 52).view(torch.float64)


def _between(
    value: torch.Tensor, middle: torch.Tensor, low: torch.Tensor, high: torch.Tensor, tie: torch.Tensor, rounding: Rounding
) -> torch.Tensor:
    """Return the code of each value strictly between two neighbours; near is the one closer to zero."""
    facts, negative = rounding.facts, value < 0
    near, far = torch.where(negative, high, low), torch.where(negative, low, high)
    less = value.abs() < middle.abs()
    equal = value == middle

    def choose(rule: object) -> torch.Tensor:
        words = {"keep": near, "next": far, "to_even_code": tie}
        picked = [words[getattr(rule, name)] for name in ("less_than_half", "half", "more_than_half")]
        return torch.where(less, picked[0], torch.where(equal, picked[1], picked[2]))

    if facts.magnitude is not None:
        return choose(facts.magnitude)
    return torch.where(negative, choose(facts.negative), choose(facts.positive))
