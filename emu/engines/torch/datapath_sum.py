"""One fused step: from exact terms and C to a result code, for each way of adding. Integers only."""

from __future__ import annotations

import torch

from emu.engines.torch.arithmetic import add
from emu.engines.torch.datapath_terms import NOTHING, Terms, Triple, triple
from emu.engines.torch.limbs import Limbs
from emu.engines.torch.numbers import MOST_BITS, Number, signed_mask
from emu.engines.torch.round import Position, cut, exponent_of, goes_up
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get

_SPARE_BITS = 40  # of an exact sum above its largest term: carries of all terms


def moved(x: torch.Tensor, places: torch.Tensor | int, mode: str) -> torch.Tensor:
    """Return x * 2^places of signed integers; what falls off is rounded: rz on the magnitude, rd down, rne to nearest even."""
    wide = torch.as_tensor(places, device=x.device)
    left, right = wide.clamp(0, MOST_BITS - 1), (-wide).clamp(0, MOST_BITS)
    if mode == "rd":
        return (x >> right) << left
    size = x.abs()
    kept = size >> right
    if mode == "rne":
        lost = size - (kept << right)
        half = torch.where(wide < 0, torch.ones_like(x) << (right - 1).clamp(min=0), 1)
        kept = kept + ((wide < 0) & (wide >= -MOST_BITS) & ((lost > half) | ((lost == half) & (kept & 1 == 1)))).to(torch.int64)
    kept = kept << left
    return torch.where(x < 0, -kept, kept)


def magnitude_code(x: Number, fmt: Format, rounding: Rounding, keep: int, random: torch.Tensor | None = None) -> torch.Tensor:
    """Return magnitude codes of finite numbers with `keep` fraction bits kept: gradual subnormals, no maximum.

    random: int64, for a mode that draws.
    """
    layout = fmt.facts
    assert isinstance(layout, FloatFacts)
    hidden, exp = 1 << layout.frac_bits, exponent_of(x).clamp(min=1 - layout.bias)
    whole, rest, shift = cut(x.significand, exp - keep - x.lsb_exp)
    whole = whole + goes_up(Position(whole, rest, shift), x.sign, rounding, random).to(torch.int64)
    significand = whole << (layout.frac_bits - keep)
    return torch.where(significand < hidden, significand, ((exp + layout.bias) << layout.frac_bits) + significand - hidden)


def round_sum(x: Number, plan: DatapathPlan) -> torch.Tensor:
    """Return result codes of exact sums (finite): round.keep fraction bits, gradual subnormals, overflow and zeros as the datapath says."""
    facts, layout, derived = plan.facts, plan.d.facts, derive.codes(plan.d)
    assert isinstance(layout, FloatFacts)
    code = magnitude_code(x, plan.d, get("rounding", facts.round.mode), facts.round.keep)
    if facts.round.overflow == "inf":
        assert derived.inf is not None
        code = torch.where(code > derived.max_code, derived.inf, code)
    else:
        code = code.clamp(max=derived.max_code)
    if facts.subnormal.result == "flush":
        code = torch.where(code >> layout.frac_bits == 0, 0, code)
    negative = x.sign & (code != 0) if facts.special.zero == "plus" else x.sign & (x.significand != 0)
    return torch.where(negative, code | derived.sign_bit, code)


def as_number(total: torch.Tensor, lsb_exp: torch.Tensor) -> Number:
    """Return signed integers of a unit as numbers."""
    none = torch.zeros_like(total, dtype=torch.bool)
    return Number(total < 0, none, none, total.abs(), lsb_exp + torch.zeros_like(total))


