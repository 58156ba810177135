"""Model of spec/rounding: which of the two neighbours a value between them takes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Exact, Part, SpecObject, YesNo

Choice = Literal["keep", "next", "to_even_code", "to_odd_code"]
Beyond = Literal["away", "max", "odd_code"]
BitRange = Annotated[tuple[int, ...], Field(min_length=2, max_length=2)]


class LostPart(Part):
    """What to do for each class of the discarded part; keep: the lower magnitude, next: the code above."""

    zero: Literal["keep"] = Field(description="nothing was discarded: the value never moves")
    less_than_half: Choice = Field(description="discarded part in (0, 1/2)")
    half: Choice = Field(description="discarded part exactly 1/2")
    more_than_half: Choice = Field(description="discarded part in (1/2, 1)")


class BeyondMax(Part):
    """Where a finite value beyond the maximum goes under the ieee_inf and ieee_nan overflow words."""

    positive: Beyond = Field(description="away: to Inf or NaN; odd_code: max where its code is odd, else away")
    negative: Beyond = Field(description="away: to Inf or NaN; odd_code: max where its code is odd, else away")


class PerElement(Part):
    """One random integer for each element."""

    per_element: int = Field(ge=1, le=32, description="bits of the integer")


class Word(Part):
    """One random word for several consecutive elements."""

    word: int = Field(ge=8, le=64, description="bits of the word")
    lanes: int = Field(ge=1, le=16, description="consecutive elements that share it")
    fields: tuple[tuple[BitRange, ...], ...] = Field(
        description="per lane, element 0 first: bit ranges [from, to] of the word, joined most significant first; from < to reads upwards"
    )

    @property
    def per_element(self) -> int:
        """Bits that each element gets."""
        return sum(abs(first - last) + 1 for first, last in self.fields[0])

    @model_validator(mode="after")
    def _same_width(self) -> Word:
        widths = {sum(abs(first - last) + 1 for first, last in lane) for lane in self.fields}
        if len(self.fields) != self.lanes or len(widths) != 1:
            raise ValueError("fields needs one list of ranges per lane, all of the same total width")
        if any(not 0 <= bit < self.word for lane in self.fields for item in lane for bit in item):
            raise ValueError("a bit range lies outside the word")
        return self


class RoundingFacts(Part):
    """The rule, as data."""

    random: Literal["none"] | PerElement | Word = Field(description="random bits the rule draws")
    sees_sign: YesNo = Field(description="no: the magnitude is rounded and the sign put back")
    magnitude: LostPart | None = Field(default=None, description="the choice, for a rule that does not see the sign")
    positive: LostPart | None = Field(default=None, description="the choice for a positive value")
    negative: LostPart | None = Field(default=None, description="the choice for a negative value, on its magnitude")
    add: Literal["add", "cmp", "half", "te_fma", "nearest"] | None = Field(default=None, description="how the random bits decide")
    beyond_max: BeyondMax = Field(description="finite overflow under ieee_inf and ieee_nan")

    @model_validator(mode="after")
    def _one_form(self) -> RoundingFacts:
        given = {name for name in ("magnitude", "positive", "negative", "add") if getattr(self, name) is not None}
        if self.random != "none":
            needed = {"add"}
        else:
            needed = {"positive", "negative"} if self.sees_sign == "yes" else {"magnitude"}
        if self.random != "none" and self.sees_sign == "yes":
            raise ValueError("a rule that draws rounds the magnitude: sees_sign must be no")
        if given != needed:
            raise ValueError(f"a rule of this kind states {' and '.join(sorted(needed))}, nothing else")
        return self


class RoundingExample(Part):
    """A hand-checked rounding on an unbounded grid."""

    grid: str = Field(description="format whose grid is meant")
    value: Exact = Field(description="the value before")
    random: int | None = Field(default=None, description="the random integer of the element")
    rounded: Exact = Field(description="the value after, no maximum")
    why: str | None = Field(default=None, description="what the row shows")


class Rounding(SpecObject):
    """One rounding mode."""

    kind: Literal["rounding"] = Field(description="the folder the file lies in")
    facts: RoundingFacts = Field(description="the rule")
    expect: tuple[RoundingExample, ...] = Field(default=(), description="hand-checked examples")

    @property
    def random_bits(self) -> int:
        """Random bits per element; 0 for a deterministic rule."""
        return 0 if self.facts.random == "none" else self.facts.random.per_element

    @property
    def random_operand(self) -> tuple[int, int]:
        """(elements that share one integer of the random operand, bits of that integer); (1, 0) for a deterministic rule."""
        source = self.facts.random
        return (source.lanes, source.word) if isinstance(source, Word) else (1, self.random_bits)

    @property
    def rounds_down(self) -> bool:
        """True for a mode that goes down on both sides of zero: an exact zero sum of different terms is -0 there."""
        positive, negative = self.facts.positive, self.facts.negative
        if positive is None or negative is None:
            return False
        return negative.less_than_half == "next" and positive.less_than_half != "next"
