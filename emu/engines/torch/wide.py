"""Magnitudes of any width as int64 tensors: shifted, cut, added, multiplied. How wide one can be is known from facts, never from data."""

from __future__ import annotations

from typing import NamedTuple

import torch

from emu.engines.torch import round as rounds
from emu.engines.torch.numbers import MOST_BITS, top_bit
from emu.spec.models import Rounding

LIMB = 28  # bits of a limb: 128 products of two limbs, or 2^35 limbs, add up inside int64
_MASK = (1 << LIMB) - 1
_LOST = 2  # limbs of a discarded part that a rounding looks at, and a sticky bit


class Wide(NamedTuple):
    """Integers from 0 to below 2^bits. limbs: int64 [limbs, ...]; up to 62 bits in one, more in limbs of 28 bits, the lowest first."""

    limbs: torch.Tensor
    bits: int

    @property
    def zero(self) -> torch.Tensor:
        """Where the integer is 0."""
        return (self.limbs == 0).all(0)

    @property
    def top(self) -> torch.Tensor:
        """The place of the highest set bit; below -900 for zero."""
        if len(self.limbs) == 1:
            return top_bit(self.limbs[0])
        found = top_bit(self.limbs[0])
        for number in range(1, len(self.limbs)):
            found = torch.where(self.limbs[number] != 0, number * LIMB + top_bit(self.limbs[number]), found)
        return found

    def where(self, chosen: torch.Tensor, other: int = 0) -> Wide:
        """The integers where chosen, another constant elsewhere."""
        return Wide(torch.where(chosen, self.limbs, constant(other, self.bits, self.limbs)), self.bits)


