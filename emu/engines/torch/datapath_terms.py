"""Operands of a dot product as integers, and the exact terms of one fused step. Nothing is rounded here."""

from __future__ import annotations

from typing import NamedTuple

import torch

from emu.engines.torch.numbers import Number, signed_mask, split, top_bit
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.reach import frac_bits_of, reach

NOTHING = -(1 << 20)  # an exponent below every other


class Triple(NamedTuple):
    """value = significand * 2^(exp - frac_bits of the format): the exponent that the code names. special: any NaN or Inf at all."""

    significand: torch.Tensor
    exp: torch.Tensor
    number: Number
    special: bool

    def part(self, columns: slice) -> Triple:
        """Return some places of the last axis."""
        return Triple(self.significand[..., columns], self.exp[..., columns], Number(*(x[..., columns] for x in self.number)), self.special)


class Side(NamedTuple):
    """One operand: elements, and one scale per element or None."""

    element: Triple
    scale: Triple | None

    def part(self, columns: slice) -> Side:
        """Return some places of the K axis."""
        return Side(self.element.part(columns), None if self.scale is None else self.scale.part(columns))


class Terms(NamedTuple):
    """value = significand * 2^lsb_exp; exp is what an alignment looks at, NOTHING where the term does not count. [..., terms]."""

    significand: torch.Tensor
    lsb_exp: torch.Tensor
    exp: torch.Tensor


def triple(codes: torch.Tensor, fmt: Format, subnormals: str) -> Triple:
    """Return codes (int64) as triples; bits above the code are dropped. subnormals: keep, or flush to read a subnormal code as zero."""
    x = split(codes & signed_mask(derive.codes(fmt).bits), fmt)
    if subnormals == "flush" and isinstance(fmt.facts, FloatFacts) and fmt.facts.subnormals == "yes":
        x = x._replace(significand=torch.where(x.significand < 1 << fmt.facts.frac_bits, 0, x.significand))
    signed = torch.where(x.sign, -x.significand, x.significand)
    return Triple(signed, x.lsb_exp + frac_bits_of(fmt), x, bool((x.nan | x.inf).any()))


def side(codes: torch.Tensor, scales: torch.Tensor | None, fmt: Format, plan: DatapathPlan) -> Side:
    """Return an operand. codes: int64 [..., K].   scales: int64 [..., K / block]. A NaN scale counts as zero in sums."""
    element = triple(codes, fmt, plan.facts.subnormal.elements)
    if scales is None or plan.scale is None:
        return Side(element, None)
    found = triple(scales.repeat_interleave(plan.block, dim=-1), plan.scale, plan.facts.subnormal.scales)
    return Side(element, found._replace(significand=torch.where(found.number.nan, 0, found.significand)))


def group_sums(a: Triple, b: Triple, plan: DatapathPlan) -> torch.Tensor:
    """Return the exact sums of the groups of a step, in units of 2^(plan.product_exp - plan.product_frac_bits). [..., groups]."""
    first, second = (x.significand << (x.exp - reach(fmt).min_exp) for x, fmt in ((a, plan.a), (b, plan.b)))
    return _grouped(first * second, plan.group).sum(-1)


def _grouped(x: torch.Tensor, group: int) -> torch.Tensor:
    return x.reshape(*x.shape[:-1], x.shape[-1] // group, group)


def terms_of(a: Side, b: Side, plan: DatapathPlan) -> Terms:
    """Return the terms of one step: scaled group sums (scale.apply group), or scaled products."""
    align = plan.facts.align
    if plan.facts.scale.apply == "group":
        assert a.scale is not None and b.scale is not None
        total = group_sums(a.element, b.element, plan)
        first = slice(None, None, plan.group)
        scale_a, scale_b = a.scale.part(first), b.scale.part(first)
        scale, exp = scale_a.significand * scale_b.significand, scale_a.exp + scale_b.exp
        products = (a.element.significand != 0) & (b.element.significand != 0)
        alive = _grouped(products, plan.group).any(-1) if align.cancelled_group_counts == "yes" else total != 0
        significand, frac_bits = total * scale, plan.product_frac_bits + plan.scale_frac_bits - plan.product_exp
        return _terms(significand, exp, frac_bits, alive & (scale != 0), plan)
    significand, exp = a.element.significand * b.element.significand, a.element.exp + b.element.exp
    if a.scale is not None and b.scale is not None:
        significand, exp = significand * a.scale.significand * b.scale.significand, exp + a.scale.exp + b.scale.exp
    return _terms(significand, exp, plan.product_frac_bits + plan.scale_frac_bits, significand != 0, plan)


def _terms(significand: torch.Tensor, exp: torch.Tensor, frac_bits: int, live: torch.Tensor, plan: DatapathPlan) -> Terms:
    """Give terms their exponents: nominal, raised by a constant, or that of the leading bit; the values stay."""
    align, lsb_exp = plan.facts.align, exp - frac_bits
    assert isinstance(align.exponent_raise, int)
    if align.exponent == "normalised":
        exp = torch.where(significand != 0, lsb_exp + top_bit(significand.abs()), exp)
    return Terms(significand, lsb_exp, torch.where(live, exp + align.exponent_raise, NOTHING))


class Special(NamedTuple):
    """Where a step is NaN or infinite whatever its finite terms are."""

    nan: torch.Tensor
    plus: torch.Tensor
    minus: torch.Tensor

    def patch(self, codes: torch.Tensor, plan: DatapathPlan) -> torch.Tensor:
        """Return result codes with NaN and infinities put in."""
        derived = derive.codes(plan.d)
        inf = derived.inf if derived.inf is not None else plan.nan_code
        out = torch.where(self.plus, inf, torch.where(self.minus, inf | derived.sign_bit, codes))
        return torch.where(self.nan | (self.plus & self.minus), plan.nan_code, out)


def special_of(a: Side, b: Side, c: Triple, plan: DatapathPlan) -> Special | None:
    """Return what NaN and infinite operands make of a step; None where everything is finite.

    NaN: a NaN element or C, a NaN scale, infinity times zero, infinities of both signs. Else infinities of one sign give that infinity.
    """
    factors = [a.element, b.element, *(x.scale for x in (a, b) if x.scale is not None)]
    if not c.special and not any(x.special for x in factors):
        return None
    values = [x.number for x in factors]
    nan = c.number.nan | (values[0].nan | values[1].nan).any(-1)
    if len(values) > 2:
        bad = values[2].nan | values[3].nan
        if plan.facts.special.nan_scale == "live":
            bad = bad & ~values[0].zero & ~values[1].zero
        nan = nan | bad.any(-1)
    inf, zero, sign = values[0].inf, values[0].zero, values[0].sign
    for x in values[1:]:
        inf, zero, sign = inf | x.inf, zero | x.zero, sign ^ x.sign
    nan = nan | (inf & zero).any(-1)
    plus, minus = (inf & ~sign).any(-1), (inf & sign).any(-1)
    return Special(nan, plus | (c.number.inf & ~c.number.sign), minus | (c.number.inf & c.number.sign))
