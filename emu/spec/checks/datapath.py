"""Checks of a datapath against the formats it names: it must be able to hold every sum, or say that it cannot."""

from __future__ import annotations

from emu.base.errors import OpenError, SpecError
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, known_facts, pairs, plans_of
from emu.spec.ieee import direction, is_binary32, same_facts
from emu.spec.levels import check_levels
from emu.spec.models import Datapath, Format
from emu.spec.models.datapath import DatapathFacts, LateC, UnknownFacts
from emu.spec.models.format import ExponentFacts, FloatFacts
from emu.spec.models.levels import DatapathLevels
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get
from emu.spec.steps import step_facts


def check_datapath(model: Datapath) -> None:
    """Refuse a datapath that contradicts itself, overflows, or loses bits without saying so. Raises: SpecError."""
    if isinstance(model.facts, UnknownFacts):
        if model.status != "unknown" or not model.open:
            raise SpecError("unknown: needs status unknown and an open point that says what would settle it")
        return
    if isinstance(model.facts, DatapathLevels):
        check_levels(model)
        return
    _check_step(model)


def settled(model: Datapath) -> Datapath:
    """Return a datapath of levels that passed its checks with the facts of one fused step, where its levels say just such a step.

    Any other comes back as it is, and so does a step that the engines of fused steps do not take: it is computed level by level.
    """
    steps = step_facts(model.facts) if isinstance(model.facts, DatapathLevels) else None
    if steps is None:
        return model
    found = model.model_copy(update={"facts": steps})
    try:
        _check_step(found)
    except SpecError:
        return model
    return found


def _check_step(model: Datapath) -> None:
    """Check the facts of one fused step. Raises: SpecError."""
    assert isinstance(model.facts, DatapathFacts)
    _check_formats(model.facts)
    _check_rounding(model.facts)
    try:
        known_facts(model)
    except OpenError:
        if not model.open:
            raise SpecError("align: an open fact needs an open point that says what would settle it") from None
        return
    for plan in plans_of(model):
        check_plan(plan)


def _check_formats(facts: DatapathFacts) -> None:
    if not same_facts(get("format", facts.c), get("format", facts.d)):
        raise SpecError(f"c: {facts.c} and d {facts.d} differ: D of one step is C of the next")
    if not pairs(facts) or any(a not in facts.a or b not in facts.b for a, b in pairs(facts)):
        raise SpecError("pairs: must be made of formats in a and b")
    for name in (*facts.a, *facts.b):
        reach(get("format", name))
        if isinstance(get("format", name).facts, ExponentFacts):
            raise SpecError(f"a, b: {name} holds no zero: it cannot be an element")
    for name in facts.scale.formats:
        if not isinstance(get("format", name).facts, FloatFacts | ExponentFacts):
            raise SpecError(f"scale.formats: {name} is neither a float nor a power of two")
        if facts.scale.apply == "promote" and not is_binary32(get("format", name)):
            raise SpecError(f"scale.formats: promote multiplies binary32 scales, not {name}")
    if facts.scale.apply == "promote":
        _check_promote(facts)
    if facts.epilogue != "none" and not is_binary32(get("format", facts.d)):
        raise SpecError("epilogue: tensor scales multiply a binary32 result")


def _check_promote(facts: DatapathFacts) -> None:
    """The sum of a block must be an exact binary32 number, made of finite elements."""
    if not is_binary32(get("format", facts.d)):
        raise SpecError("d: promote computes in binary32")
    if facts.subnormal.result == "flush":
        raise SpecError("subnormal.result: the operations of promote keep subnormals")
    for name in (*facts.a, *facts.b):
        codes = derive.codes(get("format", name))
        if codes.nan or codes.inf is not None:
            raise SpecError(f"a, b: {name} has NaN or Inf: promote multiplies finite elements")


