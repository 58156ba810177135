"""Model of spec/block: enough to decode a block-scaled tensor. How to encode it is a recipe."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Exact, FormatId, Hex, HexString, Name, Part, Side, SpecObject


class Sub(Part):
    """A part of a block."""

    sub: Side = Field(description="consecutive elements of the block that share it")


MOST: Final = 1024  # elements of a block that is a row of a suite
Granularity = Literal["tensor", "row", "tile", "block"] | Sub


class OneElement(Part):
    """Every element has the same format."""

    format: FormatId = Field(description="format of the element codes")


class ElementChoice(Part):
    """A flag level picks the format of the elements."""

    format: FormatId = Field(description="format of the element codes under this value of the flag")
    factor: Exact = Field(default="1", description="its own exact factor")


class FlaggedElement(Part):
    """Elements whose format is chosen by a flag level."""

    choice: tuple[ElementChoice, ...] = Field(min_length=2, max_length=2, description="format and factor for flag 0 and flag 1")
    flag: Name = Field(description="name of the level that chooses")


class LevelFacts(Part):
    """One layer of side data."""

    name: Name = Field(description="name in programs and files")
    format: FormatId = Field(description="format of its codes")
    granularity: Granularity = Field(description="what shares one code")
    meaning: Literal["multiply", "divide", "flag"] = Field(description="what the decoded value does to the element")


class BlockFacts(Part):
    """value = element * levels * factor."""

    element: OneElement | FlaggedElement = Field(description="format of the element codes")
    shape: Annotated[tuple[Side, ...], Field(min_length=2, max_length=2)] = Field(
        description="rows and columns of a tile; [1, n] for a plain block"
    )
    factor: Exact = Field(default="1", description="exact factor of every element")
    packing: Literal["low_nibble_first", "none"] = Field(description="where element 2k sits in a byte; none: one code per byte")
    scale_layout: Literal["row_major"] = Field(description="order of the innermost level's codes in memory")
    levels: tuple[LevelFacts, ...] = Field(description="side data, outermost first")

    @model_validator(mode="after")
    def _levels(self) -> BlockFacts:
        names = [level.name for level in self.levels]
        if len(set(names)) != len(names) or "codes" in names:
            raise ValueError("level names must differ from one another and from codes")
        if isinstance(self.element, FlaggedElement) and self.element.flag not in names:
            raise ValueError(f"element.flag names no level: {self.element.flag}")
        for level in self.levels:
            if isinstance(level.granularity, Sub) and self.shape[1] % level.granularity.sub:
                raise ValueError(f"level {level.name}: {level.granularity.sub} does not divide the block of {self.shape[1]}")
        return self


class BlockExample(Part):
    """A hand-checked decode of one lane."""

    codes: HexString = Field(description="element codes of one block, or of the first row of a tile, element 0 first")
    levels: dict[str, Hex] = Field(description="one code per level (the one that holds for the lane)")
    lane: int = Field(description="which element")
    value: Exact = Field(description="its exact value")
    why: str | None = Field(default=None, description="what the row shows")


class Block(SpecObject):
    """One block format."""

    kind: Literal["block"] = Field(description="the folder the file lies in")
    facts: BlockFacts = Field(description="elements, shape and levels")
    expect: tuple[BlockExample, ...] = Field(default=(), description="hand-checked examples")

    @property
    def scale_level(self) -> LevelFacts:
        """Innermost level that is no flag: the scales."""
        return [level for level in self.facts.levels if level.name != self.flag][-1]

    @property
    def is_alone(self) -> bool:
        """Whether one block says what its recipes do: several elements under their scales, not those of a whole row or a large tile."""
        return 1 < self.facts.shape[0] * self.facts.shape[1] <= MOST

    @property
    def element_formats(self) -> tuple[str, ...]:
        """Ids of the element formats, flag 0 first."""
        element = self.facts.element
        return (element.format,) if isinstance(element, OneElement) else tuple(item.format for item in element.choice)

    @property
    def flag(self) -> str | None:
        """Name of the level that chooses the format of an element; None where all elements have one format."""
        return self.facts.element.flag if isinstance(self.facts.element, FlaggedElement) else None
