"""The derived widths of a datapath, one row per choice of operands; choices with the same widths share a row."""

from __future__ import annotations

from emu.spec import Datapath
from emu.spec.datapath import DatapathPlan, plans_of, resolve

HEADER = (
    "A x B",
    "scales",
    "product: bits, unit",
    "group sum",
    "term",
    "exact sum: bits, unit",
    "F",
    "I",
    "adder",
    "floor",
    "needs F",
    "exact",
    "int64 K",
)


def choices(datapath: Datapath) -> list[DatapathPlan]:
    """Return every choice of operands that a datapath takes, in the order of its file."""
    return list(plans_of(datapath))


def exact_frac_bits(plan: DatapathPlan) -> int:
    """Return the fraction bits that make the product sum exact: what the loader derives for fraction_bits exact_products."""
    facts = plan.facts
    align = facts.align.model_copy(update={"fraction_bits": "exact_products"})
    other = plan.datapath.model_copy(update={"facts": facts.model_copy(update={"align": align})})
    found = resolve(other, plan.a, plan.b, plan.scale, plan.block or None).frac_bits
    assert found is not None
    return found


def exact_while(plan: DatapathPlan) -> str:
    """Say whether the product sum of a step is exact: yes, or up to which E."""
    if plan.frac_bits is None:
        return "yes"
    wraps = plan.integer_bits is not None and plan.integer_bits < plan.integer_bits_needed
    whole = ", until it wraps" if wraps else ""
    if plan.frac_bits >= exact_frac_bits(plan):
        return f"yes{whole}"
    return f"while E <= {plan.frac_bits + plan.widths.step_sum_lsb_exp}{whole}"


def width_table(plans: list[DatapathPlan]) -> tuple[list[str], list[list[str]], range]:
    """Return head, rows and columns of numbers; columns that hold nothing are left out."""
    rows: dict[tuple[str, ...], list[DatapathPlan]] = {}
    for plan in plans:
        rows.setdefault(_cells(plan), []).append(plan)
    shown = [(*_names(members), *cells) for cells, members in rows.items()]
    keep = [number for number in range(len(HEADER)) if any(cells[number] for cells in shown)]
    return [HEADER[number] for number in keep], [[cells[number] for number in keep] for cells in shown], range(2, len(keep))


def _cells(plan: DatapathPlan) -> tuple[str, ...]:
    widths = plan.widths
    adder = plan.frac_bits is not None
    return (
        f"{widths.product_bits}, 2^{widths.product_lsb_exp}",
        str(widths.group_sum_bits) if plan.group > 1 else "",
        str(widths.term_bits) if plan.scale is not None and plan.facts.promote == "none" else "",
        f"{widths.step_sum_bits}, 2^{widths.step_sum_lsb_exp}" if plan.facts.promote == "none" else "",
        str(plan.frac_bits) if adder else "",
        str(plan.integer_bits) if adder and plan.integer_bits is not None else "",
        f"{plan.adder_bits}" if plan.adder_bits is not None else "",
        str(plan.floor) if plan.floor is not None else "",
        str(exact_frac_bits(plan)) if adder else "",
        exact_while(plan) if adder and plan.late_c is None else "",
        str(widths.largest_int64_k) if plan.facts.promote == "none" else "",
    )


def _names(members: list[DatapathPlan]) -> tuple[str, str]:
    """Return the operand pairs and scales of the plans that share a row; a pair stands for both orders."""
    found = [tuple(sorted((plan.a.id, plan.b.id))) for plan in members]
    given = dict.fromkeys(found)
    scales = dict.fromkeys(
        plan.scale.id + (f" per {plan.block}" if len({item.block for item in members}) == 1 else "") for plan in members if plan.scale
    )
    return ", ".join(f"{a} x {b}" for a, b in given), ", ".join(scales)
