"""The page that compares all datapaths: parameters and derived widths side by side."""

from __future__ import annotations

from typing import Any

from emu.base.errors import OpenError
from emu.pages.datapath_widths import choices, exact_frac_bits, exact_while
from emu.pages.render import Links, Ref, render
from emu.spec import Datapath, get, names
from emu.spec.datapath import DatapathPlan
from emu.spec.models.datapath import DatapathFacts
from emu.spec.reach import frac_bits_of

WIDTHS_OF = "nv_like"


def comparison_page() -> str:
    """Return the page."""
    known, refused = [], []
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        try:
            known.append(_row(model, choices(model)))
        except OpenError as error:
            refused.append((Ref("datapath", name), model.status, str(error).partition(": ")[2]))
    widths = _by_operands(get("datapath", WIDTHS_OF)) if WIDTHS_OF in names("datapath") else None
    return render("datapaths", Links(""), known=known, refused=refused, widths=widths)


def _row(model: Datapath, plans: list[DatapathPlan]) -> tuple[Any, ...]:
    facts = model.facts
    assert isinstance(facts, DatapathFacts)
    pairs = list(dict.fromkeys(f"{plan.a.id} x {plan.b.id}" for plan in plans))
    scales = facts.scale.formats
    return (
        Ref("datapath", model.id),
        model.status,
        pairs[0] if len(pairs) == 1 else f"{len(pairs)} pairs of {', '.join(dict.fromkeys((*facts.a, *facts.b)))}",
        f"{facts.scale.apply}: {', '.join(scales)} per {', '.join(str(block) for block in facts.scale.blocks)}" if scales else "",
        f"{facts.k} / {_span([plan.step for plan in plans])}",
        _span([plan.group for plan in plans]),
        "exact" if plans[0].frac_bits is None else _span([plan.frac_bits for plan in plans]),
        _span([plan.integer_bits for plan in plans]),
        _span([plan.adder_bits for plan in plans]),
        _span([plan.floor for plan in plans]),
        facts.round.mode,
        f"{facts.round.keep} of {frac_bits_of(plans[0].d)} bits, {facts.d}",
        _addend(facts),
        _exact(plans),
    )


def _span(numbers: list[int | None]) -> str:
    found = sorted({number for number in numbers if number is not None})
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _addend(facts: DatapathFacts) -> str:
    if facts.promote != "none":
        return "first, each block in binary32"
    if facts.accumulator != "none":
        return "after the whole of K"
    if facts.late_c != "none":
        return "late: P rounded first" if facts.late_c == "add" else "late: a second alignment"
    return "one of the terms"


def _exact(plans: list[DatapathPlan]) -> str:
    if plans[0].late_c is not None:
        return "no"
    said = list(dict.fromkeys(exact_while(plan) for plan in plans))
    return said[0] if len(said) == 1 else "depends"


def _by_operands(model: Datapath) -> list[tuple[Any, ...]]:
    """Return the widths of every pair of elements with UE4M3 scales, both orders in one row."""
    rows: dict[str, tuple[int, ...]] = {}
    for plan in choices(model):
        if plan.scale is not None and plan.scale.id == "ue4m3" and plan.block == plan.group:
            needs, widths = exact_frac_bits(plan), plan.widths
            cells = (widths.product_bits, widths.group_sum_bits, widths.term_bits, plan.integer_bits_needed, needs)
            pair = " x ".join(sorted((plan.a.id, plan.b.id)))
            rows[pair] = (*cells, needs + plan.integer_bits_needed + 1, widths.step_sum_bits + 1, widths.largest_int64_k)
    return [(pair, *cells) for pair, cells in rows.items()]
