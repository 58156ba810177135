"""The page of a datapath: what it computes, stages with their widths, rules, derived widths, special values and a worked step."""

from __future__ import annotations

from emu.base.errors import OpenError
from emu.docgen.frame import Context, Writer, plain
from emu.docgen.markdown import fence, link, table
from emu.docgen.pages.datapath_stages import formula, stages, window
from emu.docgen.pages.datapath_widths import choices, width_table
from emu.docgen.pages.datapath_worked import special_rows, witnesses, worked_step
from emu.spec import Datapath
from emu.spec.datapath import DatapathPlan, known_facts
from emu.spec.models.datapath import DatapathFacts, EpilogueFacts, LateC, PromoteFacts, UnknownFacts

_WIDTHS = (
    "Computed from all codes of the formats, never typed. Bits are without the sign; *unit* is the weight of the lowest bit.",
    "*Exact sum*: one step's products in fixed point over the whole range of the scales. *int64 K*: the largest K whose exact sum fits",
    "64 bits whatever the values are; 0: not even one group.",
)
_ADDER = (
    "F, I: fraction and integer bits of the adder, which has F + I + 1. *Needs F*: the fraction bits that make the product sum exact.",
    "*Exact*: does this datapath keep every product bit; a larger C raises E, and then only F bits below it are left. C is always cut.",
)


