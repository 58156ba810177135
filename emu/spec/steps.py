"""Levels that are a chain of fused steps: the facts of one step, and back.

The matrix units that are known today add the products of one step at once, with C, and round once. Files say that in levels, as they say
everything. Here the facts of such a step (DatapathFacts) are read out of the levels; what is read is said in levels again, and only where
that is the file, word by word, is it taken. So a word that nobody read cannot be lost. Engines have a quick way for such steps, with
stages that have names; every other datapath goes level by level, and gives the same bits.
"""

from __future__ import annotations

from typing import Any

from emu.spec.ieee import direction
from emu.spec.models import Datapath
from emu.spec.models.datapath import Accumulator, DatapathFacts, LateC, PromoteFacts
from emu.spec.models.levels import DatapathLevels, FixedHold, FloatHold, Level
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get

Words = dict[str, Any]


def step_facts(levels: DatapathLevels) -> DatapathFacts | None:
    """Return the facts of one fused step that levels say, or None where they say something else.

    Not judged here: whether a step of these facts can be (emu.spec.checks.datapath).
    """
    read = _read(levels)
    try:
        found = None if read is None else DatapathFacts.model_validate(read)
        return found if found is not None and _plain(level_facts(found)) == _plain(levels) else None
    except ValueError:  # there is no such step, or levels do not say it
        return None


def level_facts(facts: DatapathFacts) -> DatapathLevels:
    """Return the facts of one fused step in levels. Raises: ValueError (of a step that levels do not say)."""
    if facts.special.zero == "ieee" and facts.promote == "none":
        raise ValueError("special.zero: levels have no step whose sums cancel to +0 and whose vanished results keep their sign")
    if facts.late_c == "add" and facts.subnormal.c == "flush":
        raise ValueError("subnormal.c: levels do not read the rounded sum of a step as C is read")
    if facts.special.nan_scale == "live" and facts.promote != "none":
        raise ValueError("special.nan_scale: a step that promotes multiplies by a NaN scale always")
    if facts.special.zero == "plus" and facts.promote != "none":
        raise ValueError("special.zero: a step that promotes keeps the signs of zeros as IEEE 754 has them")
    held = {
        "format": facts.d, "rounding": facts.round.mode, "overflow": facts.round.overflow, "subnormals": facts.subnormal.result,
        "keep": _keep(facts.d, facts.round.keep),
    }  # fmt: skip
    promoted = isinstance(facts.promote, PromoteFacts)
    words: Words = {
        "a": facts.a, "b": facts.b, "pairs": facts.pairs, "c": facts.c, "k": facts.k, "levels": _levels(facts, held),
        "out": held | {"plus": "c"} if isinstance(facts.accumulator, Accumulator) else {"format": facts.d},
        "special": facts.special.model_dump() | {"when": "per_add" if promoted else "once"},
        "subnormal": facts.subnormal.model_dump(exclude={"result"}),
    }  # fmt: skip
    if facts.scale.apply != "none":
        words["scale"] = facts.scale.model_dump(exclude={"apply"})
    if facts.scale.apply == "product":
        words["products"] = {"scale": {}}
    if facts.epilogue != "none":
        words["epilogue"] = facts.epilogue
    return DatapathLevels.model_validate(words)


def in_levels(model: Datapath) -> Datapath:
    """Return a datapath with its facts in levels, as a file says them; one that is not known as it is."""
    return model.model_copy(update={"facts": level_facts(model.facts)}) if isinstance(model.facts, DatapathFacts) else model


# From the facts of a step to levels.