def _count(bits: int) -> int:
    return 1 if bits <= MOST_BITS else -(-bits // LIMB)


def constant(value: int, bits: int, like: torch.Tensor) -> torch.Tensor:
    """Return the limbs of an integer below 2^bits, to broadcast over the limbs of other integers."""
    limbs = [value] if _count(bits) == 1 else [value >> (LIMB * i) & _MASK for i in range(_count(bits))]
    return torch.tensor(limbs, device=like.device).view(-1, *[1] * (like.ndim - 1))


def _spread(limb: torch.Tensor) -> torch.Tensor:
    """Return a lone limb as three of 28 bits."""
    return torch.stack([limb & _MASK, limb >> LIMB & _MASK, limb >> 2 * LIMB])


def resized(x: Wide, bits: int) -> Wide:
    """Return integers, which are below 2^bits, in as many limbs as those need."""
    have, want = len(x.limbs), _count(bits)
    if have == want:
        return Wide(x.limbs, bits)
    if want == 1:
        return Wide(sum((limb << (LIMB * i) for i, limb in enumerate(x.limbs[:3])), torch.zeros_like(x.limbs[0])).unsqueeze(0), bits)
    limbs = _spread(x.limbs[0]) if have == 1 else x.limbs
    spare = limbs.new_zeros((max(want - len(limbs), 0), *limbs.shape[1:]))
    return Wide(torch.cat([limbs[:want], spare]), bits)


def _moved(limbs: torch.Tensor, by: torch.Tensor, count: int) -> torch.Tensor:
    """Return limb i + by as limb i of `count`; 0 where there is none. by: [...]."""
    index = torch.arange(count, device=limbs.device).view(-1, *[1] * by.ndim) + by
    there = (index >= 0) & (index < len(limbs))
    return torch.where(there, limbs.gather(0, index.clamp(0, len(limbs) - 1)), 0)


def left(x: Wide, places: torch.Tensor, bits: int) -> Wide:
    """Return x * 2^places, places 0 or more; what is not zero stays below 2^bits."""
    x, places = resized(x, bits), places.expand(x.limbs.shape[1:])
    if len(x.limbs) == 1:
        return Wide(x.limbs << places.clamp(max=MOST_BITS - 1), bits)
    inside = places % LIMB
    limbs = (x.limbs << inside) & _MASK
    limbs[1:] |= x.limbs[:-1] >> (LIMB - inside)
    return Wide(_moved(limbs, -(places // LIMB), len(limbs)), bits)


def _right(x: Wide, places: torch.Tensor) -> tuple[Wide, torch.Tensor, torch.Tensor]:
    """Return (x / 2^places without its fraction, rest, shift), places 0 or more; rest / 2^shift is the fraction, sticky."""
    if len(x.limbs) == 1:
        kept, rest, shift = rounds.cut(x.limbs[0], places)
        return Wide(kept.unsqueeze(0), x.bits), rest, shift
    limbs = torch.cat([x.limbs.new_zeros((_LOST, *x.limbs.shape[1:])), x.limbs])
    whole, inside = places // LIMB, places % LIMB
    falls = (limbs << (LIMB - inside)) & _MASK
    parts = limbs >> inside
    parts[:-1] |= falls[1:]
    found = _moved(parts, whole, len(limbs))
    number = torch.arange(len(limbs), device=limbs.device).view(-1, *[1] * places.ndim)
    lost = ((limbs != 0) & (number < whole)).any(0) | ((falls != 0) & (number == whole)).any(0)
    rest = found[0] | found[1] << LIMB | lost
    return Wide(found[_LOST:], x.bits), rest, torch.full_like(rest, _LOST * LIMB)


def cut(
    x: Wide, places: torch.Tensor, bits: int, negative: torch.Tensor, rounding: Rounding | None, random: torch.Tensor | None = None
) -> Wide:
    """Return x / 2^places, rounded to an integer; to the left where places is below 0. The result stays below 2^bits.

    negative: of the numbers.   rounding: None where nothing is lost.   random: int64, for a rounding that draws.
    """
    kept, rest, shift = _right(x, places.clamp(min=0))
    kept = resized(kept, bits)
    if rounding is not None:
        up = rounds.goes_up(rounds.Position(kept.limbs[0], rest, shift), negative, rounding, random)
        more = torch.cat([(kept.limbs[0] + up).unsqueeze(0), kept.limbs[1:]])
        kept = Wide(_carried(more), bits)
    return left(kept, (-places).clamp(min=0), bits)


def _carried(limbs: torch.Tensor) -> torch.Tensor:
    """Return limbs with carries passed upwards; all but the last in [0, 2^28), the last has the sign."""
    if len(limbs) == 1:
        return limbs
    out, carry = [], torch.zeros_like(limbs[0])
    for limb in limbs[:-1]:
        more = limb + carry
        out.append(more & _MASK)
        carry = more >> LIMB
    return torch.stack([*out, limbs[-1] + carry])


def total(x: Wide, negative: torch.Tensor, bits: int) -> tuple[Wide, torch.Tensor]:
    """Return (magnitude, negative) of the sums over the last axis, which are below 2^bits."""
    limbs = resized(x, bits).limbs
    sums = torch.where(negative, -limbs, limbs).sum(-1)
    below = _carried(sums)[-1] < 0
    return Wide(_carried(torch.where(below, -sums, sums)), bits), below


def product(x: Wide, y: Wide) -> Wide:
    """Return x * y."""
    bits = x.bits + y.bits
    if bits <= MOST_BITS:
        return Wide(x.limbs * y.limbs, bits)
    first, second = (_spread(v.limbs[0]) if len(v.limbs) == 1 else v.limbs for v in (x, y))
    shape = torch.broadcast_shapes(first.shape[1:], second.shape[1:])
    out = first.new_zeros((len(first) + len(second), *shape))
    for i, limb in enumerate(first):
        out[i : i + len(second)] += limb * second
    return resized(Wide(_carried(out), LIMB * len(out)), bits)


def wrapped(x: Wide, negative: torch.Tensor, bits: int) -> tuple[Wide, torch.Tensor]:
    """Return (magnitude, negative) of the low bits of signed integers, in two's complement."""
    if x.bits < bits:
        return x, negative
    low = resized(Wide(x.limbs & constant((1 << bits) - 1, x.bits, x.limbs), x.bits), bits + 1)
    whole = constant(1 << bits, bits + 1, low.limbs).expand(low.limbs.shape)
    both = torch.stack([whole, low.limbs], -1)
    other, _ = total(Wide(both, bits + 1), torch.tensor([False, True], device=both.device), bits + 1)
    turns = torch.where(negative, (other.top < bits - 1), low.top >= bits - 1)
    return Wide(torch.where(turns, other.limbs, low.limbs), bits + 1), (negative ^ turns) & ~low.zero


def beyond(x: Wide, negative: torch.Tensor, bits: int) -> torch.Tensor:
    """Return where signed integers are beyond two's complement of some bits."""
    if x.bits < bits:
        return torch.zeros_like(negative)
    lowest = negative & (x.limbs == constant(1 << (bits - 1), x.bits, x.limbs)).all(0)
    return (x.top >= bits - 1) & ~lowest