def aligned(terms: Terms, c: Triple, plan: DatapathPlan) -> torch.Tensor:
    """Align every live term and C to the largest exponent, cut to F bits below it, add, round."""
    assert plan.frac_bits is not None
    exp = torch.maximum(terms.exp.amax(-1), torch.where(c.significand != 0, c.exp, NOTHING))
    exp = exp.clamp(min=plan.floor) if plan.floor is not None else torch.where(exp == NOTHING, 0, exp)
    lsb_exp, mode = exp - plan.frac_bits, plan.align_direction
    total = moved(terms.significand, terms.lsb_exp - lsb_exp.unsqueeze(-1), mode).sum(-1)
    total = total + moved(c.significand, c.exp - frac_bits_of(plan.c) - lsb_exp, mode)
    if plan.facts.align.beyond == "wrap":
        assert plan.adder_bits is not None
        half = 1 << (plan.adder_bits - 1)
        total = ((total + half) & signed_mask(plan.adder_bits)) - half
    return round_sum(as_number(total, lsb_exp), plan)


def exact_sum(terms: Terms, c: Triple | None, plan: DatapathPlan) -> Number:
    """Return the sum of all terms (and C) without loss but for a sticky last bit."""
    top = max(plan.widths.step_sum_bits + plan.widths.step_sum_lsb_exp, reach(plan.c).max_exp) + _SPARE_BITS
    shape = terms.significand.shape[:-1]
    limbs = Limbs(shape, plan.exact_lsb_exp, top, terms.significand.device)
    for number in range(terms.significand.shape[-1]):
        significand = terms.significand[..., number].expand(shape)
        limbs.add(significand < 0, significand.abs(), terms.lsb_exp[..., number].expand(shape))
    if c is not None:
        limbs.add(c.significand < 0, c.significand.abs(), c.exp - frac_bits_of(plan.c))
    negative, significand, lsb_exp = limbs.joined()
    none = torch.zeros_like(negative)
    return Number(negative, none, none, significand, lsb_exp)


def late_add(terms: Terms, c: torch.Tensor, plan: DatapathPlan) -> torch.Tensor:
    """Return round(round(exact sum) + C); an infinite first sum stays. c: codes."""
    part = round_sum(exact_sum(terms, None, plan), plan)
    first, second = (triple(codes, plan.d, plan.facts.subnormal.c).number for codes in (part, c))
    finite = first._replace(inf=torch.zeros_like(first.inf), significand=torch.where(first.inf, 0, first.significand))
    total = add(finite, second, get("rounding", plan.facts.round.mode))
    total = total._replace(sign=total.sign & (total.significand != 0))
    return torch.where(first.inf, part, round_sum(total, plan))


def late_align(terms: Terms, c: Triple, plan: DatapathPlan) -> torch.Tensor:
    """Sum each interleaved part under its own largest exponent, join the parts, then C under the largest of all.

    Bits that fall off go toward zero inside a part and downwards when parts and C are joined. A part of zeros is not there.
    """
    late, frac_bits = plan.late_c, plan.frac_bits
    assert late is not None and frac_bits is not None
    sums, exps = [], []
    for part in range(plan.facts.split):
        mine = Terms(*(x[..., part :: plan.facts.split] for x in terms))
        exps.append(mine.exp.amax(-1))
        unit = torch.where(exps[-1] == NOTHING, 0, exps[-1]) - frac_bits
        sums.append(moved(mine.significand, mine.lsb_exp - unit.unsqueeze(-1), "rz").sum(-1))
    found = torch.stack(exps).amax(0)
    exp = torch.maximum(found, c.exp)
    joined_exp = torch.where(found == NOTHING, exp, found)
    joined = sum(
        (moved(total, torch.where(own == NOTHING, 0, own - joined_exp), "rd") for total, own in zip(sums, exps, strict=True)),
        torch.zeros_like(exp),
    )
    addend = moved(c.significand, c.exp - frac_bits_of(plan.c) - (exp - frac_bits), "rd")
    addend = torch.where(c.exp >= exp - late.drop_below, addend, 0)
    more = late.f2 - frac_bits
    total = moved(joined, joined_exp - exp + more, "rd") + (addend << more)
    return round_sum(as_number(total, exp - late.f2), plan)
