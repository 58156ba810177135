"""Model of spec/coverage: what a list of rows of an operation should reach. The file names axes, their bins and which axes are crossed.

Code gives an axis its meaning: emu/vectors/cover_<op>.py says in which bins a row lies and which bins nothing can reach.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from emu.spec.models.common import NAME, Hex, Id, Name, Part, SpecObject

Each = Literal[
    "destination_code", "exponent_field", "element_code", "term_or_class", "distance", "normalise_shift", "live_pattern", "special_pair",
    "level",
]  # fmt: skip
Op = Literal["decode", "convert", "quantize", "dequantize", "transform", "dot", "accumulate", "layout", "insn", "levels"]


class CoverageAxis(Part):
    """One question about a row; a bin is one of its answers."""

    text: str = Field(description="the question")
    each: Each | None = Field(default=None, description="a bin for each of these, listed by code from formats and datapath; bins follow")
    bins: tuple[Id, ...] = Field(default=(), description="bins with names of their own")

    @model_validator(mode="after")
    def _bins(self) -> CoverageAxis:
        if self.each is None and not self.bins:
            raise ValueError("an axis needs bins, or each")
        if len(set(self.bins)) != len(self.bins):
            raise ValueError("bins: a name stands twice")
        return self


class CoverageCross(Part):
    """Axes taken together: every combination of their bins is one bin of the cross."""

    text: str = Field(description="what a design gets wrong when a bin is missed")
    axes: tuple[Name, ...] = Field(min_length=1, description="names of axes; the first one is listed as ranges")


class CoverageFacts(Part):
    """Axes and crosses of one operation."""

    op: Op = Field(description="the operation whose rows are counted; levels: dot and accumulate of datapaths of levels")
    axes: dict[str, CoverageAxis] = Field(description="name -> axis", min_length=1)
    crosses: dict[str, CoverageCross] = Field(description="name -> cross", min_length=1)

    @model_validator(mode="after")
    def _known(self) -> CoverageFacts:
        named = [name for name in (*self.axes, *self.crosses) if not re.match(NAME, name)]
        if named:
            raise ValueError(f"{named[0]!r} is no name: small letters, digits and _")
        used = [axis for cross in self.crosses.values() for axis in cross.axes]
        unknown = [axis for axis in used if axis not in self.axes]
        if unknown:
            raise ValueError(f"crosses: {unknown[0]} is no axis")
        idle = [axis for axis in self.axes if axis not in used]
        if idle:
            raise ValueError(f"axes: {idle[0]} is in no cross")
        if any(len(set(cross.axes)) != len(cross.axes) for cross in self.crosses.values()):
            raise ValueError("crosses: an axis stands twice")
        return self


class CoverageExample(Part):
    """A row whose bins were worked out by hand."""

    stem: str = Field(description="a planned suite: it says contract and columns")
    given: tuple[Hex, ...] = Field(alias="in", description="one value per input column, in the order of the columns")
    bins: dict[str, tuple[str, ...]] = Field(description="cross -> every bin of it that the row lies in; words in the order of the axes")
    why: str | None = Field(default=None, description="what the row shows")


class Coverage(SpecObject):
    """What the rows of one operation should reach, so that what they do not reach can be named."""

    kind: Literal["coverage"] = Field(description="the folder the file lies in")
    facts: CoverageFacts = Field(description="axes and crosses")
    expect: tuple[CoverageExample, ...] = Field(default=(), description="rows whose bins were worked out by hand")
