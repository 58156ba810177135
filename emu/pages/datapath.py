"""The page of a datapath: what it computes, stages with their widths, rules, derived widths, special values and a worked step."""

from __future__ import annotations

from typing import Any

from emu.base.errors import OpenError
from emu.pages import datapath_levels
from emu.pages.datapath_stages import formula, stages, window
from emu.pages.datapath_widths import choices, width_table
from emu.pages.datapath_worked import examples, special_rows, worked_step
from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref
from emu.spec import Datapath
from emu.spec.datapath import known_facts
from emu.spec.models.datapath import DatapathFacts, LateC, PromoteFacts, UnknownFacts
from emu.spec.models.levels import DatapathLevels, EpilogueFacts


def data(datapath: Datapath) -> Data:
    """Return what the template shows; of a datapath that is not known only what is said of it."""
    facts = datapath.facts
    shown: Data = {"unknown": None, "refused": None, "levels": None, **examples(datapath)}
    if isinstance(facts, UnknownFacts):
        return {**shown, "unknown": f"{facts.unknown[0].upper()}{facts.unknown[1:]}"}
    try:
        if isinstance(facts, DatapathLevels):
            return {**shown, **datapath_levels.data(datapath)}
        known_facts(datapath)
    except OpenError as error:
        return {**shown, "refused": str(error), "facts": datapath_levels.datapath_words(datapath)}
    plans = choices(datapath)
    return shown | {
        "first": plans[0],
        "formula": formula(plans[0]),
        "operands": _operands(facts),
        "facts": datapath_levels.datapath_words(datapath),
        "stages": stages(plans[0]),
        "window": window(plans[0]),
        "rules": _rules(facts),
        "widths": width_table(plans),
        "specials": special_rows(plans[0]),
        "step": worked_step(datapath, plans[0]),
    }


def _operands(facts: DatapathFacts) -> list[tuple[str, Any]]:
    def formats(ids: tuple[str, ...]) -> list[Ref]:
        return [Ref("format", name) for name in ids]

    register = facts.accumulator != "none"
    chain, through = ("C is added once, after the last step", "one register") if register else ("D of one step is C of the next", "D")
    several = len(facts.a) * len(facts.b) > 1
    pairs = {"any": ", in any combination" if several else "", "equal": ", both of the same format"}
    how = pairs[facts.pairs] if isinstance(facts.pairs, str) else ", in the pairs " + ", ".join(f"{a} x {b}" for a, b in facts.pairs)
    rows: list[tuple[str, Any]] = [
        ("A", formats(facts.a)),
        ("B", (formats(facts.b), how)),
        ("C, D", (Ref("format", facts.c), f"; {chain}")),
    ]
    if facts.scale.formats:
        *firsts, last = (str(block) for block in facts.scale.blocks)
        blocks = f"{', '.join(firsts)} or {last}" if firsts else last
        unused = "; a set bit above its code is ignored" if facts.scale.unused_bits == "ignore" else ""
        rows.append(("scales of A and B", (formats(facts.scale.formats), f", one per {blocks} elements of K{unused}")))
    rows.append(("products of one instruction", f"{facts.k}; a longer K is a chain of instructions through {through}"))
    return rows


def _rules(facts: DatapathFacts) -> list[tuple[str, Any]]:
    align, sub = facts.align, facts.subnormal
    flushed = [name for name in ("elements", "scales", "c") if getattr(sub, name) == "flush"]
    rows: list[tuple[str, Any]] = [
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
            else ("always ", Code(facts.special.nan), ": payload and sign are lost"),
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
        rows.append(("epilogue", datapath_levels.epilogue_text(facts.epilogue)))
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


def _functions(datapath: Datapath) -> tuple[str, ...]:
    facts = datapath.facts
    if isinstance(facts, DatapathLevels):
        return ("levels.dot", "levels.exact_sum", "levels.multiply", "levels.shifted")
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


WRITER = Writer("datapath", data, _functions)
