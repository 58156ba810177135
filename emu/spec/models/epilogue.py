"""Model of spec/epilogue: what a library of matrix products does behind the sum, with scales of tensors and of rows.

A datapath ends where its sum is a binary32 number; what multiplies that number is a choice of the library. Not here: the sum (datapath.py).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from emu.spec.models.common import Exact, HexString, Part, SpecObject
from emu.spec.models.levels import EpilogueFacts


class LibraryFacts(Part):
    """Two rules: which of them holds depends on the scales that the operands have."""

    tensors: EpilogueFacts = Field(description="where each operand has one scale for the whole tensor")
    rows: EpilogueFacts = Field(description="where an operand has a scale for each of its rows beside those of blocks")


class EpilogueExample(Part):
    """Sums of a product and what comes of them."""

    of: Literal["tensors", "rows"] = Field(description="the rule")
    sums: HexString = Field(description="binary32 codes of the sums, row after row")
    a: HexString = Field(description="stored scales of A: one, or one for each row")
    b: HexString = Field(description="stored scales of B: one, or one for each column")
    factor: Exact = Field(default="1", description="exact product of the factors of both blocks")
    c: HexString | None = Field(default=None, description="binary32 codes of what is added")
    d: HexString = Field(description="binary32 codes of the result, row after row")
    why: str | None = Field(default=None, description="what the row shows")


class Epilogue(SpecObject):
    """What one library does behind the sum."""

    kind: Literal["epilogue"] = Field(description="the folder the file lies in")
    facts: LibraryFacts = Field(description="the rules")
    expect: tuple[EpilogueExample, ...] = Field(default=(), description="hand-checked examples")
