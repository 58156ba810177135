"""Model of the language of spec/datapath: levels, from the inside out. What follows from the words is derived in emu.spec.levels.

A level takes the values of the level below it, a fixed number at a time, and adds each lot to one value. Level 0 is the products. The last
level leaves one value, which is brought to the format of the result. docs/datapath_levels.md fixes every word with a worked row.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Count, Exponent, FormatId, Hex, Id, Name, Names, Part, RoundingId, Width, YesNo

Subnormals = Literal["keep", "flush"]
Pair = Annotated[tuple[Id, ...], Field(min_length=2, max_length=2)]
PolicyId = Annotated[Id, Names("policy")]
ScaleOrder = Literal["together", "a_first", "b_first", "together_or_a_first"]


class FixedHold(Part):
    """A register in fixed point, two's complement. NaN and infinity are carried beside the number."""

    bits: int = Field(ge=2, le=512, description="width with the sign")
    unit_exp: Exponent | Literal["derived"] = Field(description="the unit is 2^unit_exp; derived: the finest unit of what is added")
    rounding: RoundingId | None = Field(default=None, description="rounding to the unit; left out where the unit loses nothing")
    overflow: Literal["saturate", "saturate_symmetric", "wrap", "sticky_inf", "error"] = Field(
        description="beyond the register: stop at its end; stop at the largest number of that sign, so that the lowest code never comes; "
        "keep the low bits; infinity of that sign; or refuse the row"
    )


class CutHold(Part):
    """A number with fewer bits and an exponent without limits: what a cut multiplier or a short adder leaves."""

    significant_bits: Count | None = Field(default=None, description="bits kept from the leading one on")
    fraction_bits: Width | None = Field(default=None, description="bits kept below 2^e, e the exponent that the value names")
    rounding: RoundingId = Field(description="rounding of what is cut")

    @model_validator(mode="after")
    def _one(self) -> CutHold:
        if (self.significant_bits is None) == (self.fraction_bits is None):
            raise ValueError("a cut says either significant_bits or fraction_bits")
        return self


class FloatHold(Part):
    """A register in a float format of the spec."""

    format: FormatId = Field(description="the format")
    rounding: RoundingId | None = Field(default=None, description="rounding to the format; left out where the format holds every value")
    keep: int | None = Field(default=None, ge=0, le=52, description="fraction bits that are kept; left out: all of the format")
    overflow: Literal["inf", "ieee", "saturate"] = Field(
        default="inf", description="beyond the largest number: infinity in every mode; as IEEE 754 has it in this mode; or stop there"
    )
    subnormals: Literal["gradual", "flush"] = Field(default="gradual", description="results below the smallest normal number")
    policy: PolicyId | None = Field(
        default=None, description="a policy that says what NaN, infinity, zero and overflow become, in the place of the words here"
    )

    @model_validator(mode="after")
    def _policy(self) -> FloatHold:
        if self.policy is not None and (self.keep is not None or self.overflow != "inf" or self.subnormals != "gradual"):
            raise ValueError("policy says what becomes of a result: leave keep, overflow and subnormals out")
        return self


Hold = Literal["exact"] | FloatHold | FixedHold | CutHold


class ScalesOffered(Part):
    """Block scales of both operands: one code of each operand for every block of elements."""

    former: ClassVar[dict[str, str]] = {
        "apply": "say `scale: {}` in the level whose values the block scales multiply, or `products: {scale: {}}`"
    }

    formats: tuple[FormatId, ...] = Field(min_length=1, description="formats that the scales may have")
    blocks: tuple[Count, ...] = Field(min_length=1, description="elements that may share a scale")
    unused_bits: Literal["ignore", "open"] = Field(default="open", description="a set bit above the scale's code: ignored, or refused")


class LevelScale(Part):
    """The scales multiply the values of this level, after they were held. The exponents that the scales name are added to theirs."""

    each: Literal["exact"] | FloatHold = Field(default="exact", description="each of the two scales before they are multiplied")
    product: Literal["exact"] | FloatHold = Field(default="exact", description="the product of the two scales")
    term: Hold = Field(default="exact", description="the value times that product")