def _check_rounding(facts: DatapathFacts) -> None:
    d: Format = get("format", facts.d)
    derive.arithmetic_entry(d)
    if facts.round.keep > frac_bits_of(d):
        raise SpecError(f"round.keep: {d.id} has {frac_bits_of(d)} fraction bits, not {facts.round.keep}")
    if facts.special.nan != "any" and not derive.is_nan_code(int(facts.special.nan, 16), d):
        raise SpecError(f"special.nan: {facts.special.nan} is no {d.id} NaN")
    for where, name in (("align.rounding", facts.align.rounding), ("round.mode", facts.round.mode)):
        if get("rounding", name).random_bits:
            raise SpecError(f"{where}: {name} draws random bits: a datapath must not")
    if direction(get("rounding", facts.align.rounding)) not in ("rz", "rd", "rne"):
        raise SpecError(f"align.rounding: {facts.align.rounding} is not one of rz, rd, rne")
    exact = facts.align.fraction_bits == "exact"
    if exact and facts.align.floor != "none":
        raise SpecError("align.floor: where nothing is lost a floor has no effect: say none")
    if (facts.accumulator != "none" or facts.late_c == "add" or facts.promote != "none") and not exact:
        raise SpecError("align.fraction_bits: late_c add, accumulator and promote add exact sums: say exact")
    if isinstance(facts.late_c, LateC) and (exact or facts.align.integer_bits != "none" or facts.align.floor != "none"):
        raise SpecError("align: late_c with a second alignment needs fraction_bits as a number, integer_bits none and floor none")
    if isinstance(facts.late_c, LateC) and (facts.scale.apply != "none" or facts.align.exponent_raise):
        raise SpecError("late_c: a second alignment takes products without scales and without a raised exponent")
    if isinstance(facts.late_c, LateC) and isinstance(facts.align.fraction_bits, int) and facts.late_c.f2 < facts.align.fraction_bits:
        raise SpecError(f"late_c.f2: the second sum has no fewer fraction bits than the first, {facts.align.fraction_bits}")
    if facts.group not in (1, "block") and facts.scale.apply not in ("group", "promote"):
        raise SpecError(f"group: {facts.group} products are added before alignment only where scale.apply is group or promote: say 1")


def _holds_sum(plan: DatapathPlan) -> bool:
    """Tell whether the result format holds every sum of a block: its bits, its unit, and as far as it goes."""
    widths, room = plan.widths, reach(plan.d)
    fits = widths.group_sum_bits <= frac_bits_of(plan.d) + 1 and widths.product_lsb_exp >= room.lsb_exp
    return fits and widths.group_sum_bits + widths.product_lsb_exp <= room.max_exp + 1


def check_plan(plan: DatapathPlan) -> None:
    """Refuse widths that do not fit one another. Raises: SpecError."""
    facts, operands = plan.facts, f"{plan.a.id} x {plan.b.id}"
    step, group = plan.step, plan.group
    if min(step, group) < 1 or facts.k % step or step % group or step % plan.facts.split:
        raise SpecError(f"step: k {facts.k}, step {step}, group {group} and split {facts.split} must divide one another")
    grouped = facts.scale.apply != "product"
    if plan.block and ((grouped and plan.block % group) or (facts.k % plan.block and plan.block % facts.k)):
        raise SpecError(f"scale.blocks: a block of {plan.block} and a group of {group} in {facts.k} products do not fit")
    stated = facts.align.integer_bits
    if isinstance(stated, int) and stated < plan.integer_bits_needed and facts.align.beyond != "wrap":
        raise SpecError(
            f"align.integer_bits: {stated} bits overflow with {operands}: the largest sum needs {plan.integer_bits_needed}: "
            "say so, or derived, or beyond: wrap"
        )
    if facts.scale.apply == "promote" and not _holds_sum(plan):
        raise SpecError(f"scale.blocks: the sum of {plan.block} products of {operands} is no exact binary32 number")
    if facts.align.beyond == "wrap" and plan.adder_bits is None:
        raise SpecError("align.beyond: wrap needs an adder of a stated width")
    largest = plan.largest_k
    if largest is not None and largest < facts.k:
        raise SpecError(f"accumulator.bits: {operands} overflows beyond K = {largest}, before one instruction of {facts.k} is done")
