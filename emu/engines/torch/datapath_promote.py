"""Binary32 steps of datapaths: block scales that are promoted, the epilogue with tensor scales, and joining the parts of a split K."""

from __future__ import annotations

import torch

from emu.engines.torch.arithmetic import add, multiply
from emu.engines.torch.datapath_sum import as_number
from emu.engines.torch.datapath_terms import Side, group_sums, triple
from emu.engines.torch.numbers import Number, split
from emu.engines.torch.round import encode
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Rounding
from emu.spec.models.datapath import PromoteFacts
from emu.spec.models.levels import EpilogueFacts
from emu.spec.registry import get


def coded(x: Number, rounding: Rounding, plan: DatapathPlan) -> torch.Tensor:
    """Return numbers rounded once to the result format, overflow as ieee_inf; NaN is the datapath's."""
    return torch.where(x.nan, plan.nan_code, encode(x, plan.d, rounding, derive.arithmetic_entry(plan.d)))


def promote(a: Side, b: Side, acc: torch.Tensor, plan: DatapathPlan) -> torch.Tensor:
    """Return acc + P * (scale a * scale b) for one block, each operation rounded once. acc: codes. A sum of products of 0 is +0."""
    facts = plan.facts.promote
    assert isinstance(facts, PromoteFacts) and a.scale is not None and b.scale is not None
    product, term, last = (get("rounding", name) for name in (facts.scale_product, facts.term, facts.acc))
    total = group_sums(a.element, b.element, plan)[..., 0]
    part = as_number(total, torch.full_like(total, plan.product_exp - plan.product_frac_bits))
    first, second = (Number(*(x[..., 0] for x in side.number)) for side in (a.scale, b.scale))
    scale = split(coded(multiply(first, second), product, plan), plan.d)
    exact = multiply(part, scale)
    before = triple(acc, plan.c, plan.facts.subnormal.c).number
    if facts.fused == "no":
        exact = split(coded(exact, term, plan), plan.d)
    return coded(add(before, exact, last), last, plan)


def alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return alpha = round(scale a * scale b): binary32 codes of the multipliers in, code out."""
    x, y = (split(torch.tensor([code], dtype=torch.int64), plan.d) for code in (scale_a, scale_b))
    return int(coded(multiply(x, y), get("rounding", facts.alpha), plan))


def epilogue(d: torch.Tensor, alpha: int, c: torch.Tensor | None, facts: EpilogueFacts, plan: DatapathPlan) -> torch.Tensor:
    """Return the codes of alpha * D, then + C where the epilogue adds it (c None: nothing to add). d, c: int64 codes, any shape."""
    rounding: Rounding = get("rounding", facts.d)
    scaled = multiply(split(torch.full_like(d, alpha), plan.d), split(d, plan.d))
    if c is None:
        return coded(scaled, rounding, plan)
    if facts.fused == "no":
        scaled = split(coded(scaled, rounding, plan), plan.d)
    return coded(add(scaled, split(c, plan.d), rounding), rounding, plan)


def add_results(x: torch.Tensor, y: torch.Tensor, plan: DatapathPlan) -> torch.Tensor:
    """Return x + y in the result format, to nearest even: what joins the parts of a split K. int64 codes."""
    nearest: Rounding = get("rounding", "rne")
    return coded(add(split(x, plan.d), split(y, plan.d), nearest), nearest, plan)
