"""An array turned to rows, and the way back: engines take matrices of codes, callers have arrays of any shape and axis order.

    caller's array, blocked along `axis`          matrix of R rows and C values         result of an engine
    [..., axis, ..., row_axis, ...]   Rows.of ->  row_axis and axis last, the rest   ->  restore -> the caller's axis order
                                                  of the axes laid before the rows

A matrix is a view where the memory order allows it. Also here: codes of a few bits in bytes along an axis.
Not here: what the codes mean (emu.spec), what an engine does with the rows (emu.engines), where rows come from (emu.files).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes, whole_number
from emu.base.errors import ShapeError
from emu.spec.models import Block
from emu.spec.programs.types import extent_of

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """An array as a matrix whose columns lie along the blocked axis.

    matrix: [R, C]; a vector is one row.   shape: of the caller's array.   axis: the blocked one.   row_axis: the other side of a 2-D tile,
    whose elements lie in neighbouring rows; both as the caller counts them.
    """

    matrix: Array
    shape: tuple[int, ...]
    axis: int
    row_axis: int

    @classmethod
    def of(cls, array: Array, axis: int = -1, row_axis: int = -2) -> Rows:
        """Return an array as rows. row_axis: where it is axis too, the other of the last two axes is taken.

        Raises: ShapeError (a scalar; an axis out of range), OperandError (an axis that is no integer).
        """
        axis = whole_number(axis, "axis")
        row_axis = default_row_axis(axis, whole_number(row_axis, "row_axis"), array.ndim)
        return cls(_turned(array, axis, row_axis), array.shape, axis, row_axis)

    def like(self, array: Array) -> Array:
        """Return the matrix of another array with the same axes: random integers, values, or codes of a level. Raises: as of.

        An array of another number of axes, such as the one code of a whole tensor, is one row.
        """
        return _turned(array, self.axis, self.row_axis) if array.ndim == len(self.shape) else array.reshape(1, -1)

    def restore(self, matrix: Array) -> Array:
        """Return a matrix in the caller's axis order; a view. Its columns may be fewer or more than those of the caller, and its rows too,
        as in the codes of a level or where a recipe keeps its padding."""
        if len(self.shape) == 1:
            return matrix.reshape(-1)
        lead = self.lead
        stack = math.prod(lead)
        shaped = matrix.reshape(*lead, matrix.shape[0] // stack if stack else self.shape[self.row_axis], matrix.shape[1])
        return shaped if self.in_memory_order else np.moveaxis(shaped, (-2, -1), (self.row_axis, self.axis))

    def restore_levels(self, levels: Mapping[str, Array], block: Block) -> dict[str, Array]:
        """Return the codes of each level in the caller's axis order, without axes where the whole tensor shares one.

        levels: name -> [r, c], as an engine gives them.   Raises: KeyError (a level is missing).
        """
        found = {}
        for level in block.facts.levels:
            extent, matrix = extent_of(level.granularity, block), levels[level.name]
            found[level.name] = self.restore(matrix) if extent.rows or extent.columns else matrix.reshape(())
        return found

    @property
    def lead(self) -> tuple[int, ...]:
        """Lengths of the axes before the last two of the array once its axes are moved: those of a stack of matrices."""
        ndim = len(self.shape)
        taken = (self.axis % ndim, self.row_axis % ndim)
        return tuple(length for number, length in enumerate(self.shape) if ndim > 1 and number not in taken)

    @property
    def height(self) -> int:
        """Rows of one matrix of the stack."""
        return self.shape[self.row_axis] if len(self.shape) > 1 else 1

    @property
    def in_memory_order(self) -> bool:
        """Tell whether the rows are the array's own last axis, and in its own order: nothing was moved."""
        ndim = len(self.shape)
        return self.axis % ndim == ndim - 1 and (ndim == 1 or self.row_axis % ndim == ndim - 2)


def _turned(array: Array, axis: int, row_axis: int) -> Array:
    """Return an array with row_axis and axis moved last and everything before the last axis flattened. Raises: ShapeError."""
    if array.ndim == 0:
        raise ShapeError("a scalar has no axis to quantize along: give an array of at least one dimension")
    if array.ndim == 1:
        array, axis, row_axis = array.reshape(1, -1), 1 if axis in (0, -1) else 9, 0
    if not -array.ndim <= axis < array.ndim or not -array.ndim <= row_axis < array.ndim:
        raise ShapeError(f"axis {axis} and row_axis {row_axis} must lie in the {array.ndim} dimensions of the array")
    if axis % array.ndim == row_axis % array.ndim:
        raise ShapeError("axis and row_axis must differ")
    last = (row_axis % array.ndim, axis % array.ndim) == (array.ndim - 2, array.ndim - 1)
    moved = array if last else np.moveaxis(array, (row_axis, axis), (-2, -1))
    return moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])