def body(datapath: Datapath, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = datapath.facts
    lines = (
        [f"Based on {link('datapath', datapath.based_on)}: its facts hold where this file says nothing else.", ""]
        if datapath.based_on
        else []
    )
    if isinstance(facts, UnknownFacts):
        return [*lines, "## Unknown", "", f"{facts.unknown[0].upper()}{facts.unknown[1:]}.", "", "Every use of this datapath is refused."]
    try:
        known_facts(datapath)
    except OpenError as error:
        return [*lines, "## Refused", "", f"`{error}`", "", "## Facts", "", *fence(plain(datapath.facts_json()))]
    plans = choices(datapath)
    lines += ["## What it computes", "", *fence(formula(plans[0])), "", *_operands(facts)]
    lines += ["", "## Stages", "", *_stages(plans[0])]
    lines += [
        "",
        "## Rules",
        "",
        *table(("rule", "here"), _rules(facts)),
        "",
        "## Derived widths",
        "",
        *_WIDTHS,
        *(() if plans[0].frac_bits is None else _ADDER),
        "",
        *width_table(plans),
    ]
    lines += ["", "## Special values", "", *special_rows(plans[0]), "", "## One step, worked", "", *worked_step(datapath, plans[0])]
    return lines


def _stages(plan: DatapathPlan) -> list[str]:
    """Return the drawing of the stages, and of the adder where it has a width."""
    scales = f" with {plan.scale.id} scales" if plan.scale else ""
    lines = [f"For {plan.a.id} x {plan.b.id}{scales}:", "", *fence(stages(plan))]
    drawn = window(plan)
    if drawn:
        lines += ["", "The adder, with the largest term and a C that both have the exponent E:", "", *fence(drawn)]
    return lines


def _operands(facts: DatapathFacts) -> list[str]:
    def names(ids: tuple[str, ...]) -> str:
        return ", ".join(link("format", name) for name in ids)

    register = facts.accumulator != "none"
    chain, through = ("C is added once, after the last step", "one register") if register else ("D of one step is C of the next", "D")
    several = len(facts.a) * len(facts.b) > 1
    pairs = {"any": ", in any combination" if several else "", "equal": ", both of the same format"}
    how = pairs[facts.pairs] if isinstance(facts.pairs, str) else ", in the pairs " + ", ".join(f"{a} x {b}" for a, b in facts.pairs)
    rows = [
        ("A", names(facts.a)),
        ("B", f"{names(facts.b)}{how}"),
        ("C, D", f"{link('format', facts.c)}; {chain}"),
    ]
    if facts.scale.formats:
        *firsts, last = (str(block) for block in facts.scale.blocks)
        blocks = f"{', '.join(firsts)} or {last}" if firsts else last
        unused = "; a set bit above its code is ignored" if facts.scale.unused_bits == "ignore" else ""
        rows.append(("scales of A and B", f"{names(facts.scale.formats)}, one per {blocks} elements of K{unused}"))
    rows.append(("products of one instruction", f"{facts.k}; a longer K is a chain of instructions through {through}"))
    return table(("operand", "format"), rows)


def _rules(facts: DatapathFacts) -> list[tuple[str, str]]:
    align, sub = facts.align, facts.subnormal
    flushed = [name for name in ("elements", "scales", "c") if getattr(sub, name) == "flush"]
    rows = [
        ("subnormal operands", f"{', '.join(flushed)} read as zero, the others kept" if flushed else "kept: elements, scales and C"),
        ("subnormal results", sub.result),
        (
            "overflow of the result",
            "Inf of the sign, in every rounding mode" if facts.round.overflow == "inf" else "stops at the largest number",
        ),
        ("sign of zero", "every zero result is +0, also what a rounding vanished to" if facts.special.zero == "plus" else "as in IEEE 754"),
        (
            "NaN result",
            "some NaN; only the class is known"
            if facts.special.nan == "any"
            else f"always `{facts.special.nan}`: payload and sign are lost",
        ),
    ]
    if facts.scale.formats:
        where = (
            "always, also over a block of zeros"
            if facts.special.nan_scale == "always"
            else "only where its block has a product that is not zero"
        )
        rows.append(("NaN scale", f"gives NaN: {where}"))
    if align.fraction_bits != "exact" and facts.scale.apply == "group":
        counts = "raises E as if it were not 0" if align.cancelled_group_counts == "yes" else "does not raise E"
        rows.append(("group of non-zero products whose sum is 0", counts))
    if align.fraction_bits != "exact":
        rows.append(("exponent of a term", _exponent(facts)))
    if align.beyond == "wrap":
        rows.append(("sum beyond the adder", "wraps in two's complement"))
    if isinstance(facts.epilogue, EpilogueFacts):
        rows.append(("epilogue", _epilogue(facts.epilogue)))
    else:
        rows.append(("tensor scales and C afterwards", "not stated: the caller names alpha, place and rounding"))
    return rows


def _exponent(facts: DatapathFacts) -> str:
    align = facts.align
    whose = "its scales' codes" if facts.scale.apply == "group" else "its codes"
    text = (
        f"the sum of the exponents that {whose} name (a subnormal names the lowest); not normalised"
        if align.exponent == "nominal"
        else "that of its leading bit"
    )
    return f"{text}; raised by {align.exponent_raise}" if align.exponent_raise else text


def _epilogue(epilogue: EpilogueFacts) -> str:
    place = "C goes into the dot product" if epilogue.c_place == "before" else "C is added after alpha"
    fused = ", one rounding for both" if epilogue.fused == "yes" else ""
    return f"alpha = scale a * scale b, rounded {epilogue.alpha}; alpha * D rounded {epilogue.d}; {place}{fused}"


def _oracle(datapath: Datapath) -> tuple[str, ...]:
    facts = datapath.facts
    if isinstance(facts, UnknownFacts):
        return ()
    found = [
        "datapath.dot",
        "datapath.fused_step",
        "datapath_special.special_result",
        "datapath_terms.terms_of",
        "datapath_terms.group_sum",
    ]
    if isinstance(facts.promote, PromoteFacts):
        return (*found[:3], "datapath_promote.promote_block", "datapath_terms.group_sum")
    if isinstance(facts.late_c, LateC):
        found += ["datapath_late.late_align", "datapath_late._part"]
    elif facts.late_c == "add":
        found.append("datapath_late.late_add")
    elif not isinstance(facts.accumulator, str):
        found.append("datapath._accumulate")
    else:
        found.append("datapath._exact_step" if facts.align.fraction_bits == "exact" else "datapath._aligned_step")
    return (*found, "datapath_round.shift", "datapath_round.round_sum")


WRITER = Writer(body, _oracle, witnesses)
