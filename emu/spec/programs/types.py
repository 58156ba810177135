"""Types of a recipe program: the extent that shares one value, the type of a name, an argument, an instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.models import Block, Format, Rounding
from emu.spec.models.block import Granularity


class Extent(NamedTuple):
    """Rows and columns that share one value; 0 means all of them."""

    rows: int
    columns: int

    def holds(self, other: Extent) -> bool:
        """Tell whether each part of `other` lies inside one part of this place."""
        return all(mine == 0 or (theirs != 0 and mine % theirs == 0) for mine, theirs in zip(self, other, strict=True))


TENSOR, ROW, ELEMENT = Extent(0, 0), Extent(1, 0), Extent(1, 1)


def extent_of(granularity: Granularity, block: Block) -> Extent:
    """Return the place of a granularity under the shape of a block."""
    rows, columns = block.facts.shape
    if isinstance(granularity, str):
        return {"tensor": TENSOR, "row": ROW, "tile": Extent(rows, columns), "block": Extent(1, columns)}[granularity]
    return Extent(1, granularity.sub)


def meet(extents: list[Extent]) -> Extent:
    """Return the coarsest place that lies inside all of them. Raises: SpecError when parts overlap without nesting."""
    rows = [extent.rows for extent in extents if extent.rows]
    columns = [extent.columns for extent in extents if extent.columns]
    finest = Extent(min(rows, default=0), min(columns, default=0))
    if not all(extent.holds(finest) for extent in extents):
        raise SpecError("the arguments are shared by parts of the tensor that do not nest")
    return finest


@dataclass(frozen=True)
class Typed:
    """Place and type of a name: a value on the grid of `formats[0]`, or a code of one of `formats`."""

    extent: Extent
    is_code: bool
    formats: tuple[Format, ...]


@dataclass(frozen=True)
class Constant:
    """A constant argument: its code in the program's arithmetic format."""

    bits: int


Argument = str | Constant


@dataclass(frozen=True)
class Instruction:
    """One step with resolved arguments.

    step: the model, for the fields of its operation.   to, rounding: resolved where the operation rounds, else None.
    """

    out: str
    op: str
    args: tuple[Argument, ...]
    type: Typed
    step: Any
    to: Format | None = None
    rounding: Rounding | None = None


def constant(text: str, arithmetic: Format) -> Constant:
    """Return a constant written in place. Raises: SpecError when it is not a number of the arithmetic format."""
    return Constant(derive.encode_constant(text, arithmetic))
