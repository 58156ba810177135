"""Operands that no engine takes: one check of each, before any engine sees them, so that all refuse alike.

Checked where the public functions take them: dtypes and codes of x (emu.arrays.values), axes (emu.ops.functions), operands
of dot products (emu.ops.dot). Here: random words, tensor maxima, values that recipes cannot start from,
codes and levels of a quantized matrix.
Source: the spec objects themselves.   Tests: tests/engines/together/test_differential_operands.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes, check_codes
from emu.base.caches import bounded
from emu.base.errors import OperandError, ShapeError
from emu.spec import derive, get
from emu.spec.ieee import binary_format, is_binary32
from emu.spec.models import Block, Format, Recipe, Rounding
from emu.spec.models.rounding import Word
from emu.spec.programs.program import padded_size, quantize_program
from emu.spec.programs.types import Extent, extent_of


def random_words(random: NDArray[Any] | None, rounding: Rounding, size: int, taker: str = "") -> Codes | None:
    """Return the random integers of a rounding, unsigned, as they were given.

    size: elements that draw.   taker: who draws, for the message.   Raises: OperandError (missing, unwanted, no integers, how many, width).
    """
    taker, bits = taker or f"rounding {rounding.id}", rounding.random_bits
    if random is None:
        if bits:
            raise OperandError(f"{taker} needs random: {bits} bits an element")
        return None
    if not bits:
        raise OperandError(f"{taker} draws nothing: leave random out")
    if random.dtype.kind not in "iu":
        raise OperandError(f"random must be integers, not {random.dtype}")
    source = rounding.facts.random
    lanes, width = (source.lanes, source.word) if isinstance(source, Word) else (1, bits)
    wanted = -(-size // lanes)
    if random.size != wanted:
        raise OperandError(f"random has {random.size} integers, {taker} needs {wanted}")
    if random.size and random.dtype.kind == "i" and int(random.min()) < 0:
        raise OperandError(f"random must not be negative: {int(random.min())}")
    unsigned: Codes = random.view(np.dtype(f"u{random.dtype.itemsize}"))
    if unsigned.size and width < 8 * unsigned.dtype.itemsize and int(unsigned.max()) >> width:
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    return unsigned


def check_quantize(recipe: Recipe, codes: Codes, source: Format, tensor_amax: int | None, random: NDArray[Any] | None) -> Codes | None:
    """Check what a recipe is given and return its random integers, unsigned.

    codes: [R, C].   tensor_amax: binary32 code.   Raises: OperandError (a value that is no binary32 number, tensor_amax, random).
    """
    program = quantize_program(recipe)
    padded_size(recipe, *codes.shape)
    if binary_format(source) == "binary64" and is_binary32(program.arithmetic):
        check_binary32(codes)
    if tensor_amax is not None:
        fp32: Format = get("format", "fp32")
        if not program.reads("tensor_amax"):
            raise OperandError(f"recipe {recipe.id} reads no tensor_amax: leave it out")
        if tensor_amax & derive.codes(fp32).sign_bit and not derive.is_nan_code(tensor_amax, fp32):
            raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
    if program.drawing is None:
        if random is not None:
            raise OperandError(f"recipe {recipe.id} draws no random bits: leave random out")
        return None
    return random_words(random, program.drawing, codes.size, f"recipe {recipe.id}")


def check_binary32(codes: Codes) -> None:
    """Refuse binary64 values that are no binary32 numbers. Raises: OperandError."""
    wide = codes.astype(np.uint64, copy=False).view(np.float64)  # codes may lie in fewer bytes
    with np.errstate(all="ignore"):
        same = (wide.astype(np.float32) == wide) | np.isnan(wide)
    if not bool(same.all()):
        raise OperandError("a binary64 value is no binary32 number: recipes start from binary32, convert the array first")


def check_dequantize(recipe: Recipe, codes: NDArray[Any], levels: Mapping[str, NDArray[Any]]) -> tuple[Codes, dict[str, Codes]]:
    """Check the codes and levels of a quantized matrix and return them, unsigned.

    codes: [R, C].   levels: name -> [r, c]; what the block does not have is left out.
    Raises: OperandError (no integers, negative, too wide), OpenError (an unused bit), ShapeError (a level is missing or does not fit).
    """
    if codes.ndim != 2 or 0 in codes.shape:
        raise ShapeError("quantize and dequantize take a matrix with at least one element")
    narrowest, expected = _operands_of(recipe)
    plain = check_codes(codes, narrowest, "codes")
    rows, columns = padded_size(recipe, *codes.shape)
    if recipe.facts.tail != "zero_pad_drop" and codes.shape != (rows, columns):
        raise ShapeError(f"codes of recipe {recipe.id} keep their padding: {codes.shape} must be {(rows, columns)}")
    found = {}
    for name, fmt, extent in expected:
        shape = (rows // extent.rows if extent.rows else 1, columns // extent.columns if extent.columns else 1)
        given = levels.get(name)
        if given is None or given.shape != shape:
            what = "is missing" if given is None else f"has shape {given.shape}"
            raise ShapeError(f"level {name} {what}: codes of shape {codes.shape} need {shape}")
        found[name] = check_codes(given, fmt, f"level {name}")
    return plain, found


@bounded(256, names=True)
def _operands_of(recipe: Recipe) -> tuple[Format, tuple[tuple[str, Format, Extent], ...]]:
    """Return the narrowest element format of a recipe's block, and name, format and extent of its levels."""
    block: Block = get("block", recipe.facts.block)
    narrowest = min((get("format", name) for name in block.element_formats), key=lambda fmt: derive.codes(fmt).bits)
    return narrowest, tuple((level.name, get("format", level.format), extent_of(level.granularity, block)) for level in block.facts.levels)
