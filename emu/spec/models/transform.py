"""Model of spec/transform: a rotation of each block before it is quantized."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Exact, FormatId, Hex, HexString, Id, Part, SpecObject, YesNo


class TransformFacts(Part):
    """y = result(scale * H * diag(signs) * x) with the additions in a stated order."""

    matrix: Literal["hadamard_sylvester"] = Field(description="H[i][j] = (-1)^popcount(i & j)")
    size: int = Field(ge=2, le=256, description="elements that are rotated together")
    signs: Hex = Field(description="bit i set: element i is negated first")
    signs_operand: YesNo = Field(description="may the caller hand in other signs")
    sum: Literal["exact", "butterfly", "sequential"] = Field(
        description="exact: one rounding of the scaled sum; butterfly: strides 1, 2, 4, ..., each addition rounded, then scaled; "
        "sequential: from +0, i = 0, 1, ..., each addition rounded, then scaled"
    )
    sum_format: FormatId = Field(description="float format that each addition (or the exact sum) is rounded to, nearest even")
    scale: Exact = Field(description="factor applied last, a power of two")
    result: FormatId = Field(description="float format of y; one more rounding, nearest even, where it differs from sum_format")

    @model_validator(mode="after")
    def _power_of_two(self) -> TransformFacts:
        if self.size & (self.size - 1):
            raise ValueError("size must be a power of two")
        return self


class TransformExample(Part):
    """A hand-checked rotation."""

    source: Id = Field(description="format of x")
    x: HexString = Field(description="codes of the elements, element 0 first")
    y: HexString = Field(description="codes of the result format")
    why: str | None = Field(default=None, description="what the row shows")


class Transform(SpecObject):
    """One rotation, its signs and the order of its additions."""

    kind: Literal["transform"] = Field(description="the folder the file lies in")
    facts: TransformFacts = Field(description="the rotation")
    expect: tuple[TransformExample, ...] = Field(default=(), description="hand-checked examples")