class RunningCut(Part):
    """What the running value loses in an aligned addition, where it is not what the others lose."""

    fraction_bits: Width = Field(description="bits kept below 2^E")
    cut: RoundingId = Field(description="rounding of the running value")
    drop_below: Width | None = Field(default=None, description="it is dropped when its exponent is lower than E by more than this")


class LevelAlign(Part):
    """An addition in which all terms are brought to one exponent E, the largest that a live term names, and cut below it."""

    fraction_bits: Width | Literal["derived", "open"] = Field(
        description="bits kept below 2^E: F; derived: as many as the finest term has under the largest exponent that a term can name; "
        "open: nobody knows, and every use is refused"
    )
    cut: RoundingId = Field(description="rounding of a term that loses bits; odd: whatever is lost is jammed into the last bit")
    exponent: Literal["nominal", "normalised"] = Field(
        default="nominal", description="exponent of a term: the one it names, or that of its leading bit"
    )
    exponent_raise: Exponent | Literal["open"] = Field(
        default=0, description="added to the exponent of every term but the running value; values stay"
    )
    floor: Exponent | Literal["derived", "none"] = Field(
        default="none", description="least E; derived: smallest normal exponent of the format that holds the sum, minus integer_bits"
    )
    integer_bits: Width | Literal["derived", "none", "open"] = Field(
        default="derived", description="bits of the sum at 2^E and above: I; derived: what the largest sum needs; adder = F + I + 1 bits"
    )
    beyond: Literal["never", "wrap", "open"] = Field(
        default="never", description="sums that need more bits: never (the loader proves it), or wrap in two's complement"
    )
    running: Literal["same"] | RunningCut = Field(default="same", description="the running value: cut as the others, or by itself")

    @property
    def raised(self) -> int:
        """The number that is added to exponents; of a word that is known."""
        assert isinstance(self.exponent_raise, int)
        return self.exponent_raise

    @property
    def open_words(self) -> tuple[str, ...]:
        """The words that nobody knows."""
        return tuple(name for name in ("fraction_bits", "integer_bits", "exponent_raise", "beyond") if getattr(self, name) == "open")

    @property
    def cuts_running(self) -> RunningCut | None:
        """The cut of the running value, or None where it is cut as the others."""
        return None if isinstance(self.running, str) else self.running


class Take(Part):
    """Which values of the level below are added to one."""

    every: Count = Field(default=1, description="1: neighbours; n: every n-th, so that n lots are interleaved")


class Level(Part):
    """One way to add lots of values."""

    id: Name = Field(description="name of the level; its stages are <level>_<index>")
    of: Count | Literal["all", "block"] = Field(
        description="values of the level below that are added to one; all: the whole of K; block: those of one scale block"
    )
    take: Take = Field(default=Take(), description="neighbours, or every n-th")
    add: Literal["exact", "aligned", "chain", "pairwise"] = Field(
        description="exact: all at once, nothing lost; aligned: all at once, brought to one exponent; chain: lot after lot of `by` values "
        "into a running value; pairwise: neighbours two by two, the sums two by two, an odd one out goes on as it is"
    )
    by: Count | None = Field(default=None, description="chain: values that one addition takes; left out: 1")
    start: Literal["zero", "first", "c"] | None = Field(
        default=None, description="chain: the running value starts with zero, with the first lot, or with C"
    )
    plus: Literal["none", "c"] = Field(default="none", description="c: C is one more term of the addition; exact and aligned only")
    align: LevelAlign | None = Field(
        default=None, description="how terms are aligned: aligned needs it; chain and pairwise may have it, else each addition is exact"
    )
    exponent: Literal["zero", "largest"] = Field(
        default="zero", description="exponent that an exact sum names: 0, it is a fixed-point number; or the largest of its live terms"
    )
    cancelled_counts: YesNo = Field(
        default="yes", description="does a sum of 0 of values that are not 0 raise E of the level above as if it were not 0"
    )
    hold: Hold = Field(default="exact", description="what each addition is rounded to; exact: nothing is lost")
    scale: Literal["none"] | LevelScale = Field(default="none", description="do the block scales multiply the values of this level")

    @model_validator(mode="after")
    def _words(self) -> Level:
        if (self.add == "chain") != (self.start is not None):
            raise ValueError("a chain says what it starts with (start), and nothing else does")
        if self.by is not None and self.add != "chain":
            raise ValueError("by belongs to a chain")
        if (self.add == "aligned" and self.align is None) or (self.add == "exact" and self.align is not None):
            raise ValueError("align says how terms are brought to one exponent: aligned needs it, exact has none")
        if self.plus == "c" and self.add not in ("exact", "aligned"):
            raise ValueError("plus c belongs to exact and aligned: a chain starts with C (start c)")
        return self


