"""Directed rows of dot products: the categories of the datapath sheet for any datapath, drawn by Philox, tuned against wrong parameters.

How much each category sees of each wrong parameter is measured in tests/mutation (power.yaml). Not here: which rows a suite keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emu.base import philox
from emu.base.caches import bounded
from emu.contracts.dot import cases_cancel as cases_dot_cancel
from emu.contracts.dot import cases_edges as cases_dot_edges
from emu.contracts.dot import cases_spread as cases_dot_spread
from emu.contracts.dot.codes import Draw
from emu.contracts.dot.field import Draft, Field
from emu.contracts.dot.rows import DotRow
from emu.spec.datapath import DatapathPlan

Maker = Callable[[Field, Draw], Draft]
CHAIN: Final = 8  # instructions of a chain
MAKERS: Final[dict[str, Maker]] = {
    "uniform_bits": cases_dot_spread.uniform_bits,
    "gaussian": cases_dot_spread.gaussian,
    "cancel": cases_dot_cancel.cancel,
    "cancelled_group": cases_dot_cancel.cancelled_group,
    "exp_spread": cases_dot_spread.exp_spread,
    "subnormal_out": cases_dot_edges.subnormal_out,
    "nan_scale": cases_dot_edges.nan_scale,
    "special_c": cases_dot_edges.special_c,
    "overflow": cases_dot_spread.overflow,
    "zeros": cases_dot_edges.zeros,
    "align_edge": cases_dot_cancel.align_edge,
    "saturated_same_sign": cases_dot_spread.saturated_same_sign,
    "floor_edge": cases_dot_edges.floor_edge,
    "c_edge": cases_dot_cancel.c_edge,
    "elem_special": cases_dot_edges.elem_special,
    "scale_signbit": cases_dot_edges.scale_signbit,
}
CHAINED: Final = ("gaussian", "cancel", "exp_spread", "align_edge", "c_edge", "cancelled_group")
CATEGORIES: Final = (*MAKERS, "chain")


def applies(category: str, plan: DatapathPlan) -> bool:
    """Tell whether a category has rows for a plan: NaN scales need a scale format that has one, and so on."""
    field = field_of(plan)
    if category == "nan_scale":
        return field.scale is not None and bool(field.scale.nan)
    if category == "elem_special":
        return cases_dot_edges.special_elements(field)
    if category == "scale_signbit":
        return field.scale is not None and field.scale.unused > 0
    return True


def rows(category: str, plan: DatapathPlan, count: int, start: int = 0) -> list[DotRow]:
    """Return rows start .. start + count - 1 of a category: one instruction each, `chain` eight.

    The same for a plan's name everywhere; any split gives the same rows.   Raises: KeyError (unknown category).
    """
    field, stream = field_of(plan), philox.stream_of(f"dot/{plan.name}/{category}")
    return [_row(category, field, Draw(stream, number)) for number in range(start, start + count)]


def _row(category: str, field: Field, draw: Draw) -> DotRow:
    if category != "chain":
        return MAKERS[category](field, draw).case()
    parts = [MAKERS[draw.of(CHAINED)](field, draw) for _ in range(CHAIN)]
    return cases_dot_spread.chain(parts).case()


@bounded(64)
def field_of(plan: DatapathPlan) -> Field:
    """Return the operands of a plan."""
    return Field(plan)
