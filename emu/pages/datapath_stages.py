"""What a datapath computes as a formula, and its stages as a drawing with the widths that follow for one choice of operands."""

from __future__ import annotations

from emu.pages.render import plural
from emu.spec.datapath import DatapathPlan
from emu.spec.models.datapath import PromoteFacts
from emu.spec.reach import frac_bits_of


def formula(plan: DatapathPlan) -> list[str]:
    """Return the sum in one or a few lines, in the words of the stages."""
    facts = plan.facts
    rounded = f"round to {facts.d}, {facts.round.mode}" + (
        f", {facts.round.keep} fraction bits" if facts.round.keep < frac_bits_of(plan.d) else ""
    )
    steps = facts.k // plan.step
    chain = f"{steps} fused steps of {plan.step} products, each: " if steps > 1 else f"one fused step of {plan.step} products: "
    if isinstance(facts.promote, PromoteFacts):
        return _promote(plan, facts.promote)
    if facts.scale.apply == "group":
        groups, inner = plan.step // plan.group, f"scale_a * scale_b * sum over {plan.group} of a[k] * b[k]"
        terms = f"sum over {groups} groups of ({inner})" if groups > 1 else inner
    elif facts.scale.apply == "product":
        terms = f"sum over {plan.step} of (a[k] * b[k] * scale_a * scale_b)"
    else:
        terms = f"sum over {plan.step} of a[k] * b[k]"
    if plan.accumulator is not None:
        return [
            f"acc = acc + {terms}        exact, {plan.accumulator.bits}-bit register through the whole of K, from 0",
            f"D = {rounded}: acc + C",
        ]
    if facts.late_c == "add":
        return [chain, f"    P = {rounded}: {terms}", f"    D = {rounded}: P + C"]
    late = "        aligned in stages, C last: see below"
    lost = late if plan.late_c is not None else "" if plan.frac_bits is None else "        terms cut to the adder's bits first"
    return [chain, f"    D = {rounded}: C + {terms}{lost}"]


def _promote(plan: DatapathPlan, facts: PromoteFacts) -> list[str]:
    last = f"acc = fma(P, s, acc)        rounded once, {facts.acc}" if facts.fused == "yes" else f"t = P * s        rounded {facts.term}"
    lines = [
        "acc = C; for each block, ascending:",
        f"    P = sum over {plan.group} of a[k] * b[k]        exact",
        f"    s = scale_a * scale_b        rounded {facts.scale_product}",
    ]
    lines.append(f"    {last}")
    if facts.fused == "no":
        lines.append(f"    acc = acc + t        rounded {facts.acc}")
    return [*lines, f"D = acc        all roundings to {plan.facts.d}"]


def stages(plan: DatapathPlan) -> list[str]:
    """Return the drawing: one box per stage, its width at the right."""
    facts, widths = plan.facts, plan.widths
    unit = f"unit 2^{widths.product_lsb_exp}" if _fixed(plan) else f"unit 2^{widths.product_lsb_exp} below its exponent"
    boxes = [(f"{plan.step} products a * b, exact", f"{widths.product_bits} bits + sign, {unit}")]
    if plan.group > 1:
        boxes.append((f"add {plan.group}, exact: {plural(plan.step // plan.group, 'group sum')}", f"{widths.group_sum_bits} bits + sign"))
    if isinstance(facts.promote, PromoteFacts):
        return _drawn([*boxes, *_promote_boxes(plan, facts.promote)])
    if plan.scale is not None:
        what = "groups" if facts.scale.apply == "group" else "products"
        boxes.append((f"times scale_a * scale_b, exact: {what} become terms", f"{widths.term_bits} bits + sign, exponents apart"))
    if plan.late_c is not None:
        boxes += _late_boxes(plan)
    elif plan.accumulator is not None:
        boxes.append(
            (
                f"add to the {plan.accumulator.bits}-bit register; overflow is refused",
                f"unit 2^{widths.step_sum_lsb_exp}; no overflow to K = {plan.largest_k}",
            )
        )
        boxes.append(("at the end of K: add C, exact", f"unit 2^{plan.exact_lsb_exp}"))
    elif plan.frac_bits is None:
        boxes += _exact_boxes(plan)
    else:
        boxes += _aligned_boxes(plan)
    keep = "" if facts.round.keep == frac_bits_of(plan.d) else f", lowest {frac_bits_of(plan.d) - facts.round.keep} zero"
    boxes.append((f"round to {facts.d}, {facts.round.mode}: D", f"{facts.round.keep} fraction bits kept{keep}"))
    return _drawn(boxes)


def _fixed(plan: DatapathPlan) -> bool:
    return plan.facts.scale.apply in ("group", "promote")