class Products(Part):
    """Level 0: the products of elements."""

    hold: Literal["exact"] | FixedHold | CutHold | FloatHold = Field(default="exact", description="what each product is rounded to")
    scale: Literal["none"] | LevelScale = Field(default="none", description="do the block scales multiply each product")


class Out(FloatHold):
    """The result."""

    plus: Literal["none", "c"] = Field(default="none", description="c: C is added to the last value before this rounding")


class LevelSubnormals(Part):
    """What happens to subnormal operands."""

    elements: Subnormals = Field(default="keep", description="subnormal elements")
    scales: Subnormals = Field(default="keep", description="subnormal scales")
    c: Subnormals = Field(default="keep", description="subnormal C, and the running value that C started")


class LevelSpecial(Part):
    """NaN, infinity and zero."""

    when: Literal["once", "per_add"] = Field(
        description="once: NaN and infinity of the operands decide before anything is added: once for each addition into the running value "
        "that C started, else once for the row; per_add: each operation makes NaN and infinity as IEEE 754 has it"
    )
    nan: Hex | Literal["any", "policy"] = Field(
        description="code of a NaN result; any: only its class is known; policy: as out.policy says"
    )
    nan_scale: Literal["always", "live"] = Field(
        default="always", description="a NaN scale gives NaN: always, or only where its block has a product that is not zero"
    )
    zero: Literal["plus", "ieee"] = Field(
        default="plus", description="sign of a zero in a float format: plus; or ieee: that of a number that vanished, and of equal zeros"
    )


Flag = Literal["NV", "OF"]


class FlagPlaces(Part):
    """The levels whose operations raise a flag: product, the names of levels, out."""

    nv: Literal["all"] | Annotated[tuple[Name, ...], Field(min_length=1)] = Field(default="all", description="levels that raise NV")
    of: Literal["all"] | Annotated[tuple[Name, ...], Field(min_length=1)] = Field(default="all", description="levels that raise OF")


class LevelFlags(Part):
    """Exception flags of a row: each is raised when any operation of its levels raises it.

    NV, invalid: a signalling NaN, infinity times zero, infinities of both signs in one addition, beside a quiet NaN too. OF, overflow: a
    finite value that is beyond its register once it was rounded with exponents without end, or beyond a width that wraps.
    """

    report: tuple[Flag, ...] = Field(min_length=1, description="the flags of a result, the lowest bit first: NV, OF or both")
    signalling: tuple[FormatId, ...] = Field(
        description="formats of operands, with the NaNs of IEEE 754, whose NaN signals where the leading bit of its fraction is 0"
    )
    at: FlagPlaces = Field(default=FlagPlaces(), description="the levels that raise them")

    @model_validator(mode="after")
    def _once(self) -> LevelFlags:
        if self.report not in (("NV",), ("OF",), ("NV", "OF")):
            raise ValueError("report names each flag once, NV before OF")
        return self


class EpilogueFacts(Part):
    """What follows the last instruction when the operands have scales of tensors or rows: D' = scale a * scale b * D, then C."""

    alpha: RoundingId = Field(description="rounding of every multiplication but the last, and of the factor where it stands apart")
    d: RoundingId = Field(description="rounding of the last multiplication, and of the addition of C")
    c_place: Literal["before", "after", "open"] = Field(
        description="before: C goes into the dot product and is multiplied too; after: it is added; open: nobody knows, the caller must say"
    )
    fused: YesNo = Field(description="yes: the last product + C is rounded once; not asked where c_place is open")
    scales: ScaleOrder = Field(
        default="together",
        description="together: alpha, then alpha * D; a_first, b_first: D by the scale of that operand, then by the other; "
        "together_or_a_first: together where one operand has a single scale, else a_first",
    )
    factor: Literal["scales", "alpha_last", "sum_first"] = Field(
        default="scales",
        description="where the constant factor of the blocks is: in the multiplier of each operand, as its recipe dequantizes; else the "
        "stored scales multiply as they are, and the exact product of both factors, rounded once, multiplies alpha last, or D first",
    )

    @model_validator(mode="after")
    def _alpha_is_there(self) -> EpilogueFacts:
        if self.factor == "alpha_last" and self.scales != "together":
            raise ValueError("factor: alpha_last multiplies the product of both scales: scales must be together")
        return self


