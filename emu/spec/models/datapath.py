"""Model of spec/datapath: how a matrix instruction sums products, adds C and rounds. Files say it in levels (emu.spec.models.levels).

Levels that are a chain of fused steps have a second form here, DatapathFacts, which emu.spec.steps reads out of them and no file says:
engines have a quick way for such steps. Widths are derived in emu.spec.datapath. A finite operand is a triple: value = significand *
2^(exp - frac_bits), with the exponent that its code names (subnormals keep the lowest one). Each fused step aligns its terms to the
largest exponent, cuts them to `fraction_bits`, adds, and rounds once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema

from emu.spec.models.common import Count, Exact, Exponent, FormatId, Hex, HexString, Id, Part, RoundingId, SpecObject, Width, YesNo
from emu.spec.models.levels import DatapathLevels, EpilogueFacts

Subnormals = Literal["keep", "flush"]
Pair = Annotated[tuple[Id, ...], Field(min_length=2, max_length=2)]


class ScaleFacts(Part):
    """Block scales of both operands."""

    apply: Literal["group", "product", "none", "promote"] = Field(
        description="group: multiply the exact sum of a group; product: each product; promote: in binary32, block by block; none: no scales"
    )
    formats: tuple[FormatId, ...] = Field(default=(), description="formats that the scales may have")
    blocks: tuple[Count, ...] = Field(default=(), description="elements that may share a scale")
    unused_bits: Literal["ignore", "open"] = Field(default="open", description="a set bit above the scale's code: ignored, or refused")


class AlignFacts(Part):
    """How the terms of one fused step are brought to one exponent E and added."""

    exponent: Literal["nominal", "normalised"] = Field(
        default="nominal", description="exponent of a term: the sum of the exponents its codes name, or that of its leading bit"
    )
    exponent_raise: Exponent | Literal["open"] = Field(
        default=0, description="added to the exponent of every product term; its value stays"
    )
    include_c: YesNo = Field(description="is C one of the aligned terms; no only with late_c, accumulator or promote")
    fraction_bits: Width | Literal["exact", "exact_products", "open"] = Field(
        description="bits kept below 2^E: F; exact: nothing is lost, of C neither; exact_products: as many as the product sum needs"
    )
    integer_bits: Width | Literal["derived", "open", "none"] = Field(
        default="derived", description="bits of the sum at 2^0 and above: I; derived: what the largest sum needs; adder = F + I + 1 bits"
    )
    rounding: RoundingId = Field(default="rz", description="rounding of a term that loses bits: rz on the magnitude, rd or rne")
    floor: Exponent | Literal["derived", "none"] = Field(description="least E; derived: smallest normal exponent of D minus I")
    cancelled_group_counts: YesNo = Field(
        default="yes", description="does a group of non-zero products whose sum is 0 raise E as if it were not 0"
    )
    beyond: Literal["never", "wrap", "open"] = Field(
        default="never",
        description="sums that need more bits than the adder has: never (the loader proves it), or wrap in two's complement",
    )


class LateC(Part):
    """C joins the finished sum by a second alignment."""

    f2: Width = Field(ge=1, description="fraction bits of the second sum")
    drop_below: Width = Field(ge=1, description="C is dropped when its exponent is lower than E by more than this")


class Accumulator(Part):
    """A fixed-point register that runs through all instructions of one output."""

    bits: int = Field(ge=8, le=1024, description="width, two's complement; its lsb is that of the finest term")
    overflow: Literal["error"] = Field(description="error: the result is refused (an open row, a sticky flag in hardware)")


class PromoteFacts(Part):
    """acc = C; for each block, ascending: acc = acc + (sum of products) * (scale a * scale b), each operation rounded to binary32."""

    scale_product: RoundingId = Field(description="rounding of scale a * scale b")
    term: RoundingId = Field(description="rounding of the group sum times that")
    acc: RoundingId = Field(description="rounding of the addition")
    fused: YesNo = Field(description="yes: term and addition are one fused multiply-add, rounded once (mode `acc`)")


class RoundFacts(Part):
    """Rounding of the sum to the result format."""

    mode: RoundingId = Field(description="rounding mode")
    keep: int = Field(ge=0, le=52, description="fraction bits that are kept; lower ones of the format are zero")
    overflow: Literal["inf", "saturate"] = Field(default="inf", description="beyond the largest number: Inf in every mode, or stop there")


class SubnormalFacts(Part):
    """What happens to subnormal numbers."""

    elements: Subnormals = Field(default="keep", description="subnormal elements")
    scales: Subnormals = Field(default="keep", description="subnormal scales")
    c: Subnormals = Field(default="keep", description="subnormal C")
    result: Literal["gradual", "flush"] = Field(default="gradual", description="subnormal results")


class SpecialFacts(Part):
    """NaN, zero and scales that are NaN."""

    nan: Hex | Literal["any"] = Field(description="code of a NaN result; any: only the class is known")
    nan_scale: Literal["always", "live"] = Field(
        default="always", description="a NaN scale gives NaN: always, or only where its block has a product that is not zero"
    )
    zero: Literal["plus", "ieee"] = Field(
        default="plus", description="sign of a zero result: plus; or ieee: that of what vanished (promote: as IEEE 754 has it)"
    )


class DatapathFacts(Part):
    """One way to compute D = A * B + C: a chain of fused steps. Read out of levels by emu.spec.steps; deviations change a word of it."""

    a: tuple[FormatId, ...] = Field(min_length=1, description="formats that the elements of A may have")
    b: tuple[FormatId, ...] = Field(min_length=1, description="formats that the elements of B may have")
    pairs: Literal["any", "equal"] | tuple[Pair, ...] = Field(
        default="any", description="which of a and b go together: any, those of the same format, or the listed pairs"
    )
    c: FormatId = Field(description="format of C")
    d: FormatId = Field(description="format of the result")
    k: Count = Field(description="products of one instruction")
    step: Count | Literal["block"] = Field(description="products of one fused step; divides k")
    split: Count = Field(default=1, description="interleaved partial sums of one step")
    group: Count | Literal["block"] = Field(description="products that are added exactly before alignment; divides step")
    scale: ScaleFacts = Field(description="block scales")
    align: AlignFacts = Field(description="alignment and addition")
    late_c: Literal["none", "add"] | LateC = Field(
        default="none", description="none; add: the sum is rounded to D first, then C is added and rounded; or a second alignment"
    )
    accumulator: Literal["none"] | Accumulator = Field(default="none", description="a register through all of K; C is added at the end")
    promote: Literal["none"] | PromoteFacts = Field(default="none", description="operations of scale.apply promote")
    round: RoundFacts = Field(description="rounding of the result of each step")
    subnormal: SubnormalFacts = Field(default=SubnormalFacts(), description="subnormal numbers")
    special: SpecialFacts = Field(description="special values")
    epilogue: Literal["none"] | EpilogueFacts = Field(default="none", description="tensor scales and C; none: the caller must say")

    @model_validator(mode="after")
    def _together(self) -> DatapathFacts:
        if (self.scale.apply == "none") != (not self.scale.formats) or (self.scale.apply == "none") != (not self.scale.blocks):
            raise ValueError("scale.formats and scale.blocks belong to scale.apply group, product and promote")
        if (self.scale.apply == "promote") != (self.promote != "none"):
            raise ValueError("promote belongs to scale.apply promote, and only to it")
        late = self.late_c != "none" or self.accumulator != "none" or self.promote != "none"
        if late == (self.align.include_c == "yes"):
            raise ValueError("align.include_c is no exactly where late_c, accumulator or promote adds C")
        if [self.late_c, self.accumulator, self.promote].count("none") < 2:
            raise ValueError("late_c, accumulator and promote exclude one another")
        if self.split > 1 and not isinstance(self.late_c, LateC):
            raise ValueError("split belongs to late_c with a second alignment")
        return self


class UnknownFacts(Part):
    """A datapath that exists, or may exist, and that nobody has described: every use is refused."""

    unknown: str = Field(description="what is not known, and why no other datapath stands for it")


class WidthExample(Part):
    """Widths worked out by hand for one choice of operands."""

    a: Id = Field(description="format of A")
    b: Id = Field(description="format of B")
    scale: Id | None = Field(default=None, description="format of the scales")
    integer_bits: int | None = Field(default=None, description="I")
    fraction_bits: int | None = Field(default=None, description="F")
    adder_bits: int | None = Field(default=None, description="F + I + 1")
    floor: int | None = Field(default=None, description="least E")
    largest_k: int | None = Field(default=None, description="largest K that the accumulator takes whatever the values are")


class DotExample(Part):
    """A hand-checked dot product of one instruction or more."""

    a_format: Id | None = Field(default=None, description="format of A, where the datapath leaves it free")
    b_format: Id | None = Field(default=None, description="format of B, where the datapath leaves it free")
    scale_format: Id | None = Field(default=None, description="format of the scales, where the datapath leaves it free")
    block: int | None = Field(default=None, description="elements per scale, where the datapath leaves it free")
    a: HexString = Field(description="codes of A, element 0 first")
    b: HexString = Field(description="codes of B")
    scale_a: HexString | None = Field(default=None, description="scale codes of A, block 0 first")
    scale_b: HexString | None = Field(default=None, description="scale codes of B")
    c: Hex | None = Field(default=None, description="code of C; left out where the datapath has none")
    random: tuple[int, ...] | None = Field(default=None, description="random words, where roundings of the datapath draw")
    d: Hex = Field(description="code of the result")
    why: str | None = Field(default=None, description="what the row shows")


class ValueExample(Part):
    """A dot product of equal elements, as a value."""

    every_a: Exact = Field(description="value of every element of A")
    every_b: Exact = Field(description="value of every element of B")
    d: Exact = Field(description="value of the result with scales 1 and C = 0")
    why: str | None = Field(default=None, description="what the row shows")


def _form(facts: Any) -> str:
    """Return the name of the model whose keys some facts have. No file has those of a fused step: they are read out of levels."""
    if not isinstance(facts, Mapping):
        return type(facts).__name__
    return "UnknownFacts" if "unknown" in facts else "DatapathLevels"


_Step = SkipJsonSchema[Annotated[DatapathFacts, Tag("DatapathFacts")]]
_Levels = Annotated[DatapathLevels, Tag("DatapathLevels")]
Facts = Annotated[_Step | _Levels | Annotated[UnknownFacts, Tag("UnknownFacts")], Discriminator(_form)]


class Datapath(SpecObject):
    """One way to sum and round a dot product: of a machine, or proposed."""

    kind: Literal["datapath"] = Field(description="the folder the file lies in")
    based_on: Id | None = Field(default=None, description="another datapath whose facts hold where this file says nothing else")
    facts: Facts = Field(description="the datapath as levels of additions, or why nothing is known of it")
    expect: tuple[DotExample | WidthExample | ValueExample, ...] = Field(default=(), description="hand-checked examples")
