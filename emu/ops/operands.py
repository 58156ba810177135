"""Operands of a matmul: rows of codes along K, one row of scale codes each, and a tensor multiplier, taken from a Quantized."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from emu.arrays.rows import Rows
from emu.arrays.values import Codes, plain_array
from emu.base.errors import OperandError, ShapeError, SpecError
from emu.engines.exact.block import dequantize
from emu.engines.exact.encode import code_of_one
from emu.ops.quantized import Level, Quantized
from emu.spec import derive, get
from emu.spec.ieee import is_binary32
from emu.spec.models import Format


@dataclass(frozen=True, eq=False)
class Operand:
    """One operand with K last.

    codes: [rows, K].   scales: [rows, K / block] codes, or None.   block: elements per scale, 0 without scales.
    tensor_scale: binary32 code of the multiplier of all values, or None.   row_scales: [rows] binary32 codes, of each row, or None.
    factor: what the block multiplies every value by; the multipliers have it in them, unless they are the stored ones (as_stored).
    """

    codes: Codes
    scales: Codes | None
    format: Format
    block: int
    scale_format: Format | None
    tensor_scale: int | None = None
    row_scales: Codes | None = None
    factor: Fraction = Fraction(1)

    @property
    def outer(self) -> Codes | None:
        """Binary32 codes of what follows the sum: [1] of the tensor, [rows], or None."""
        return self.row_scales if self.tensor_scale is None else np.array([self.tensor_scale], np.uint32)

    @property
    def has_rows_and_blocks(self) -> bool:
        """Tell whether a scale of each row follows the sum, and scales of blocks are in it."""
        return self.row_scales is not None and self.scales is not None

    @property
    def is_scaled(self) -> bool:
        """Tell whether a scale follows the sum."""
        return self.tensor_scale is not None or self.row_scales is not None


def read_codes(codes: Any, name: str) -> Codes:
    """Return unsigned codes as an array of at least one axis. Raises: OperandError (no integers, negative), ShapeError (a scalar)."""
    array = plain_array(codes, name)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "i" and array.size and int(array.min()) < 0):
        raise OperandError(f"{name} must be unsigned integers, not {array.dtype}")
    if array.ndim == 0:
        raise ShapeError(f"{name} is a scalar: give codes along K")
    return array.astype(np.uint64) if array.dtype.kind == "i" else array


def operand_of(q: Any, name: str, axis: int, profile: str | None) -> Operand:
    """Return a quantized matrix as rows along K.

    q: a Quantized, blocked along K.   name: a or b.   axis: which of its axes K is.   profile: how its tensor level becomes a multiplier.
    Raises: ShapeError (blocked along another axis), SpecError (levels that no datapath has), OperandError (no Quantized).
    """
    if not isinstance(q, Quantized):
        raise OperandError(f"{name} must be a Quantized (emu.quantize makes one), not {type(q).__name__}")
    ndim = len(q.shape)
    if ndim < 2 or (name == "b" and ndim > 2):
        raise ShapeError(f"{name} must be {'a matrix [K, N]' if name == 'b' else 'at least a matrix'}, not {ndim}-dimensional")
    if q.axis % ndim != axis % ndim:
        other = f"quantize with axis={axis}" + (", or pass its transpose .T" if ndim == 2 else "")
        raise ShapeError(f"{name}: the inner dimension is axis {axis % ndim}, its blocks lie along axis {q.axis % ndim}: {other}")
    level, by_row = _scale_levels(q, name)
    codes = np.ascontiguousarray(Rows.of(q.codes, axis).matrix)
    fmt: Format = get("format", q.block.element_formats[0])
    tensor = None if by_row is not None else _multiplier(q, profile)
    rows = None if by_row is None else _row_multipliers(q, by_row, axis, profile)
    factor = derive.parse_exact(q.block.facts.factor)
    if level is None:
        return Operand(codes, None, fmt, 0, None, tensor, rows, factor)
    scale: Format = get("format", level.format)
    return Operand(codes, _scale_rows(q, level, axis), fmt, q.block.facts.shape[1], scale, tensor, rows, factor)


def as_stored(item: Operand, q: Quantized, name: str, axis: int, why: str) -> Operand:
    """Return the operand with the scale of its tensor or of its rows as it is stored, not as its recipe multiplies by it.

    why: which rule wants that, for a message.   Raises: SpecError (there is none, or several; it is no binary32 multiplier).
    """
    found = [level for level in q.levels if level.granularity in ("tensor", "row")]
    if len(found) != 1:
        have = " and ".join(level.name for level in found) if found else "none"
        raise SpecError(f"{name}: {why} multiplies one stored scale of a tensor or of rows for each operand, block {q.block.id} has {have}")
    (level,) = found
    if level.meaning != "multiply" or not is_binary32(get("format", level.format)):
        raise SpecError(
            f"{name}: {why} multiplies a stored binary32 scale, {level.name} of block {q.block.id} is {level.format}, {level.meaning}"
        )
    if level.granularity == "tensor":
        return replace(item, tensor_scale=int(level.codes))
    return replace(item, row_scales=Rows.of(level.codes, axis).matrix.reshape(-1).astype(np.uint32))


def _scale_levels(q: Quantized, name: str) -> tuple[Level | None, Level | None]:
    """Return the level that scales blocks or tiles, and the one that scales rows.

    Raises: SpecError (a block that no dot product takes as it is).
    """
    if len(q.block.element_formats) > 1:
        raise SpecError(f"{name}: block {q.block.id} chooses the element format by a flag: no datapath takes that")
    found = [level for level in q.levels if level.granularity != "tensor"]
    rows = [level for level in found if level.granularity == "row" and level.meaning != "flag" and len(found) == len(q.levels)]
    inner = [level for level in found if level.granularity in ("block", "tile") and level.meaning == "multiply"]
    if len(rows) > 1 or len(inner) > 1 or len(rows) + len(inner) < len(found):
        shown = ", ".join(f"{level.name} per {level.granularity} ({level.meaning})" for level in found)
        raise SpecError(f"{name}: block {q.block.id} has the levels {shown}: a datapath multiplies by one scale per block")
    return (inner[0] if inner else None), (rows[0] if rows else None)


def _scale_rows(q: Quantized, level: Level, axis: int) -> Codes:
    """Return one row of scales per row of codes; the scale of a tile is repeated along the other axis of the tile."""
    scales = level.codes
    if level.granularity == "tile":
        scales = np.repeat(scales, q.block.facts.shape[0], axis=q.row_axis)
        scales = np.delete(scales, slice(q.codes.shape[q.row_axis], None), axis=q.row_axis)
    return np.ascontiguousarray(Rows.of(scales, axis).matrix)


def _multiplier(q: Quantized, profile: str | None) -> int | None:
    """Return the binary32 code of what the recipe's dequantize program multiplies all values by; None for exactly 1 without a tensor level.

    The program runs on one block of elements 1 with scale 1: what comes out is the multiplier, rounded as the program rounds.
    """
    rows, columns = q.block.facts.shape
    levels = {}
    for level in q.levels:
        code = int(level.codes) if level.granularity == "tensor" else code_of_one(get("format", level.format))
        levels[level.name] = [[code]] * (1 if level.granularity in ("tensor", "tile") else rows)
    one = [[code_of_one(get("format", q.block.element_formats[0]))] * columns for _ in range(rows)]
    found = dequantize(q.recipe, one, levels, profile=profile, result=get("format", "fp32"))[0][0]
    return None if q.tensor_scale is None and found == fp32_one() else found


def _row_multipliers(q: Quantized, level: Level, axis: int, profile: str | None) -> Codes:
    """Return the binary32 code of what the recipe's dequantize program multiplies each row by, run on ones."""
    codes, places = np.unique(Rows.of(level.codes, axis).matrix, return_inverse=True)
    ones = [[code_of_one(get("format", q.block.element_formats[0]))] * q.block.facts.shape[1]] * len(codes)
    levels = {item.name: [[code_of_one(get("format", item.format))]] * len(codes) for item in q.levels}
    levels[level.name] = codes[:, None].tolist()
    found = dequantize(q.recipe, ones, levels, profile=profile, result=get("format", "fp32"))
    return np.array([row[0] for row in found], np.uint32)[places.reshape(-1)]


def fp32_one() -> int:
    """Return the binary32 code of 1."""
    return code_of_one(get("format", "fp32"))
