"""Model of spec/layout: where the code of a row and an index lies in memory. Not here: which blocks are stored so."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Part, Side, SpecObject

Axis = Literal["row", "idx"]


class Digit(Part):
    """One digit of the place: axis / step mod count, or count - 1 minus that where it goes down."""

    axis: Axis = Field(description="row: of the tensor; idx: of the code in its row")
    step: Side = Field(default=1, description="how far the axis goes until the digit counts one up")
    count: Side | None = Field(default=None, ge=2, description="values of the digit; absent: the rest of the padded axis")
    order: Literal["down"] | None = Field(default=None, description="down: the last value comes first, as the high nibble before the low")

    @model_validator(mode="after")
    def _down_from_where(self) -> Digit:
        if self.order is not None and self.count is None:
            raise ValueError("order: a digit that goes down needs a count")
        return self


class LayoutFacts(Part):
    """place = digits, the first one fastest; the weight of a digit is the product of the counts before it."""

    holds: Literal["elements", "scales"] = Field(description="what is laid out: element codes, or the codes of the innermost level")
    code_bits: Literal[4, 8] = Field(description="width of a code; places count codes, the lowest nibble of a byte first")
    word_bits: Literal[16, 32, 64] | None = Field(
        default=None, description="width of the integers that hold the codes, lowest bits first, little-endian in memory; absent: bytes"
    )
    digits: tuple[Digit, ...] = Field(
        min_length=2, max_length=16, description="fastest first; each axis is padded to a multiple of its last step"
    )

    padding: Literal["zero", "any"] | None = Field(
        default=None, description="what lies behind the rows and beside them: zero; any: anything; absent: no source states it"
    )

    @model_validator(mode="after")
    def _every_code_has_one_place(self) -> LayoutFacts:
        for axis in ("row", "idx"):
            mine = sorted((digit for digit in self.digits if digit.axis == axis), key=lambda digit: digit.step)
            steps = [digit.step for digit in mine]
            reach = 1
            for digit, step in zip(mine, steps, strict=True):
                if step != reach or (digit.count is None) != (digit is mine[-1]):
                    raise ValueError(f"digits of {axis}: steps and counts must follow on one another, the last one without count")
                reach *= digit.count or 1
            if not mine:
                raise ValueError(f"digits: none is of {axis}")
        whole = 1
        for digit in self.digits:
            if digit.count is None:
                break
            whole *= digit.count
        if self.word_bits is not None and whole * self.code_bits % self.word_bits:
            raise ValueError(f"word_bits: {whole} codes of {self.code_bits} bits lie together: no whole words of {self.word_bits} bits")
        return self

    def padded_to(self, axis: Axis) -> int:
        """Return what an axis is padded to a multiple of: the step of its last digit."""
        return max(digit.step for digit in self.digits if digit.axis == axis)


class LayoutExample(Part):
    """The place of one code, computed by hand."""

    rows: int = Field(ge=1, description="rows of the tensor")
    codes: int = Field(ge=1, description="codes of a row")
    row: int = Field(ge=0, description="row")
    idx: int = Field(ge=0, description="index in the row")
    place: int = Field(ge=0, description="its place, in codes")
    why: str | None = Field(default=None, description="what the row shows")


class Layout(SpecObject):
    """One order of codes in memory."""

    kind: Literal["layout"] = Field(description="the folder the file lies in")
    facts: LayoutFacts = Field(description="the order")
    expect: tuple[LayoutExample, ...] = Field(default=(), description="hand-checked places")
