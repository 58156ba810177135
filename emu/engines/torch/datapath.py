"""dot and matmul on tensors of codes: int64 sums of the widths that the spec derives, wider exact sums in limbs.

Memory is bounded by tiles of outputs, never M x N x K. What this engine leaves out, can.can_dot says.
"""

from __future__ import annotations

import torch

from emu.base.errors import EngineError, OpenError
from emu.engines.torch.can import dot_fault
from emu.engines.torch.datapath_promote import promote
from emu.engines.torch.datapath_sum import aligned, exact_sum, late_add, late_align, round_sum
from emu.engines.torch.datapath_terms import Side, side, special_of, terms_of, triple
from emu.engines.torch.limbs import Limbs
from emu.engines.torch.numbers import Number, signed_mask
from emu.engines.torch.tensors import checked, code_dtype, signed_view, to_int64
from emu.spec.datapath import DatapathPlan
from emu.spec.reach import reach

TILE = 1 << 19  # products of one step that are worked on at a time
GPU_TILE = 1 << 24
_HALF_WORD = 32


def dot(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, c: torch.Tensor, plan: DatapathPlan
) -> torch.Tensor:
    """Return the results of a datapath for rows of A and B in pairs.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R].   Returns: unsigned codes [R].
    NaN, infinity, zero, subnormals, overflow: as the datapath says.   Lengths and code ranges are the caller's to check.
    Raises: OpenError (an accumulator that overflows, with its row), EngineError (dot_fault).
    Exactness: equals emu.engines.exact.datapath.dot bit for bit.   Source: the datapath's sources.
    Tests: tests/engines/torch/test_torch_datapath.py.
    """
    refuse(plan)
    out = torch.empty(c.shape, dtype=code_dtype(plan.d), device=a.device)
    height = max(_tile(a) // max(plan.step, 1), 1)
    for start in range(0, len(c), height):
        rows = slice(start, start + height)
        given = [None if x is None else to_int64(x[rows]) for x in (a, b, scale_a, scale_b)]
        signed_view(out)[rows] = _chain(given, to_int64(c[rows]), plan, lambda place, first=start: f"row {first + place[0]}")
    return out


def matmul(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, c: torch.Tensor | None, plan: DatapathPlan
) -> torch.Tensor:
    """Return A times B transposed plus C: one ascending chain over K for each output.

    a, b: codes [M, K] and [N, K].   scale_a, scale_b: codes [M, K / block] and [N, K / block].   c: codes [M, N], None for +0.
    Returns: unsigned codes [M, N].   Raises: as dot.
    """
    refuse(plan)
    rows, columns = len(a), len(b)
    out = torch.zeros((rows, columns), dtype=code_dtype(plan.d), device=a.device)
    size = max(int((_tile(a) // max(plan.step, 1)) ** 0.5), 1)
    for top in range(0, rows, size):
        for left in range(0, columns, size):
            down, across = slice(top, top + size), slice(left, left + size)
            firsts = [None if x is None else to_int64(x[down]).unsqueeze(1) for x in (a, scale_a)]
            seconds = [None if x is None else to_int64(x[across]).unsqueeze(0) for x in (b, scale_b)]
            addend = to_int64(out[down, across] if c is None else c[down, across])

            def where(place: list[int], first: tuple[int, int] = (top, left)) -> str:
                return f"row {first[0] + place[0]}, column {first[1] + place[1]}"

            given = [firsts[0], seconds[0], firsts[1], seconds[1]]
            signed_view(out)[down, across] = _chain(given, addend, plan, where)
    return out


def _tile(a: torch.Tensor) -> int:
    return TILE if a.device.type == "cpu" else GPU_TILE


def refuse(plan: DatapathPlan) -> None:
    """Refuse a plan that this engine does not do. Raises: EngineError."""
    why = dot_fault(plan)
    if why is not None:
        raise EngineError(f"engine torch does not do {plan.name} ({why}): engine exact does it")


def check_codes(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, plan: DatapathPlan) -> None:
    """Check that codes fit their formats. Raises: OperandError, OpenError (an unused bit of a scale)."""
    for codes, fmt in ((a, plan.a), (b, plan.b)):
        checked(codes, fmt)
    for codes in (scale_a, scale_b):
        if codes is None or plan.scale is None:
            continue
        try:
            checked(codes, plan.scale)
        except OpenError:
            if plan.facts.scale.unused_bits == "open":
                raise


def _chain(given: list[torch.Tensor | None], c: torch.Tensor, plan: DatapathPlan, where: object) -> torch.Tensor:
    """Return the results of a tile, int64. given: a, b, scale a, scale b, broadcasting over the outputs, K last."""
    a, b, scale_a, scale_b = given
    assert a is not None and b is not None
    left, right = side(a, scale_a, plan.a, plan), side(b, scale_b, plan.b, plan)
    if plan.accumulator is not None:
        return _register(left, right, c, plan, where)
    for start in range(0, a.shape[-1], plan.step):
        part = slice(start, start + plan.step)
        c = fused_step(left.part(part), right.part(part), c, plan)
    return c


def fused_step(a: Side, b: Side, c: torch.Tensor, plan: DatapathPlan) -> torch.Tensor:
    """Return the result codes of one fused step, int64. c: codes of the addends."""
    if plan.facts.scale.apply == "promote":
        return promote(a, b, c, plan)
    addend = triple(c, plan.c, plan.facts.subnormal.c)
    special = special_of(a, b, addend, plan)
    terms = terms_of(a, b, plan)
    if plan.late_c is not None:
        found = late_align(terms, addend, plan)
    elif plan.frac_bits is not None:
        found = aligned(terms, addend, plan)
    elif plan.facts.late_c == "add":
        found = late_add(terms, c, plan)
    else:
        found = round_sum(exact_sum(terms, addend, plan), plan)
    return found if special is None else special.patch(found, plan)


def _register(a: Side, b: Side, c: torch.Tensor, plan: DatapathPlan, where: object) -> torch.Tensor:
    """Add all terms of K in one fixed-point register that starts at 0, then add C and round once."""
    addend = triple(c, plan.c, plan.facts.subnormal.c)
    special = special_of(a, b, addend, plan)
    acc, late = torch.zeros_like(c), torch.zeros_like(c)
    unit, size = plan.widths.step_sum_lsb_exp, a.element.significand.shape[-1]
    assert plan.accumulator is not None
    for start in range(0, size, plan.step):
        part = slice(start, start + plan.step)
        terms = terms_of(a.part(part), b.part(part), plan)
        step = (terms.significand << (terms.lsb_exp - unit).clamp(0, 62)).sum(-1)
        total = acc + step
        beyond = ((acc ^ total) & (step ^ total)) < 0
        if plan.accumulator.bits < 64:
            half = 1 << (plan.accumulator.bits - 1)
            beyond |= (total < -half) | (total >= half)
        late = torch.where(beyond & (late == 0), start + plan.step, late)
        acc = total
    if special is not None:
        late = torch.where(special.nan | special.plus | special.minus, 0, late)
    _check(late, plan, where)
    found = round_sum(_with_addend(acc, addend.number, plan), plan)
    return found if special is None else special.patch(found, plan)


def _check(late: torch.Tensor, plan: DatapathPlan, where: object) -> None:
    """Refuse a sum that the register did not hold. late: K where it first overflowed, 0: never. Raises: OpenError."""
    places = torch.nonzero(late)
    if len(places):
        place = places[0].tolist()
        assert callable(where) and plan.accumulator is not None
        raise OpenError(
            f"{where(place)}: datapath {plan.datapath.id}: the {plan.accumulator.bits}-bit accumulator overflows after "
            f"{int(late[tuple(place)])} products: any values fit up to K = {plan.largest_k}"
        )


def _with_addend(acc: torch.Tensor, c: Number, plan: DatapathPlan) -> Number:
    """Return register + C, exact but for a sticky last bit."""
    top = max(plan.widths.step_sum_lsb_exp, reach(plan.c).max_exp) + 2 * _HALF_WORD
    limbs = Limbs(acc.shape, plan.exact_lsb_exp, top, acc.device)
    unit = torch.full_like(acc, plan.widths.step_sum_lsb_exp)
    low = acc & signed_mask(_HALF_WORD)
    high = acc >> _HALF_WORD
    limbs.add(torch.zeros_like(c.sign), low, unit)
    limbs.add(high < 0, high.abs(), unit + _HALF_WORD)
    limbs.add(c.sign, torch.where(c.inf | c.nan, 0, c.significand), c.lsb_exp)
    negative, significand, lsb_exp = limbs.joined()
    none = torch.zeros_like(negative)
    return Number(negative, none, none, significand, lsb_exp)
