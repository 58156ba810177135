"""The part of emu show that speaks of datapaths."""

from __future__ import annotations

from emu.base.errors import OpenError
from emu.pages.datapath_widths import choices
from emu.spec import Datapath
from emu.spec.datapath import DatapathPlan

_SHOWN = 12


def lines(datapath: Datapath) -> list[str]:
    """Return what is derived for each choice of operands, or why nothing is."""
    try:
        plans = choices(datapath)
    except OpenError as error:
        return ["", f"refused: {error}"]
    rows = list(dict.fromkeys(_row(plan) for plan in plans))
    more = [f"  ... {len(rows) - _SHOWN} more: docs/reference/datapath/{datapath.id}.md"] if len(rows) > _SHOWN else []
    return ["", "derived widths", *(f"  {row}" for row in rows[:_SHOWN]), *more]


def _row(plan: DatapathPlan) -> str:
    widths = plan.widths
    operands = f"{plan.a.id} x {plan.b.id}" + (f", {plan.scale.id}" if plan.scale else "")
    exact = f"exact sum of {plan.step} in {widths.step_sum_bits} bits and a sign from 2^{widths.step_sum_lsb_exp}"
    parts = [f"product {widths.product_bits}", f"group sum {widths.group_sum_bits}", f"term {widths.term_bits}", exact]
    if plan.adder_bits is not None:
        parts.append(f"adder {plan.adder_bits} = {plan.frac_bits} + {plan.integer_bits} + 1, E at least {plan.floor}")
    if plan.largest_k is not None:
        parts.append(f"K at most {plan.largest_k} whatever the values are")
    return f"{operands}: {'; '.join(parts)}"
