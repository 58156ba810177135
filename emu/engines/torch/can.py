"""What the torch engine does, told from spec facts alone. Nothing here imports torch: the engine table asks before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from emu.base.errors import EngineError
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import binary_format, is_binary32, is_within
from emu.spec.levels import LevelsPlan, holds_of, rounding_of
from emu.spec.models import Format, Rounding, Transform
from emu.spec.models.datapath import PromoteFacts
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.models.levels import FloatHold
from emu.spec.operations import OPERATIONS
from emu.spec.programs.lowering import refusal
from emu.spec.programs.program import Program
from emu.spec.reach import frac_bits_of
from emu.spec.registry import get

INSIDE_FP32 = ("binary32", "bfloat16", "binary16")
_MOST_BITS = 61  # of a signed integer in this engine
_PRODUCT_BITS = 53  # of a number that is added to another
_SIGNIFICAND_BITS = 62  # of a number


def can_convert(source: Format, fmt: Format, rounding: Rounding) -> bool:
    """Tell whether this engine does a conversion: all but a drawing or code-ordered rounding to a codebook, and te_fma to no float."""
    if isinstance(fmt.facts, CodebookFacts):
        return not rounding.random_bits and not derive.needs_code_order(rounding)
    return rounding.facts.add != "te_fma" or isinstance(fmt.facts, FloatFacts | ExponentFacts)


def can_decode(fmt: Format, result: Format) -> bool:
    """Tell whether this engine decodes to a format: a float one with infinity and NaN."""
    derived = derive.codes(result)
    return isinstance(result.facts, FloatFacts) and derived.inf is not None and bool(derived.nan)


def can_transform(chosen: Transform, source: Format) -> bool:
    """Tell whether this engine does a rotation: sums in fp32, values and results inside binary32."""
    total, result = (get("format", name) for name in (chosen.facts.sum_format, chosen.facts.result))
    return is_binary32(total) and binary_format(result) in INSIDE_FP32 and is_within(source, total)


def can_operate(name: str, formats: Sequence[Format], to: Format, rounding: Rounding) -> bool:
    """Tell whether this engine does an operation: nothing drawn, terms of a sum of at most 53 bits, products of at most 62."""
    bits = [frac_bits_of(fmt) + 1 for fmt in formats]
    if OPERATIONS[name].gives != "number":
        return max(bits) <= _SIGNIFICAND_BITS
    if rounding.random_bits or max(*bits, frac_bits_of(to) + 1) > _PRODUCT_BITS:
        return False
    if name in ("multiply", "scaled_multiply"):
        return sum(bits) <= _SIGNIFICAND_BITS
    pairs = (bits[:2], bits[2:]) if OPERATIONS[name].scaled else (bits[:2],) if name == "fma" else ()
    return all(sum(pair) <= _PRODUCT_BITS for pair in pairs)


def fault(program: Program) -> str | None:
    """Return why this engine does not run a recipe's program, or None."""
    return refusal(program, "torch", can_convert)


def require_program(program: Program) -> None:
    """Check that this engine runs a recipe's program. Raises: EngineError for what `fault` says."""
    why = fault(program)
    if why is not None:
        raise EngineError(f"engine torch does not do this program ({why}): engine exact does it")


def dot_fault(plan: DatapathPlan) -> str | None:
    """Return why this engine does not do a datapath, or None. Widths are those that the spec derives."""
    facts, widths = plan.facts, plan.widths
    if derive.codes(plan.a).bits > 16 or derive.codes(plan.b).bits > 16 or derive.codes(plan.d).bits > 32:
        return "elements of more than 16 bits, or results of more than 32"
    if facts.scale.apply == "promote":
        room = _PRODUCT_BITS if isinstance(facts.promote, PromoteFacts) and facts.promote.fused == "yes" else _MOST_BITS
        needed = widths.group_sum_bits + frac_bits_of(plan.d) + 1
        return None if needed <= room else f"products of {needed} bits"
    if plan.align_direction not in ("rz", "rd", "rne"):
        return f"alignment with {facts.align.rounding}"
    if max(widths.group_sum_bits if facts.scale.apply == "group" else 0, widths.term_bits) > _MOST_BITS:
        return f"terms of {max(widths.group_sum_bits, widths.term_bits)} bits"
    if plan.accumulator is not None:
        wide = plan.accumulator.bits > _MOST_BITS + 3 or widths.step_sum_bits > _MOST_BITS
        return f"a register of {plan.accumulator.bits} bits with steps of {widths.step_sum_bits}" if wide else None
    if plan.late_c is not None:
        needed = plan.late_c.f2 + plan.integer_bits_needed + facts.split
    else:
        needed = 0 if plan.frac_bits is None else plan.frac_bits + plan.integer_bits_needed + 1
    return f"sums of {needed} bits" if needed > _MOST_BITS else None


def levels_fault(plan: LevelsPlan) -> str | None:
    """Return why this engine does not do a datapath of levels, or None. Sums may have any width; what is read and held may not."""
    for fmt in (plan.a, plan.b, plan.scale, plan.c):
        if fmt is not None and frac_bits_of(fmt) + 1 > _PRODUCT_BITS:
            return f"{fmt.id} has more than {_PRODUCT_BITS} significant bits"
    for hold in holds_of(plan.facts):
        register: Format | None = get("format", hold.format) if isinstance(hold, FloatHold) else None
        rounding = rounding_of(hold)
        if register is not None and derive.codes(register).bits > 32:
            return f"{register.id} is held in more than 32 bits"
        if rounding is not None and rounding.random_bits + (0 if register is None else frac_bits_of(register)) > _PRODUCT_BITS:
            return f"{rounding.id} draws {rounding.random_bits} random bits"
    return None


def can_levels(plan: LevelsPlan) -> bool:
    """Tell whether this engine does a datapath of levels with its operands chosen."""
    return levels_fault(plan) is None


def can_dot(plan: DatapathPlan) -> bool:
    """Tell whether this engine does a datapath with its operands chosen."""
    return dot_fault(plan) is None