def _levels(facts: DatapathFacts, held: Words) -> tuple[Words, ...]:
    """The levels: groups, then what joins the terms of a step, then the chain of steps."""
    if isinstance(facts.late_c, LateC):
        return _interleaved(facts, facts.late_c, held)
    if isinstance(facts.promote, PromoteFacts):
        return _promoted(facts, facts.promote)
    group: Words = {"id": "grp", "of": facts.group, "add": "exact", "cancelled_counts": facts.align.cancelled_group_counts, "scale": {}}
    below = (group,) if facts.scale.apply == "group" else ()
    by = 1 if facts.step == facts.group else int(facts.step) // int(facts.group)
    if isinstance(facts.accumulator, Accumulator):
        register = {"bits": facts.accumulator.bits, "unit_exp": "derived", "overflow": facts.accumulator.overflow}
        return (*below, {"id": "k", "of": "all", "add": "chain", "by": by, "start": "zero", "hold": register})
    if facts.late_c == "add":
        step = {"id": "step", "of": by, "add": "exact", "hold": held}
        return (*below, step, {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held})
    chain: Words = {"id": "k", "of": "all", "add": "chain", "by": by, "start": "c", "hold": held}
    if facts.align.fraction_bits != "exact":
        align = facts.align
        chain["align"] = {
            "exponent": align.exponent, "exponent_raise": align.exponent_raise, "cut": align.rounding, "floor": align.floor,
            "fraction_bits": "derived" if align.fraction_bits == "exact_products" else align.fraction_bits,
            "integer_bits": align.integer_bits, "beyond": align.beyond,
        }  # fmt: skip
    return (*below, chain)


def _interleaved(facts: DatapathFacts, late: LateC, held: Words) -> tuple[Words, ...]:
    """Interleaved parts, joined, then C at a second alignment. E is at least the exponent that a zero C names, the least one."""
    assert isinstance(facts.step, int)
    first = {"fraction_bits": facts.align.fraction_bits, "integer_bits": "none"}
    step: Words = {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held}
    step["align"] = {
        "fraction_bits": late.f2, "integer_bits": "none", "cut": "rd", "floor": reach(get("format", facts.c)).min_exp,
        "running": {"fraction_bits": facts.align.fraction_bits, "cut": "rd", "drop_below": late.drop_below},
    }  # fmt: skip
    return (
        {"id": "part", "of": facts.step // facts.split, "take": {"every": facts.split}, "add": "aligned", "align": first | {"cut": "rz"}},
        {"id": "join", "of": facts.split, "add": "aligned", "align": first | {"cut": "rd"}},
        step,
    )


def _promoted(facts: DatapathFacts, words: PromoteFacts) -> tuple[Words, ...]:
    """A block exactly, times the rounded product of both scales, into a running value."""
    held = {"format": facts.d, "overflow": "ieee"}
    term = "exact" if words.fused == "yes" else held | {"rounding": words.term}
    scale = {"product": held | {"rounding": words.scale_product}, "term": term}
    return (
        {"id": "blk", "of": "block", "add": "exact", "scale": scale},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held | {"rounding": words.acc}},
    )


def _keep(fmt: str, keep: int) -> int | None:
    """Fraction bits that are kept, None for all that the format has."""
    return None if keep == frac_bits_of(get("format", fmt)) else keep


# From levels to the facts of a step: what they would be, if the levels were one.


def _read(levels: DatapathLevels) -> Words | None:
    last = levels.levels[-1]
    scale = levels.offered
    promoted = levels.special.when == "per_add"
    grouped = scale is not None and levels.products.scale == "none"
    apply = "none" if scale is None else "product" if not grouped else "promote" if promoted else "group"
    words: Words = {
        "a": levels.a, "b": levels.b, "pairs": levels.pairs, "c": levels.c, "d": levels.out.format, "k": levels.k,
        "scale": {"apply": apply} | ({} if scale is None else scale.model_dump()),
        "special": levels.special.model_dump(exclude={"when"}),
        "subnormal": levels.subnormal.model_dump(),
        "epilogue": levels.epilogue or "none",
        "align": {"include_c": "no", "fraction_bits": "exact", "integer_bits": "none", "floor": "none"},
    }  # fmt: skip
    if last.start == "zero" and isinstance(last.hold, FixedHold):
        words["accumulator"] = {"bits": last.hold.bits, "overflow": last.hold.overflow}
        return _sized(words, levels, levels.out, last.by or 1)
    if not isinstance(last.hold, FloatHold) or last.start != "c":
        return None
    if promoted:
        return _read_promote(words, levels, last.hold)
    if last.align is None:
        below = levels.levels[-2] if len(levels.levels) > 1 else last
        if below.hold != "exact" and isinstance(below.of, int):
            return _sized(words | {"late_c": "add"}, levels, last.hold, below.of)
        words["align"]["include_c"] = "yes"
        return _sized(words, levels, last.hold, last.by or 1)
    if last.align.cuts_running is not None:
        return _read_interleaved(words, levels, last, last.hold)
    told = last.align.model_dump(exclude={"running", "cut"})
    told |= {"include_c": "yes", "rounding": last.align.cut}
    words["align"] = told | ({"fraction_bits": "exact_products"} if told["fraction_bits"] == "derived" else {})
    return _sized(words, levels, last.hold, last.by or 1)


