"""Numbers of a datapath of levels as arrays: exact sums of binary64 parts, and their rounding to a grid.

A number is the exact sum of its parts; NaN and infinity lie in the only part that is not zero. Nothing is lost until a grid is named: a sum
whose error is zero is one part again. Far from the ends of binary64, as emu.engines.numpy.levels.can_levels has proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.engines.numpy.datapath_round import F64, ROUNDINGS, exponent, power, sum_to_odd, two_sum
from emu.spec.ieee import direction
from emu.spec.models import Rounding

Bool = NDArray[np.bool_]
LOWEST = -1000  # exponent named by what is zero


@dataclass(frozen=True)
class Values:
    """Values of some nodes, [nodes, rows].

    parts: the largest last.   exp: exponent that each names, live: does it raise E; None where no level asks.
    fault: 0, or the kind of error that the row has met; None: none has.   flags: those raised on the way, as reported; None: none was.
    """

    parts: list[F64]
    exp: NDArray[np.int64] | None = None
    live: Bool | None = None
    fault: NDArray[np.int8] | None = None
    flags: NDArray[np.int8] | None = None

    @property
    def top(self) -> F64:
        """The part that has the sign of the whole; NaN or infinity where it is that."""
        return self.parts[-1]

    def pick(self, take: Any) -> Values:
        """Return some nodes. take: a function of one array."""
        rest = (None if item is None else take(item) for item in (self.exp, self.live, self.fault, self.flags))
        return Values([take(part) for part in self.parts], *rest)

    def where(self, mask: Bool, other: Values) -> Values:
        """Return the other values where a mask is set."""
        size = max(len(self.parts), len(other.parts))
        mine, theirs = ([np.zeros_like(item.top)] * (size - len(item.parts)) + item.parts for item in (self, other))
        exp = None if self.exp is None or other.exp is None else np.where(mask, other.exp, self.exp)
        live = None if self.live is None or other.live is None else np.where(mask, other.live, self.live)
        fault = None
        if self.fault is not None or other.fault is not None:
            fault = np.where(mask, 0 if other.fault is None else other.fault, 0 if self.fault is None else self.fault).astype(np.int8)
        flags = None
        if self.flags is not None or other.flags is not None:
            flags = np.where(mask, 0 if other.flags is None else other.flags, 0 if self.flags is None else self.flags).astype(np.int8)
        return Values([np.where(mask, y, x) for x, y in zip(mine, theirs, strict=True)], exp, live, fault, flags)

    def zero_where(self, mask: Bool) -> Values:
        """Return 0 in the place of some values; no NaN of theirs then keeps a part alive, and the exponent is one that powers have."""
        exp = None if self.exp is None else np.where(mask, 0, self.exp)
        return replace(self, parts=[np.where(mask, 0.0, part) for part in self.parts], exp=exp)

    def only(self, part: F64) -> Values:
        """Return one part in the place of these."""
        return replace(self, parts=[part])


def first_fault(values: Sequence[Values]) -> NDArray[np.int8] | None:
    """Return the first error that each row has met."""
    found: NDArray[np.int8] | None = None
    for item in values:
        if item.fault is not None:
            found = item.fault if found is None else np.where(found != 0, found, item.fault)
    return found


def all_flags(values: Sequence[Values]) -> NDArray[np.int8] | None:
    """Return the flags that any of some values has raised."""
    found: NDArray[np.int8] | None = None
    for item in values:
        if item.flags is not None:
            found = item.flags if found is None else found | item.flags
    return found


def distill(parts: Sequence[F64]) -> list[F64]:
    """Return finite parts that do not overlap, the largest last; as few as the rows need.

    An expansion is grown part by part (Shewchuk 1997, theorem 10); then zeros go to the front of each row, and out where no row has more.
    Zero has the sign of the last part.
    """
    out = [parts[0]]
    for part in parts[1:]:
        carried, grown = part, []
        for other in out:
            carried, low = two_sum(carried, other)
            grown += [low] if low.any() else []
        out = [*grown, carried]
        if len(out) > 1:
            wide = np.stack(np.broadcast_arrays(*out))
            wide = np.take_along_axis(wide, np.argsort(np.abs(wide), axis=0, kind="stable"), 0)
            out = [*(low for low in wide[:-1] if low.any()), wide[-1]]
    if len(parts) > 1:
        out[-1] = np.where(out[-1] == 0, np.copysign(0.0, parts[-1]), out[-1])
    return out


def whole(parts: Sequence[F64]) -> F64:
    """Return the exact sum of finite parts rounded to odd in binary64; zero has the sign of the last part."""
    if len(parts) == 1:
        return parts[0]
    total = sum_to_odd(parts)
    return np.where(total == 0, np.copysign(0.0, parts[-1]), total)


def rounds_up(lost: F64, odd: Bool, negative: Bool, rounding: Rounding, random: NDArray[Any] | None) -> Bool:
    """Tell where the magnitude above is taken. lost: discarded part in [0, 1), exact or to odd.   odd: is the one below odd."""
    facts, some = rounding.facts, lost > 0
    if facts.add is not None:
        assert random is not None
        units, missing = lost * 2.0**rounding.random_bits, 2.0**rounding.random_bits - random.astype(np.float64)
        if facts.add == "cmp":
            return some & (units > 2.0**rounding.random_bits - missing)
        hit: Bool = (units >= missing - 0.5) if facts.add == "half" else (np.floor(units) >= missing)
        return some & hit
    sides = []
    for rule in (facts.magnitude or facts.positive, facts.magnitude or facts.negative):
        assert rule is not None
        words: dict[str, Any] = {"keep": False, "next": True, "to_even_code": odd, "to_odd_code": ~odd}
        sides.append(np.where(lost < 0.5, words[rule.less_than_half], np.where(lost == 0.5, words[rule.half], words[rule.more_than_half])))
    found: Bool = some & np.where(negative, sides[1], sides[0])
    return found


def to_grid(parts: Sequence[F64], unit: Any, rounding: Rounding, random: NDArray[Any] | None = None) -> list[F64]:
    """Return finite parts, the largest last and none overlapping, rounded once to multiples of 2^unit; zeros keep the sign of the whole."""
    down = np.asarray(-np.asarray(unit, np.int64))
    units, mode = power(down), direction(rounding)
    back = power(-down)
    if len(parts) == 1 and mode is not None:
        return [ROUNDINGS[mode](parts[0] * units) * back]
    scaled = [part * units for part in parts]
    kept = [np.trunc(part) for part in scaled]
    low = whole([part - high for part, high in zip(scaled, kept, strict=True)])
    negative = np.signbit(parts[-1])
    lost = np.where(negative, -low, low)
    under = lost < 0  # smaller parts point the other way: one unit less is kept, the rest of it is lost
    lost = whole([lost, under.astype(np.float64)])
    odd = under
    for high in kept:
        odd = odd ^ (np.fmod(high, 2) != 0)
    more = rounds_up(lost, odd, negative, rounding, random).astype(np.float64) - under
    moved = np.where(negative, -more, more)
    found = distill([*kept, moved]) if len(kept) > 1 else [kept[0] + moved]
    found[-1] = np.where(found[-1] == 0, np.copysign(0.0, parts[-1]), found[-1])
    return [part * back for part in found]


def product(x: Sequence[F64], y: F64) -> list[F64]:
    """Return the exact product of finite parts and single numbers (Dekker's, where one product of binary64 is not exact)."""
    out: list[F64] = []
    for part in x:
        high = part * y
        (a, b), (c, d) = _halves(part), _halves(y)
        low = ((a * c - high) + a * d + b * c) + b * d
        out += [low, high] if low.any() else [high]
    if len(out) == 1:
        return out
    return distill(out)


def _halves(x: F64) -> tuple[F64, F64]:
    wide = x * 134217729.0
    high = wide - (wide - x)
    return high, x - high


def leading(parts: Sequence[F64]) -> NDArray[np.int64]:
    """Return the exponent of the leading bit; LOWEST for zero."""
    return exponent(whole(parts), LOWEST)
