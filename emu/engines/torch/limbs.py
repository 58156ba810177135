"""Exact sums of any width: integers in limbs of 30 bits, one int64 tensor per limb, joined into a number with a sticky last bit."""

from __future__ import annotations

import torch

from emu.engines.torch.numbers import Number

LIMB = 30
_MASK = (1 << LIMB) - 1
_JOINED = 2  # limbs whose bits a joined significand holds


class Limbs:
    """A running sum of terms (-1)^sign * significand * 2^(lsb_exp - least).

    least: exponent of the unit; no term may have a finer one.   highest: exponent above which no term has a bit.
    Fewer than 2^31 terms keep every limb inside int64.
    """

    def __init__(self, shape: torch.Size | tuple[int, ...], least: int, highest: int, device: torch.device) -> None:
        self.least = least
        count = max(highest - least, 1) // LIMB + 3
        self.limbs = [torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(count)]

    def add(self, sign: torch.Tensor, significand: torch.Tensor, lsb_exp: torch.Tensor) -> None:
        """Add one term to each sum; significands below 2^62, lsb_exp as that of the unit or higher where they are not zero."""
        place = torch.where(significand > 0, lsb_exp - self.least, 0)
        first, inside = place // LIMB, place % LIMB
        parts = [significand & _MASK, significand >> LIMB & _MASK, significand >> (2 * LIMB)]
        pieces = [parts[0] << inside, parts[1] << inside, parts[2] << inside]
        spread = [pieces[0] & _MASK]
        for low, high in ((pieces[0], pieces[1]), (pieces[1], pieces[2])):
            spread.append((low >> LIMB) + (high & _MASK))
        spread.append(pieces[2] >> LIMB)
        for number, limb in enumerate(self.limbs):
            part = torch.zeros_like(limb)
            for offset, piece in enumerate(spread):
                part = torch.where(first == number - offset, piece, part)
            limb.add_(torch.where(sign, -part, part))

    def joined(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (negative, significand, lsb_exp) of the sums: the top limbs, and a sticky last bit for the rest."""
        negative, limbs = self._magnitude()
        top = torch.zeros_like(limbs[0])
        for number, limb in enumerate(limbs):
            top = torch.where(limb != 0, number, top)
        top = top.clamp(min=1)
        high, low, rest = (torch.zeros_like(limbs[0]) for _ in range(3))
        for number, limb in enumerate(limbs):
            high = torch.where(top == number, limb, high)
            low = torch.where(top == number + 1, limb, low)
            rest |= torch.where(top > number + 1, limb, 0)
        significand = (high << LIMB) | low
        return negative, torch.where(rest != 0, significand | 1, significand), self.least + (top - 1) * LIMB

    def _magnitude(self) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return the sign and the limbs of the magnitude, each in [0, 2^30)."""
        limbs = _carried(self.limbs)
        negative = limbs[-1] < 0
        negated = _carried([torch.where(negative, -limb, limb) for limb in self.limbs])
        return negative, negated


def _carried(limbs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return limbs with carries passed upwards; all but the last in [0, 2^30), the last holds the sign."""
    out, carry = [], torch.zeros_like(limbs[0])
    for limb in limbs[:-1]:
        total = limb + carry
        out.append(total & _MASK)
        carry = total >> LIMB
    return [*out, limbs[-1] + carry]


def sum_of(terms: list[Number], least: int, highest: int) -> Number:
    """Return the exact sum of finite numbers with a sticky last bit; a zero sum is +0. NaN and Inf are the caller's business."""
    limbs = Limbs(terms[0].sign.shape, least, highest, terms[0].sign.device)
    for term in terms:
        limbs.add(term.sign, term.significand, term.lsb_exp)
    negative, significand, lsb_exp = limbs.joined()
    none = torch.zeros_like(negative)
    return Number(negative, none, none, significand, lsb_exp)