_CHAIN = '{id: "k", of: "all", add: "chain", start: "c", ...}'


class DatapathLevels(Part):
    """One way to compute D = A * B + C, or A * B, as levels of additions."""

    former: ClassVar[dict[str, str]] = {
        "d": 'say out: {format: "..."}',
        "step": f"say levels: [{_CHAIN}], with `by` the values that one addition takes",
        "split": 'say a level {of: ..., take: {every: ...}, add: "aligned"}, and one that joins its values',
        "group": 'say a level {id: "grp", of: ..., add: "exact"} below the chain',
        "align": f"say `align` in the level that aligns: levels: [{_CHAIN}]",
        "late_c": 'say a level {id: "step", of: ..., add: "exact", hold: ...} below the chain, or `running` in the `align` of the chain',
        "accumulator": 'say levels: [{id: "k", of: "all", add: "chain", start: "zero", hold: {bits: ...}}], and `plus: "c"` in out',
        "promote": 'say {id: "blk", of: "block", add: "exact", scale: {product: ..., term: ...}} below the chain',
        "round": f"say `hold` in the level that rounds: levels: [{_CHAIN}]",
    }

    a: tuple[FormatId, ...] = Field(min_length=1, description="formats that the elements of A may have")
    b: tuple[FormatId, ...] = Field(min_length=1, description="formats that the elements of B may have")
    pairs: Literal["any", "equal"] | tuple[Pair, ...] = Field(
        default="any", description="which of a and b go together: any, those of the same format, or the listed pairs"
    )
    c: Annotated[Id, Names("format", unless="none")] = Field(description="format of C; none: there is no C")
    k: Count = Field(description="products of one instruction; K is a multiple of it")
    scale: Literal["none"] | ScalesOffered = Field(default="none", description="block scales")
    products: Products = Field(default=Products(), description="the products")
    levels: tuple[Level, ...] = Field(min_length=1, max_length=16, description="the levels from the inside out")
    out: Out = Field(description="the result")
    special: LevelSpecial = Field(description="special values")
    subnormal: LevelSubnormals = Field(default=LevelSubnormals(), description="subnormal operands")
    flags: LevelFlags | None = Field(default=None, description="the exception flags that a result comes with; left out: none")
    epilogue: EpilogueFacts | None = Field(default=None, description="tensor scales and C; left out: the caller must say")

    @property
    def offered(self) -> ScalesOffered | None:
        """The block scales, or None."""
        return None if isinstance(self.scale, str) else self.scale

    @model_validator(mode="after")
    def _together(self) -> DatapathLevels:
        ids = [level.id for level in self.levels]
        if len(set(ids)) != len(ids) or {"product", "out"} & set(ids):
            raise ValueError("every level needs a name of its own, and neither product nor out")
        places = [level.id for level in self.levels if level.start == "c" or level.plus == "c"] + ["out"] * (self.out.plus == "c")
        if len(places) != int(self.c != "none"):
            raise ValueError(f"C enters at one place (start c or plus c) where it has a format: here {', '.join(places) or 'nowhere'}")
        scaled = [level.id for level in self.levels if level.scale != "none"] + ["product"] * (self.products.scale != "none")
        if len(scaled) != int(self.scale != "none"):
            raise ValueError(f"block scales multiply at one level where there are any: here {', '.join(scaled) or 'at none'}")
        if (self.special.nan == "policy") != (self.out.policy is not None):
            raise ValueError("special.nan is policy exactly where out has a policy")
        return self
