"""A datapath of one fused step, said in levels: for comparing the two forms bit for bit. Nothing computes here."""

from __future__ import annotations

from typing import Any

from emu.spec.datapath import known_facts
from emu.spec.models import Datapath
from emu.spec.models.datapath import Accumulator, DatapathFacts, LateC, PromoteFacts
from emu.spec.models.levels import DatapathLevels


def lowered(model: Datapath) -> Datapath:
    """Return the same datapath with its facts in levels."""
    facts = known_facts(model)
    update = {"facts": DatapathLevels.model_validate(level_words(facts)), "id": f"{model.id}_levels"}
    return model.model_copy(update=update)


def level_words(facts: DatapathFacts) -> dict[str, Any]:
    """Return the words of levels for the words of one fused step."""
    held = {
        "format": facts.d, "rounding": facts.round.mode, "keep": facts.round.keep, "overflow": facts.round.overflow,
        "subnormals": facts.subnormal.result,
    }  # fmt: skip
    promote = isinstance(facts.promote, PromoteFacts)
    assert promote or facts.special.zero == "plus", "the other form has one more kind of zero"
    words: dict[str, Any] = {
        "a": facts.a, "b": facts.b, "pairs": facts.pairs, "c": facts.c, "k": facts.k, "levels": _levels(facts, held),
        "out": {"format": facts.d},
        "special": {
            "when": "per_add" if promote else "once", "nan": facts.special.nan,
            "nan_scale": facts.special.nan_scale, "zero": facts.special.zero,
        },
        "subnormal": {"elements": facts.subnormal.elements, "scales": facts.subnormal.scales, "c": facts.subnormal.c},
    }  # fmt: skip
    if isinstance(facts.accumulator, Accumulator):
        words["out"] = held | {"plus": "c"}
    if facts.scale.apply != "none":
        words["scale"] = {"formats": facts.scale.formats, "blocks": facts.scale.blocks, "unused_bits": facts.scale.unused_bits}
    if facts.epilogue != "none":
        words["epilogue"] = facts.epilogue
    if facts.scale.apply == "product":
        words["products"] = {"scale": {}}
    return words


def _levels(facts: DatapathFacts, held: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The levels: groups, then what joins the terms of a step, then the chain of steps."""
    if isinstance(facts.late_c, LateC):
        return _interleaved(facts, facts.late_c, held)
    if isinstance(facts.promote, PromoteFacts):
        return _promoted(facts, facts.promote)
    group = {"id": "grp", "of": facts.group, "add": "exact", "cancelled_counts": facts.align.cancelled_group_counts, "scale": {}}
    below = (group,) if facts.scale.apply == "group" else ()
    assert isinstance(facts.step, int) and isinstance(facts.group, int)
    by = facts.step // facts.group
    if isinstance(facts.accumulator, Accumulator):
        register = {"bits": facts.accumulator.bits, "unit_exp": "derived", "overflow": facts.accumulator.overflow}
        return (*below, {"id": "acc", "of": "all", "add": "chain", "by": by, "start": "zero", "hold": register})
    if facts.late_c == "add":
        step = {"id": "step", "of": by, "add": "exact", "hold": held}
        return (*below, step, {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held})
    chain = {"id": "k", "of": "all", "add": "chain", "by": by, "start": "c", "hold": held}
    if facts.align.fraction_bits != "exact":
        align = facts.align
        chain["align"] = {
            "exponent": align.exponent, "exponent_raise": align.exponent_raise, "cut": align.rounding, "floor": align.floor,
            "fraction_bits": "derived" if align.fraction_bits == "exact_products" else align.fraction_bits,
            "integer_bits": align.integer_bits, "beyond": align.beyond,
        }  # fmt: skip
    return (*below, chain)


def _interleaved(facts: DatapathFacts, late: LateC, held: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Interleaved parts, joined, then C at a second alignment. A zero C names its exponent there, which is the floor -126."""
    assert isinstance(facts.step, int)
    first = {"fraction_bits": facts.align.fraction_bits, "integer_bits": "none"}
    step = {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held}
    step["align"] = {
        "fraction_bits": late.f2, "integer_bits": "none", "cut": "rd", "floor": -126,
        "running": {"fraction_bits": facts.align.fraction_bits, "cut": "rd", "drop_below": late.drop_below},
    }  # fmt: skip
    return (
        {"id": "part", "of": facts.step // facts.split, "take": {"every": facts.split}, "add": "aligned", "align": first | {"cut": "rz"}},
        {"id": "join", "of": facts.split, "add": "aligned", "align": first | {"cut": "rd"}},
        step,
    )


def _promoted(facts: DatapathFacts, words: PromoteFacts) -> tuple[dict[str, Any], ...]:
    """A block exactly, times the rounded product of both scales, into a running value."""
    held = {"format": facts.d, "overflow": "ieee"}
    term = "exact" if words.fused == "yes" else held | {"rounding": words.term}
    scale = {"product": held | {"rounding": words.scale_product}, "term": term}
    return (
        {"id": "blk", "of": "block", "add": "exact", "scale": scale},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held | {"rounding": words.acc}},
    )
