"""Tiles of a recipe: parts of its levels, codes with their marks, and the steps that lead to the block maximum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Final

import numpy as np

from emu.base.caches import lazy
from emu.engines.numpy import tables
from emu.spec.derive import OPEN
from emu.spec.models import Block, Format
from emu.spec.models.block import MOST, LevelFacts
from emu.spec.programs.program import Program
from emu.spec.programs.types import Instruction, extent_of

Lists = list[list[int]]
ACROSS: Final = 16  # elements of a row of a suite where a block is one element: its scale is that of the row, or of the tensor


def is_element(block: Block) -> bool:
    """Tell whether a block is one element: its scale is that of the row, or of the tensor."""
    return tuple(block.facts.shape) == (1, 1)


def columns_of(block: Block) -> int:
    """Return the columns of a row of a suite: of a block, or more where a block is one element."""
    return ACROSS if is_element(block) else block.facts.shape[1]


def level_parts(level: LevelFacts, block: Block) -> tuple[int, int]:
    """Return how many rows and columns of codes a level has in one tile."""
    extent = extent_of(level.granularity, block)
    rows, columns = block.facts.shape
    return (rows // extent.rows if extent.rows else 1, columns // extent.columns if extent.columns else 1)


def element_format(block: Block) -> str | None:
    """Return the id of the element format; None where a flag chooses."""
    return block.element_formats[0] if len(block.element_formats) == 1 else None


def marked(array: Any, is_open: Any) -> Lists:
    """Return an array of codes as lists, OPEN where nobody knows the code."""
    found: Lists = np.where(is_open == 1, OPEN, array.astype(np.int64)).tolist()
    return found


def unmarked(array: Any, fmt: Format) -> Lists:
    """Return an array of codes as lists, OPEN in the place of its marker."""
    rows: list[list[int]] = array.tolist()
    if array.dtype != tables.marker_dtype(fmt):
        return rows
    mark = tables.mark(OPEN, fmt)
    return [[OPEN if code == mark else code for code in row] for row in rows]


def amax_program_of(program: Program) -> Program | None:
    """Return the part of a program that leads to its first maximum over a whole tile or row; None where it takes none.

    A maximum of each row of a tile of several rows is not one number, and no stage.
    """
    shape = tuple(program.block.facts.shape)
    whole = (1, 0) if is_element(program.block) else shape  # 0: as wide as the row is
    wanted = next((item for item in program.instructions if item.op == "amax" and item.type.extent == whole), None)
    if wanted is None:
        return None
    needed: set[str] = {wanted.out}
    kept: list[Instruction] = []
    for item in reversed(program.instructions):
        if item.out in needed:
            kept.insert(0, item)
            needed |= {arg for arg in item.args if isinstance(arg, str)}
    return replace(program, instructions=tuple(kept))


class Tiles(ABC):
    """What the contracts of recipes have in common: a program, its block, and the shape of a tile."""

    @property
    @abstractmethod
    def program(self) -> Program:
        """The steps of the recipe or profile."""

    @lazy
    def block(self) -> Block:
        """The block of the recipe."""
        return self.program.block

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.block.facts.shape[0]

    @property
    def columns(self) -> int:
        """Columns of a tile; where a block is one element, those of a row of a suite."""
        return columns_of(self.block)

    @property
    def is_large(self) -> bool:
        """Tell whether a tile has more elements than a row of a suite holds; the reference model takes seconds for one."""
        return self.n > MOST

    @property
    def cells(self) -> tuple[int, int, int]:
        """Rows, blocks and lanes of a tile, as programs take them."""
        return self.rows, self.columns // self.block.facts.shape[1], self.block.facts.shape[1]

    @property
    def n(self) -> int:
        """Elements of a tile."""
        return self.rows * self.columns
