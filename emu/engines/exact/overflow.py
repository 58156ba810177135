"""overflow: what becomes of a rounded magnitude beyond the maximum, and of an infinite source. It never sees discarded bits."""

from __future__ import annotations

from typing import Literal, NamedTuple

from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding


class Magnitude(NamedTuple):
    """A magnitude code; the sign is still to be attached."""

    code: int


class Code(NamedTuple):
    """A finished code (or OPEN, REFUSE)."""

    code: int


def overflow(magnitude: int | Literal["inf"], sign: int, fmt: Format, rounding: Rounding, entry: EntryCodes) -> Magnitude | Code:
    """Return the magnitude or code for a rounded magnitude code, or for an infinite source.

    magnitude: unbounded magnitude code, or "inf".   sign: 1 for negative.   entry: the policy for this destination.
    saturate, inf, nan see the sign alone; ieee_inf and ieee_nan also the mode and whether the source was infinite; wrap keeps the low bits.
    """
    infinite = magnitude == "inf"
    if infinite and entry.inf is not None:
        return Code(entry.inf[sign])
    largest = largest_magnitude(fmt, sign)
    if magnitude != "inf" and (magnitude <= largest or entry.overflow == "wrap"):
        return Magnitude(magnitude)
    stays = not infinite and derive.stops_at(rounding, sign, largest)
    if entry.overflow in ("saturate", "wrap") or (entry.overflow.startswith("ieee") and stays):
        return Magnitude(largest)
    if entry.overflow in ("inf", "ieee_inf"):
        code = derive.codes(fmt).inf
        assert code is not None
        return Magnitude(code)
    assert entry.overflow_nan is not None
    return Code(entry.overflow_nan[sign])


def largest_magnitude(fmt: Format, sign: int) -> int:
    """Return the largest finite magnitude code of one sign; two's complement has one more on the negative side."""
    largest = derive.codes(fmt).max_code
    return largest + 1 if sign and derive.is_twos_complement(fmt) else largest
