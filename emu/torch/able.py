"""What the torch column does, told from spec facts alone. Nothing here imports torch: the engine table asks before torch is loaded."""

from __future__ import annotations

from emu.spec import derive
from emu.spec.models import Format, Rounding, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.program import Program

INSIDE_FP32 = ("fp32", "bf16", "fp16")


def can_convert(source: Format, fmt: Format, rounding: Rounding) -> bool:
    """Tell whether this column does a conversion: all but a drawing or code-ordered rounding to a codebook, and te_fma to no float."""
    if isinstance(fmt.facts, CodebookFacts):
        return not rounding.random_bits and not derive.needs_code_order(rounding)
    return rounding.facts.add != "te_fma" or isinstance(fmt.facts, FloatFacts | ExponentFacts)


def can_decode(fmt: Format, result: Format) -> bool:
    """Tell whether this column decodes to a format: a float one with infinity and NaN."""
    derived = derive.codes(result)
    return isinstance(result.facts, FloatFacts) and derived.inf is not None and bool(derived.nan)


def can_transform(chosen: Transform, source: Format) -> bool:
    """Tell whether this column does a rotation: sums in fp32, values and results inside binary32."""
    return chosen.facts.sum_format == "fp32" and chosen.facts.result in INSIDE_FP32 and derive.codes(source).bits <= 32


def fault(program: Program) -> str | None:
    """Return why this column does not run a recipe's program, or None."""
    if program.arithmetic.id != "fp32":
        return f"arithmetic in {program.arithmetic.id}, not fp32"
    for item in program.instructions:
        if item.op == "sum" and item.step.order == "exact":
            return "a sum of order exact"
        to, mode = item.to, item.rounding
        if item.op == "cast" and to is not None and mode is not None and not can_convert(program.arithmetic, to, mode):
            return f"a cast to {to.id} with {mode.id}"
    return None
