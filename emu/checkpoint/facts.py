"""What follows from a store and its first block: which level is which, how wide a code is, which elements or bytes belong together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded
from emu.spec import derive, get, names
from emu.spec.models import Block, Checkpoint, Format
from emu.spec.models.checkpoint import StoredLevel
from emu.spec.programs.types import Extent, extent_of

BYTES = {1: "u1", 2: "<u2", 4: "<u4"}  # of a code of a level, as NumPy names such words of a file


def block_of(store: Checkpoint) -> Block:
    """Return the first block format of a store."""
    found: Block = get("block", store.facts.blocks[0])
    return found


def scale_format(store: Checkpoint) -> Format:
    """Return the format of a store's scales."""
    found: Format = get("format", block_of(store).scale_level.format)
    return found


class Kind(NamedTuple):
    """What stores have in common that hold the same codes and scales: a code and a scale stand for the same in each."""

    elements: tuple[str, ...]
    shape: tuple[int, ...]
    extent: Extent
    scale: str


def kind_of(store: Checkpoint) -> Kind:
    """Return the kind of a store's blocks."""
    block = block_of(store)
    return Kind(block.element_formats, block.facts.shape, scale_extent(block), scale_format(store).id)


def scale_extent(block: Block) -> Extent:
    """Return the rows and columns that share a scale; 0 for all of them."""
    return extent_of(block.scale_level.granularity, block)


class Grid(NamedTuple):
    """The scales of a matrix. tall, wide: elements down and along that share one, fewer at the edges.   rows, columns: of scales."""

    tall: int
    wide: int
    rows: int
    columns: int


def grid_of(store: Checkpoint, shape: tuple[int, ...]) -> Grid:
    """Return how the scales of a weight lie; its leading axes together are rows. shape: of the weight, none of it 0."""
    extent, rows, length = scale_extent(block_of(store)), math.prod(shape[:-1]), shape[-1]
    tall, wide = extent.rows or rows, extent.columns or length
    return Grid(tall, wide, -(-rows // tall), -(-length // wide))


class ScaleMarks:
    """Marks on the scales of a weight, one for each that is stored. rows: of the weight, so far.   seen: scales of them."""

    def __init__(self, grid: Grid) -> None:
        self.grid, self.rows = grid, 0
        self.marked = np.zeros((grid.rows, grid.columns), bool)

    def add(self, marks: NDArray[np.bool_]) -> None:
        """Take the next rows. marks: [r, blocks], of a tile or the whole tensor once for each row."""
        tiles = (self.rows + np.arange(len(marks))) // self.grid.tall
        starts = np.flatnonzero(np.diff(tiles, prepend=-1))
        self.marked[tiles[starts]] |= np.logical_or.reduceat(marks, starts, axis=0)
        self.rows += len(marks)

    @property
    def count(self) -> int:
        """How many are marked."""
        return int(self.marked.sum())

    @property
    def seen(self) -> int:
        """How many scales the rows have."""
        return -(-self.rows // self.grid.tall) * self.grid.columns


def untiled(store: Checkpoint, shape: tuple[int, ...]) -> str | None:
    """Return why a store has no scales for a stack of matrices: tiles would reach from one into the next. None: it has. shape: of all."""
    tall = scale_extent(block_of(store)).rows or 1
    if shape[-2] % tall and math.prod(shape[:-2]) > 1:
        return f"a stack of matrices of {shape[-2]} rows in tiles of {tall}: how the stack is tiled is not known"
    return None


def no_stack(store: Checkpoint, shape: tuple[int, ...]) -> str | None:
    """Return why a stack of matrices has no place in a store: its tiles, or words of its header. None: it has. shape: of all."""
    header = store.facts.write.header if store.facts.write is not None else None
    if len(shape) > 2 and header is not None and any(item.sides for item in header.weight):
        return "its header says which rows and columns of a matrix share a scale: how it says so of a stack is not known"
    return untiled(store, shape)


def tensor_level(store: Checkpoint) -> StoredLevel | None:
    """Return the level of a store that holds one number of the whole tensor."""
    return next((item for item in store.facts.levels if item.meaning != "scale"), None)


def element_bits(block: Block) -> int:
    """Return the bits of an element code; all element formats of a block of a store have the same."""
    return derive.codes(get("format", block.element_formats[0])).bits


def stored_bits(store: Checkpoint) -> int:
    """Return the bits that a store keeps for an element code: those of the code, or a byte."""
    return 8 if store.facts.packing == "none" else element_bits(block_of(store))


@bounded(1, names=True)
def known_orders() -> tuple[str, ...]:
    """Return the orders in which scales of one byte lie in any store."""
    stores: list[Checkpoint] = [get("checkpoint", name) for name in names("checkpoint")]
    return tuple(dict.fromkeys(layout for store in stores for layout in store.facts.scale_layouts))


@bounded(16, names=True)
def known_packings(bits: int) -> tuple[str, ...]:
    """Return how codes of some bits lie in tensors of their own, in any store."""
    stores: list[Checkpoint] = [get("checkpoint", name) for name in names("checkpoint")]
    alike = [store for store in stores if store.facts.record is None and stored_bits(store) == bits]
    return tuple(dict.fromkeys(store.facts.packing for store in alike))


def unit_of(store: Checkpoint) -> int:
    """Return of how many elements a row of a store is a multiple: a record, or a block; 1 where the last block may be cut."""
    if store.facts.record is not None:
        return store.facts.record.elements
    return 1 if store.facts.edges == "cut" else block_of(store).facts.shape[1]


def bytes_of(store: Checkpoint, elements: int) -> int:
    """Return the bytes of the codes of some elements, whole units of a store."""
    return elements * stored_bits(store) // 8


def size_of_records(store: Checkpoint, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor of records of a shape in elements: in each unit a scale for each block, then the codes."""
    unit = unit_of(store)
    return math.prod(shape) // unit * (unit // block_of(store).facts.shape[1] + bytes_of(store, unit))
