"""Model of spec/recipe: how to quantize and dequantize, as straight-line programs.

A step takes the exact result of one operation and rounds it once. Arguments are names of earlier steps or constants written in
place: exact numbers ("2688", "7/4", "2^-6") or bit patterns of the program's arithmetic format ("0x3E2AAAAB").
Names given from outside: `x` (the source values), `tensor_amax`, `random`; in a dequantize program `codes` and the block's levels.
What a step may combine is checked in emu.spec.programs.program.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from emu.spec.models.block import Granularity
from emu.spec.models.common import (
    BlockId,
    FormatId,
    Hex,
    HexString,
    Id,
    Name,
    Overflow,
    Part,
    RoundingId,
    SpecObject,
    TransformId,
    YesNo,
    check_number,
)

ARGUMENT = r"^([a-z][a-z0-9_]*|-?[0-9]+(/[1-9][0-9]*)?|-?2\^-?[0-9]+|0x[0-9A-F]+)$"
Argument = Annotated[str, StringConstraints(pattern=ARGUMENT), AfterValidator(check_number)]
NanRule = Literal["propagate", "drop"]


class _Step(Part):
    out: Name = Field(description="name of the result; each name is set once")


def _arguments(count: int, what: str) -> object:
    return Field(min_length=count, max_length=count, description=what)


class AmaxStep(_Step):
    """Largest magnitude of a group; exact."""

    op: Literal["amax"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[v]")  # type: ignore[assignment]
    nan: NanRule = Field(description="propagate: any NaN gives NaN; drop: NaN is passed over, all NaN gives NaN")
    at: Granularity = Field(description="the group")


class SumStep(_Step):
    """Sum of a group in a stated order."""

    op: Literal["sum"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[v]")  # type: ignore[assignment]
    order: Literal["sequential", "halves", "tree", "exact"] = Field(
        description="sequential: acc = +0, then acc = round(acc + v_i), i ascending; halves: v_i + v_(i + n/2), each rounded, then "
        "those sequentially; tree: such halves until one is left; exact: one rounding"
    )
    at: Granularity = Field(description="the group, inside one block")


class ArithmeticStep(_Step):
    """One IEEE operation, rounded once."""

    op: Literal["add", "sub", "mul", "div"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(2, "[a, b]")  # type: ignore[assignment]
    to: FormatId | None = Field(default=None, description="format of the result; absent: the program's arithmetic")
    round: RoundingId | None = Field(default=None, description="rounding mode; absent: the program's arithmetic")


class FmaStep(_Step):
    """a * b + c, rounded once."""

    op: Literal["fma"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(3, "[a, b, c]")  # type: ignore[assignment]
    to: FormatId | None = Field(default=None, description="format of the result")
    round: RoundingId | None = Field(default=None, description="rounding mode")


class SignStep(_Step):
    """The sign bit alone; exact, NaN stays NaN."""

    op: Literal["abs", "neg"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[a]")  # type: ignore[assignment]


class MinMaxStep(_Step):
    """The smaller or larger value; exact; of two zeros the first."""

    op: Literal["min", "max"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(2, "[a, b]")  # type: ignore[assignment]
    nan: NanRule = Field(description="propagate: any NaN gives NaN; drop: the other value")


class ClampStep(_Step):
    """min(max(v, lo), hi); exact."""

    op: Literal["clamp"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(3, "[v, lo, hi]")  # type: ignore[assignment]
    nan: NanRule = Field(description="propagate: NaN stays; drop: NaN gives lo")


class RoundStep(_Step):
    """Round a value to the grid of a format, still a value."""

    op: Literal["round"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[v]")  # type: ignore[assignment]
    to: FormatId = Field(
        description="fp32, bf16, fp16 (overflow as ieee_inf), or with overflow none a format whose grid goes on above its maximum; "
        "an integer format gives floor (rd), ceil (ru) and rint (rne)"
    )
    round: RoundingId | None = Field(default=None, description="rounding mode; absent: the program's arithmetic")
    overflow: Literal["ieee_inf", "none"] = Field(
        default="ieee_inf",
        description="none: the element grid continued upwards with its top spacing rule; Inf beyond the program's arithmetic",
    )


class Log2Step(_Step):
    """Logarithm to base 2, correctly rounded to binary32; of zero -Inf, of a negative number NaN."""

    op: Literal["log2"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[a]")  # type: ignore[assignment]


class Pow2Step(_Step):
    """2^n of an integral value; below 2^-149 it is +0, above 2^127 Inf."""

    op: Literal["pow2"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[n]")  # type: ignore[assignment]


class E8m0RuleStep(_Step):
    """A scale byte from the binary32 fields of a magnitude."""

    op: Literal["e8m0_rule"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[A], A >= 0")  # type: ignore[assignment]
    rule: Literal["floor", "even", "ceil", "field_up"] = Field(description="which rule of the fields (exponent field e, fraction field m)")
    emax: int | None = Field(default=None, ge=-255, le=255, description="exponent of the element maximum; not for field_up")
    frac_bits: int | None = Field(default=None, ge=0, le=22, description="fraction bits of the element, for even")


class CastStep(_Step):
    """Round, overflow, encode: value to code."""

    op: Literal["cast"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[v]")  # type: ignore[assignment]
    to: FormatId = Field(description="format of the code")
    round: RoundingId | None = Field(default=None, description="rounding mode; absent: the program's arithmetic")
    overflow: Overflow = Field(default="saturate", description="what becomes of a magnitude beyond max")
    nan: Hex | None = Field(default=None, description="code of a NaN; absent: the format's NaN, or open when it has none")
    random: Name | None = Field(default=None, description="name of the random operand, for a rounding that draws")


class NearestStep(_Step):
    """The code whose value times a unit has the least rounded error: a search over every finite code, the first of equal ones.

    The error of a code is |round(round(value of the code * unit) - v)|, each rounded as the program's arithmetic. A code replaces the best
    one before it only where its error is less, so a search in which every error is NaN or Inf gives the first code.
    """

    op: Literal["nearest"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(2, "[v, unit]")  # type: ignore[assignment]
    to: FormatId = Field(description="format of the code, at most 8 bits; its codes are tried in ascending order")


class WrapStep(_Step):
    """The code whose bits are those of an integer, modulo 2^bits; NaN and Inf are open."""

    op: Literal["wrap"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[n], integral")  # type: ignore[assignment]
    to: FormatId = Field(description="format of the code")


class DecodeStep(_Step):
    """Code to value; exact."""

    op: Literal["decode"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[code]")  # type: ignore[assignment]
    format: FormatId | None = Field(default=None, description="needed only where a flag chooses between formats")


class SelectStep(_Step):
    """[tested, if true, if false]; lt, le, ge compare: [u, v, if true, if false]. A comparison with NaN is false."""

    op: Literal["select"] = Field(description="the operation")
    test: Literal["zero", "nan", "inf", "neg", "lt", "le", "ge"] = Field(description="neg means u < 0, so -0 and NaN fail")
    args: tuple[Argument, ...] = Field(min_length=3, max_length=4, description="both arms are evaluated; either may be Inf or NaN")


class TransformStep(_Step):
    """Rotate each block."""

    op: Literal["transform"] = Field(description="the operation")
    args: tuple[Argument, ...] = _arguments(1, "[v]")  # type: ignore[assignment]
    transform: TransformId = Field(description="id of the rotation")


class EmitStep(Part):
    """The outputs; ends a quantize program."""

    op: Literal["emit"] = Field(description="the operation")
    codes: Name = Field(description="element codes")
    levels: dict[str, Name] = Field(description="level of the block -> name; a coarser result is repeated for every part it covers")


class EmitValuesStep(Part):
    """The outputs; ends a dequantize program."""

    op: Literal["emit"] = Field(description="the operation")
    values: Name = Field(description="the decoded values")


Operation = (
    AmaxStep
    | SumStep
    | ArithmeticStep
    | FmaStep
    | SignStep
    | MinMaxStep
    | ClampStep
    | RoundStep
    | Log2Step
    | Pow2Step
    | E8m0RuleStep
    | CastStep
    | NearestStep
    | WrapStep
    | DecodeStep
    | SelectStep
    | TransformStep
)
Step = Annotated[Operation | EmitStep, Field(discriminator="op")]
DecodeProgramStep = Annotated[Operation | EmitValuesStep, Field(discriminator="op")]


class Arithmetic(Part):
    """Default result format and rounding of arithmetic steps."""

    to: FormatId = Field(description="float format of results and of constants given as bits")
    round: RoundingId = Field(description="rounding mode")


class Domain(Part):
    """Inputs that the sources decide; outside it a result is open: refused, or masked in vectors."""

    non_finite: YesNo = Field(default="yes", description="no: what NaN and Inf in x give is open")
    tensor_amax_min: Hex | None = Field(default=None, description="fp32 bits; a tensor maximum that is below it and not zero is open")


class RecipeFacts(Part):
    """A block format, a tail rule and the programs."""

    block: BlockId = Field(description="the block format it writes")
    tail: Literal["error", "zero_pad_keep", "zero_pad_drop"] = Field(description="what happens when a length is no multiple of the block")
    arithmetic: Arithmetic = Field(description="defaults of every step")
    domain: Domain = Field(default=Domain(), description="inputs with a known answer")
    steps: tuple[Step, ...] = Field(max_length=1024, description="the quantize program; at most 1024 steps")
    dequantize: dict[str, Annotated[tuple[DecodeProgramStep, ...], Field(max_length=1024)]] = Field(
        min_length=1, description="profile -> program; the first is the default"
    )


class RecipeExample(Part):
    """One block with its codes and levels."""

    x: HexString = Field(description="source codes, element 0 first")
    source: Id = Field(default="fp32", description="source format")
    tensor_amax: Hex | None = Field(default=None, description="fp32 bits of the tensor maximum, where the program reads it")
    random: HexString | None = Field(default=None, description="random integers, one per element")
    codes: HexString = Field(description="element codes")
    levels: dict[str, HexString] = Field(default={}, description="level -> codes")
    values: dict[str, HexString] = Field(default={}, description="dequantize profile -> fp32 bits")
    why: str | None = Field(default=None, description="what the row shows")


class Recipe(SpecObject):
    """One way to quantize, and the ways its result is read back."""

    kind: Literal["recipe"] = Field(description="the folder the file lies in")
    facts: RecipeFacts = Field(description="block, tail and programs")
    expect: tuple[RecipeExample, ...] = Field(default=(), description="hand-checked examples")

    @property
    def transforms(self) -> tuple[str, ...]:
        """Ids of the transforms of its steps, in their order; empty where it rotates nothing."""
        return tuple(step.transform for step in self.facts.steps if step.op == "transform")
