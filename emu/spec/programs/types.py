"""Types of a recipe program: the extent that shares one value, the type of a name, an argument, an instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.models import Block, Format, Rounding
from emu.spec.models.block import Granularity
from emu.spec.registry import digest, get


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

    @property
    def reads(self) -> set[str]:
        """Names that the step reads."""
        random = getattr(self.step, "random", None)
        return {arg for arg in self.args if isinstance(arg, str)} | ({random} if random else set())

    @property
    def facts(self) -> Any:
        """Everything that the result follows from beside the values of the names, as data for a digest."""
        args = [arg if isinstance(arg, str) else arg.bits for arg in self.args]
        chosen = getattr(self.step, "transform", None)
        objects = [*self.type.formats, *(thing for thing in (self.to, self.rounding) if thing is not None)]
        return [
            *(self.out, self.op, args, list(self.type.extent), self.type.is_code, self.step.model_dump(mode="json")),
            *([thing.facts_digest for thing in objects], digest(get("transform", chosen)) if chosen else None),
        ]


def constant(text: str, arithmetic: Format) -> Constant:
    """Return a constant written in place. Raises: SpecError when it is not a number of the arithmetic format."""
    return Constant(derive.encode_constant(text, arithmetic))