def default_row_axis(axis: int, row_axis: int, ndim: int) -> int:
    """Return row_axis, or the other of the last two axes where it would coincide with axis."""
    if ndim < 2 or not -ndim <= row_axis < ndim or axis % ndim != row_axis % ndim:
        return row_axis
    return -1 if axis % ndim == ndim - 2 else -2


def pack_nibbles(codes: Codes) -> Codes:
    """Return codes of 4 bits, two per byte along the last axis, the even element in the low nibble."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], 1), codes.dtype)], axis=-1)
    pairs = np.ascontiguousarray(codes.astype(np.uint8, copy=False)).view("<u2")
    packed: Codes = (pairs >> 4 | pairs).astype(np.uint8)
    return packed


def unpack_nibbles(packed: Codes, length: int) -> Codes:
    """Return the first `length` codes of packed nibbles along the last axis."""
    out = np.empty((*packed.shape[:-1], packed.shape[-1] * 2), np.uint8)
    out[..., 0::2] = packed & 15
    out[..., 1::2] = packed >> 4
    return out[..., :length]


def pack_halves(codes: Codes) -> Codes:
    """Return codes of 4 bits, two per byte: byte j of the last axis holds code j in the low nibble, code j + half in the high one.

    codes: [..., n], n even.   Returns: uint8 [..., n / 2].
    """
    half = codes.shape[-1] // 2
    packed: Codes = (codes[..., :half] | codes[..., half:] << 4).astype(np.uint8)
    return packed


def unpack_halves(packed: Codes) -> Codes:
    """Return the codes of pack_halves, one in each byte. uint8 [..., 2 n]."""
    return np.concatenate([packed & 15, packed >> 4], -1)


def pack_codes(codes: Codes, bits: int) -> Codes:
    """Return codes along the last axis as one row of bits, the first code in the lowest bits of the first byte. uint8 [..., n * bits / 8].

    bits: of a code, 1 to 8.   Raises: ShapeError (codes that fill no whole number of bytes).
    """
    if bits == 8:
        return codes.astype(np.uint8, copy=False)
    if bits == 4 and codes.shape[-1] % 2 == 0:
        return pack_nibbles(codes)
    count, size = group_of(bits)
    if codes.shape[-1] % count:
        raise ShapeError(f"{codes.shape[-1]} codes of {bits} bits fill no whole number of bytes: a multiple of {count} is needed")
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    words = (codes.reshape(*codes.shape[:-1], -1, count).astype(np.uint64) << shifts).sum(-1, dtype=np.uint64)
    packed: Codes = np.ascontiguousarray(words.astype("<u8")[..., None]).view(np.uint8)[..., :size]
    return packed.reshape(*codes.shape[:-1], -1)


def unpack_codes(packed: Codes, bits: int) -> Codes:
    """Return the codes of pack_codes, one in each byte. packed: uint8 [..., whole groups of bytes].   Raises: ShapeError."""
    if bits == 8:
        return packed
    if bits == 4:
        return unpack_nibbles(packed, packed.shape[-1] * 2)
    count, size = group_of(bits)
    if packed.shape[-1] % size:
        raise ShapeError(f"{packed.shape[-1]} bytes hold no whole number of groups of {count} codes of {bits} bits in {size} bytes")
    groups = packed.reshape(*packed.shape[:-1], -1, size)
    words = np.zeros((*groups.shape[:-1], 8), np.uint8)
    words[..., :size] = groups
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    codes: Codes = (words.view("<u8") >> shifts & np.uint64((1 << bits) - 1)).astype(np.uint8)
    return codes.reshape(*packed.shape[:-1], -1)


def group_of(bits: int) -> tuple[int, int]:
    """Return the smallest number of codes that fill whole bytes, and these bytes: four codes of 6 bits in three."""
    return 8 // math.gcd(bits, 8), bits // math.gcd(bits, 8)


def axis_last(codes: Codes, axis: int) -> Codes:
    """Return codes with one axis last, as bytes of packed codes lie; a view."""
    return np.moveaxis(codes, axis, -1)


def axis_back(codes: Codes, axis: int) -> Codes:
    """Return codes whose last axis belongs at another place, a view: the opposite of axis_last."""
    return np.moveaxis(codes, -1, axis)