def _sized(words: Words, levels: DatapathLevels, rounded: FloatHold, by: int) -> Words | None:
    """Add the size of a step and of a group, and how a step is rounded. by: groups of a step."""
    first = levels.levels[0]
    group = first.of if words["scale"]["apply"] == "group" else 1
    if group == "all" or (group == "block" and by != 1):
        return None
    words["align"]["cancelled_group_counts"] = first.cancelled_counts if words["scale"]["apply"] == "group" else "yes"
    return words | {"group": group, "step": group if by == 1 else int(group) * by} | _rounded(words, rounded)


def _rounded(words: Words, hold: FloatHold) -> Words:
    keep = frac_bits_of(get("format", words["d"])) if hold.keep is None else hold.keep
    words["subnormal"]["result"] = hold.subnormals
    return {"round": {"mode": hold.rounding, "keep": keep, "overflow": hold.overflow}}


def _read_promote(words: Words, levels: DatapathLevels, running: FloatHold) -> Words | None:
    scale = levels.levels[0].scale
    if isinstance(scale, str) or not isinstance(scale.product, FloatHold):
        return None
    fused = not isinstance(scale.term, FloatHold)
    term = running.rounding if fused else getattr(scale.term, "rounding", None)
    words["promote"] = {"scale_product": scale.product.rounding, "term": term, "acc": running.rounding, "fused": "yes" if fused else "no"}
    return words | {"step": "block", "group": "block"} | _rounded(words, running.model_copy(update={"overflow": "inf"}))


def _read_interleaved(words: Words, levels: DatapathLevels, last: Level, hold: FloatHold) -> Words | None:
    first = levels.levels[0]
    running = None if last.align is None else last.align.cuts_running
    if last.align is None or running is None or first.align is None or not isinstance(first.of, int):
        return None
    words["align"] |= {"fraction_bits": first.align.fraction_bits}
    words["late_c"] = {"f2": last.align.fraction_bits, "drop_below": running.drop_below}
    return words | {"step": first.of * first.take.every, "group": 1, "split": first.take.every} | _rounded(words, hold)


# Words without what has no meaning: names of levels, and what is said where it would hold unsaid.


def _plain(levels: DatapathLevels) -> Words:
    words = levels.model_dump()
    for number, level in enumerate(words["levels"]):
        level["id"] = str(number)
        level["by"] = None if level["by"] == 1 else level["by"]
        align = level["align"] or {}
        for cut in (align, align.get("running")):
            if isinstance(cut, dict) and cut:
                cut["cut"] = direction(get("rounding", cut["cut"])) or cut["cut"]  # a rounding of the same facts is the same
    last, out = levels.levels[-1].hold, levels.out
    if isinstance(last, FloatHold) and out.model_dump(exclude={"plus"}) == last.model_dump():
        words["out"] = type(out)(format=out.format).model_dump()  # what is held so is not changed by it
    for hold in (words["out"], *(level["hold"] for level in words["levels"])):
        if "keep" in hold and hold["keep"] is not None:
            hold["keep"] = _keep(hold["format"], hold["keep"])
    return words