def _aligned_boxes(plan: DatapathPlan) -> list[tuple[str, str]]:
    assert plan.frac_bits is not None
    floor = f", and {plan.floor}" if plan.floor is not None else ""
    count = plan.step // plan.group if plan.facts.scale.apply == "group" else plan.step
    bits = (
        "no limit stated"
        if plan.adder_bits is None
        else f"{plan.adder_bits} bits: sign, {plan.integer_bits} integer, {plan.frac_bits} fraction"
    )
    return [
        (f"E = largest exponent of the live terms, C{floor}", "live: not zero"),
        (f"shift all to the unit 2^(E - {plan.frac_bits}), bits below: {plan.facts.align.rounding}", "rz: on the magnitude"),
        (f"add {plural(count, 'term')} and C", bits),
    ]


def _exact_boxes(plan: DatapathPlan) -> list[tuple[str, str]]:
    widths = plan.widths
    exact = ("add all terms, exact", f"{widths.step_sum_bits} bits + sign, unit 2^{widths.step_sum_lsb_exp}")
    if plan.facts.late_c == "add":
        return [exact, (f"round to {plan.facts.d}, {plan.facts.round.mode}: P", ""), ("add C, exact", "")]
    return [exact, ("add C, exact", f"unit 2^{plan.exact_lsb_exp}")]


def _late_boxes(plan: DatapathPlan) -> list[tuple[str, str]]:
    assert plan.late_c is not None
    split, f2, drop = plan.facts.split, plan.late_c.f2, plan.late_c.drop_below
    return [
        (f"{split} parts, k mod {split}: each to its own largest exponent, cut: rz", f"{plan.frac_bits} fraction bits"),
        ("join the parts at the larger exponent, cut: rd", f"{plan.frac_bits} fraction bits"),
        (f"E = larger exponent of parts and C; C dropped below E - {drop}", f"C cut: rd, {plan.frac_bits} fraction bits"),
        ("add C at the unit 2^(E - " + f"{f2}), cut: rd", f"{f2} fraction bits"),
    ]


def _promote_boxes(plan: DatapathPlan, facts: PromoteFacts) -> list[tuple[str, str]]:
    d = plan.facts.d
    boxes = [(f"s = scale_a * scale_b, rounded to {d}, {facts.scale_product}", "")]
    if facts.fused == "yes":
        return [*boxes, (f"acc = P * s + acc, rounded once to {d}, {facts.acc}", "")]
    return [*boxes, (f"t = P * s, rounded to {d}, {facts.term}", ""), (f"acc = acc + t, rounded to {d}, {facts.acc}", "")]


def _drawn(boxes: list[tuple[str, str]]) -> list[str]:
    """Draw boxes below one another, widths at the right."""
    wide = max(len(text) for text, _ in boxes) + 2
    rule = "+" + "-" * wide + "+"
    return [rule] + [line for text, width in boxes for line in (f"| {text.ljust(wide - 1)}|  {width}".rstrip(), rule)]


def window(plan: DatapathPlan) -> list[str]:
    """Draw the adder bit by bit, with a term and a C whose exponent is E: what they fill, and what is cut."""
    if plan.frac_bits is None or plan.integer_bits is None or plan.late_c is not None:
        return []
    top, low = plan.integer_bits - 1, -plan.frac_bits
    term_low = -(plan.product_frac_bits + plan.scale_frac_bits + _raised(plan))
    if plan.facts.scale.apply == "group":
        term_low += plan.product_exp
    rows = [("adder", f"S{'I' * plan.integer_bits}.{'F' * plan.frac_bits}", f"{plan.adder_bits} bits")]
    for name, first, last in (("term", term_low + plan.widths.term_bits - 1, term_low), ("C", 0, -frac_bits_of(plan.c))):
        cells = "".join(("x" if last <= bit <= first else " ") + ("." if bit == 0 else "") for bit in range(top, low - 1, -1))
        cut, over = max(low - last, 0), max(first - top, 0)
        notes = [f"{cut} low bits cut"] * bool(cut) + [f"{over} high bits do not fit"] * bool(over)
        rows.append((name, " " + cells, f"{first - last + 1} bits" + "".join(f", {note}" for note in notes)))
    header = ("", " " + f"2^(E+{top}) ".ljust(plan.integer_bits + 1) + f"2^(E-1) ... 2^(E-{plan.frac_bits})", "")
    return [
        f"{name:6} {cells.rstrip().ljust(plan.frac_bits + plan.integer_bits + 2)}  {note}".rstrip() for name, cells, note in (header, *rows)
    ]


def _raised(plan: DatapathPlan) -> int:
    raised = plan.facts.align.exponent_raise
    assert isinstance(raised, int)
    return raised
