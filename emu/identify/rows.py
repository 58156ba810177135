"""Rows of questions about quantize kernels, and what a variant answers. Not here: which rows (cases.py), asking a kernel (ask.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import EngineError, OpenError, ShapeError
from emu.check.judge import is_nan
from emu.contracts.form import takes_signs
from emu.engines.c_ref.block import quantize_with_open
from emu.engines.c_ref.call import code_dtype
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.numpy.block import amax_bits
from emu.spec import derive
from emu.spec.ieee import binary_format
from emu.spec.models import Format, Recipe
from emu.spec.programs.program import Program, quantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import get

Bits = NDArray[Any]
OPEN: Final = -1
KEY: Final = 1
CORNERS: Final = 3  # draws 0, 1, 2: all zeros, all ones (the number 1), all bits set
Answers = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Tile:
    """One tile.

    x: fp32 codes, row by row.   amax: fp32 code of the tensor maximum.   draw: which random integers.   flags: why asked.
    signs: bit i negates element i of each rotated group, for recipes that take signs.
    """

    x: tuple[int, ...]
    amax: int
    draw: int = CORNERS
    flags: tuple[str, ...] = ()
    signs: int = 0

    def random(self) -> NDArray[np.uint32]:
        """Return 32-bit words, one per element; a rounding takes the low bits of each."""
        if self.draw < CORNERS:
            return np.full(len(self.x), (0, 1, 0xFFFFFFFF)[self.draw], np.uint32)
        start = (self.draw - CORNERS) * len(self.x)
        return philox.words(KEY, len(self.x), start, philox.stream_of("identify")).astype(np.uint32)

    @property
    def is_special(self) -> bool:
        """Tell whether an element is NaN or infinite."""
        return any(code & 0x7FFFFFFF >= 0x7F800000 for code in self.x)


@dataclass(frozen=True)
class Call:
    """Rows that are asked together: one tensor maximum, one mask of signs, tiles one below another.

    x: codes of the source format [rows, n]; a tile more than numbers has the tensor maximum, for kernels that take it from x.
    numbers: places of the rows in the list they come from.
    """

    x: Bits
    amax: int
    random: Bits
    numbers: tuple[int, ...]
    signs: int = 0


def narrowed(row: Tile, source: Format) -> list[int] | None:
    """Return the elements as codes of a source format; None where one has no such code."""
    fp32: Format = get("format", "fp32")
    if binary_format(source) == "binary32":
        return list(row.x)
    if binary_format(source) == "bfloat16":
        return None if any(code & 0xFFFF for code in row.x) else [code >> 16 for code in row.x]
    codes = derive.codes(source)
    top = decode_code(codes.max_code, source).magnitude
    out = []
    for code in row.x:
        value = decode_code(code, fp32)
        if value.kind == "finite" and value.magnitude > top:
            return None
        try:
            out.append(encode_value(value, source))
        except (ValueError, AssertionError):
            return None
    return out


def calls(rows: Sequence[Tile], shape: tuple[int, int], source: Format) -> list[Call]:
    """Return the calls that ask some rows: those of one tensor maximum and signs together, NaN and Inf alone."""
    groups: dict[tuple[int, int, int], list[tuple[int, list[int]]]] = {}
    for number, row in enumerate(rows):
        codes = narrowed(row, source)
        if codes is not None:
            groups.setdefault((row.amax, row.signs, number if row.is_special else -1), []).append((number, codes))
    out = []
    for (amax, signs, _), members in groups.items():
        x = np.array([codes for _, codes in members], code_dtype(source)).reshape(-1, shape[1])
        random = np.concatenate([rows[number].random() for number, _ in members]).reshape(-1, shape[1])
        call = Call(x, amax, random, tuple(number for number, _ in members), signs)
        out.append(_with_maximum(call, source, shape))
    return out


def _with_maximum(call: Call, source: Format, shape: tuple[int, int]) -> Call:
    """Return the call with one more tile that holds the tensor maximum; as it is where an element is as large, or it has no such code."""
    code = {"binary32": call.amax, "bfloat16": None if call.amax & 0xFFFF else call.amax >> 16}.get(binary_format(source) or "")
    if code is None or amax_bits(call.x, source) >= call.amax:
        return call
    more = np.zeros(shape, call.x.dtype)
    more[0, 0] = code
    random = np.concatenate([call.random, np.zeros(shape, call.random.dtype)])
    return replace(call, x=np.concatenate([call.x, more]), random=random)


def random_bits(program: Program) -> int:
    """Return how many random bits an element takes; 0 where the program draws none."""
    return 0 if program.drawing is None else program.drawing.random_bits


def expected(recipe: Recipe, asked: Sequence[Call], source: Format, count: int, own_amax: bool = False) -> Answers:
    """Return what a recipe answers: codes [count, elements of a tile] and each level [count, codes of a tile], OPEN where nobody knows.

    count: rows in the list.   own_amax: the tensor maximum is that of the call's elements, not the operand.
    """
    program = quantize_program(recipe)
    tall, wide = program.block.facts.shape
    out: Answers = {"codes": np.full((count, tall * wide), OPEN, np.int64)}
    for call in asked:
        amax = amax_bits(call.x, source) if own_amax else call.amax
        found = quantized(recipe, program, call, source, amax if program.reads("tensor_amax") else None)
        numbers = list(call.numbers)
        if found is None:
            continue
        codes, levels = found
        tiles = codes.shape[0] // tall
        out["codes"][numbers] = codes.reshape(tiles, tall * wide)[: len(numbers)]
        for level in program.block.facts.levels:
            array = by_tile(levels[level.name], extent_of(level.granularity, program.block).rows, tiles)
            array = canonical(array, get("format", level.format))[: len(numbers)]
            out.setdefault(level.name, np.full((count, array.shape[1]), OPEN, np.int64))[numbers] = array
    return out


def quantized(recipe: Recipe, program: Program, call: Call, source: Format, amax: int | None) -> tuple[Bits, dict[str, Bits]] | None:
    """Return the codes and levels that a recipe gives a call, OPEN where nobody knows; None where no engine takes it."""
    bits = random_bits(program)
    drawn = call.random & np.uint32((1 << bits) - 1) if bits else None
    signs = call.signs if takes_signs(recipe) else None
    try:
        found, marks = quantize_with_open(recipe, call.x, source, tensor_amax=amax, random=drawn, signs=signs)
    except (EngineError, OpenError, ShapeError):
        return None
    codes = np.where(marks.codes == 1, OPEN, found.codes.astype(np.int64))
    return codes, {name: np.where(marks.levels[name] == 1, OPEN, level.astype(np.int64)) for name, level in found.levels.items()}


def by_tile(level: Bits, rows: int, count: int) -> NDArray[np.int64]:
    """Return the codes of a level by tile: [count, codes of a tile]; one of the whole tensor is repeated."""
    array = np.asarray(level).astype(np.int64)
    if rows == 0:
        return np.repeat(array.reshape(1, -1), count, axis=0)
    return array.reshape(count, -1)


def canonical(codes: NDArray[np.int64], fmt: Format) -> NDArray[np.int64]:
    """Return codes with every NaN as one code, of a wide float format (payloads are nobody's contract) and of one with unused high bits."""
    derived = derive.codes(fmt)
    spare = derive.unused_high_bits(fmt)
    if not spare and (derived.inf is None or derived.bits <= 8):
        return codes
    low = codes & (1 << derived.bits) - 1 if spare else codes
    return np.where((codes >= 0) & is_nan(low, fmt), derived.nan[0], codes)


def agree(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell by row whether two answers agree; what is open on either side agrees with everything."""
    same: NDArray[np.bool_] = ((mine == theirs) | (mine == OPEN) | (theirs == OPEN)).all(axis=1)
    return same


def shown_row(row: Tile) -> dict[str, str]:
    """Return a row as hex text: the elements as fp32 codes, trailing zero elements left out; signs where some are negated."""
    codes = list(row.x)
    while len(codes) > 1 and codes[-1] == 0:
        codes.pop()
    signs = {"signs": f"{row.signs:04x}"} if row.signs else {}
    return {"x": " ".join(f"{code:08x}" for code in codes), "tensor_amax": f"{row.amax:08x}", **signs}
