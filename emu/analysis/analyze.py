"""What a recipe does to a tensor: error, shrinkage, use of the code space.

The sums run over chunks of fixed size in a fixed order, in binary64, and the chunks are added exactly: the same tensor gives the same
figures on every call. Not here: the figures themselves (report.py), plots (plot.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.analysis.report import Report, add_up
from emu.arrays.rows import Rows
from emu.arrays.values import float_dtype, to_codes
from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.ops.quantized import Quantized
from emu.spec import Block, Format, Recipe, Transform, derive, get
from emu.spec.ieee import binary_format
from emu.spec.models.block import FlaggedElement, LevelFacts, OneElement
from emu.spec.programs.program import quantize_program
from emu.spec.programs.types import extent_of

CHUNK = 1 << 16
MARGIN = 1 + 2.0**-20

Matrix = NDArray[Any]


def tensor_report(
    x: Any,
    recipe: str | Recipe,
    transform: str | Transform | None = None,
    *,
    signs: int | None = None,
    axis: int = -1,
    row_axis: int = -2,
    source: str | Format | None = None,
    random: Any = None,
    engine: str = "auto",
) -> Report:
    """Quantize a tensor, dequantize it by the recipe's first profile to binary32, and measure what was lost.

    x: array of float16/32/64 or bfloat16, or unsigned codes with `source`.   transform: rotates x first; the loss is that of the rotated
    tensor (a rotation keeps lengths and angles, so the figures speak of x too; the rounding of the rotation itself is not in them).
    signs: for a transform that takes them, also the one in a recipe's own program.   random: as emu.quantize.
    Returns: Report.   NaN, Inf in x: the figures are None; a recipe that leaves them open raises.
    Raises: OpenError, ShapeError, OperandError (a transform for a recipe that rotates by itself), SpecError, EngineError.
    Source: SQNR, alpha and B_eff as in arXiv 2606.20381.   Tests: tests/analysis/test_analysis_analyze.py.
    """
    by: Recipe = get("recipe", recipe)
    if transform is None:
        return _quantizer_report(x, by, axis, row_axis, random, engine, signs, source)
    chosen: Transform = get("transform", transform)
    if inner_transform(by) is not None:
        raise OperandError(f"recipe {by.id} rotates by itself: leave the transform out")
    rotated = api.transform(x, chosen, axis, signs, source, engine)
    return replace(_quantizer_report(rotated, by, axis, row_axis, random, engine), transform=chosen.id)


def inner_transform(recipe: Recipe) -> Transform | None:
    """Return the rotation that a recipe's own program applies to x, or None.

    Raises: OperandError (it rotates something else, or twice: its values are not comparable with x).
    """
    found = [item for item in quantize_program(recipe).instructions if item.op == "transform"]
    if not found:
        return None
    if len(found) > 1 or found[0].args != ("x",):
        raise OperandError(f"recipe {recipe.id} rotates other things than x: its values are not comparable with x")
    chosen: Transform = get("transform", found[0].step.transform)
    return chosen


def _quantizer_report(
    x: Any, recipe: Recipe, axis: int, row_axis: int, random: Any, engine: str, signs: int | None = None, source: str | Format | None = None
) -> Report:
    """Measure what a recipe does to a tensor as it stands; x of a recipe that rotates by itself is the rotated tensor."""
    inner = inner_transform(recipe)
    found = api.quantize(x, recipe, axis, row_axis, source, random=random, signs=None if inner is None else signs, engine=engine)
    values = found.dequantize(np.float32, engine=engine)
    if inner is not None:
        given: Matrix = api.transform(x, inner, axis, signs, source, engine)
        return replace(_measure(given, values, found), transform=inner.id)
    codes, fmt = to_codes(x, source)
    given = codes.view(float_dtype(fmt)) if binary_format(fmt) else api.decode(codes, fmt, np.float64)
    return _measure(given, values, found)


def _measure(given: Matrix, values: Matrix, found: Quantized) -> Report:
    """Add up the sums of two tensors of one shape, chunk by chunk."""
    turned = Rows.of(given, found.axis, found.row_axis)
    x, y, codes = turned.matrix, turned.like(values), turned.like(found.codes)
    rows = _logical_rows(found, turned.row_axis)
    block: Block = found.block
    scales = _Scales(found, block)
    buckets = _Buckets(block)
    sums: list[tuple[float, float, float]] = []
    clipped = 0
    histogram = np.zeros(buckets.count, np.int64)
    with np.errstate(invalid="ignore", over="ignore"):
        for part in _parts(x.shape, block.facts.shape):
            wide = x[part].astype(np.float64)
            lost = y[part].astype(np.float64) - wide
            sums.append((float(np.sum(wide * wide)), float(np.sum(lost * lost)), float(np.sum(wide * lost))))
            flags = scales.flags(part)
            clipped += int(np.count_nonzero(scales.beyond(wide, part, buckets.largest[flags])))
            histogram += buckets.histogram(codes[rows[part[0]], part[1]], flags)
    signal, error, cross = (add_up(column) for column in zip(*sums, strict=True))
    counts = tuple(histogram.tolist())
    return Report(found.recipe.id, None, x.size, signal, error, cross, clipped, counts[buckets.zero] if buckets.zero >= 0 else 0, counts)


def element_scales(found: Quantized) -> Matrix:
    """Return what the value of each code is multiplied by: levels times factor, binary64, shape of the tensor without padding.

    Exactness: each product of levels is rounded to binary64, once per level after the first.   Flag levels are left out.
    """
    scales = _Scales(found, found.block)
    rows = Rows.of(np.broadcast_to(np.float64(1), found.shape), found.axis, found.row_axis)
    height, width = rows.matrix.shape
    return rows.restore(np.broadcast_to(scales.product((slice(0, height), slice(0, width))), (height, width)))


def _logical_rows(found: Quantized, row_axis: int) -> NDArray[np.intp]:
    """Return the rows of the code matrix that are no padding, in order."""
    if len(found.shape) == 1:
        return np.zeros(1, np.intp)
    padded = found.codes.shape[row_axis]
    kept = found.shape[row_axis]
    batch = found.codes.size // (padded * found.codes.shape[found.axis])
    rows: NDArray[np.intp] = np.arange(batch)[:, None] * padded + np.arange(kept)
    return rows.reshape(-1)


def _parts(shape: tuple[int, ...], tile: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Cut a matrix into chunks of about CHUNK elements along block borders, in row-major order."""
    width = min(shape[1], max(CHUNK // tile[1], 1) * tile[1])
    height = max(CHUNK // (width * tile[0]), 1) * tile[0]
    for row in range(0, shape[0], height):
        for column in range(0, shape[1], width):
            yield slice(row, min(row + height, shape[0])), slice(column, min(column + width, shape[1]))


class _Scales:
    """The levels of a quantized tensor, spread over its elements."""

    def __init__(self, found: Quantized, block: Block) -> None:
        self.block = block
        self.factor = derive.parse_exact(block.facts.factor)
        self.rows_per_matrix = 1 if len(found.shape) == 1 else found.shape[found.row_axis]
        self.levels: list[tuple[LevelFacts, Matrix]] = []
        rows = Rows.of(found.codes, found.axis, found.row_axis)
        for facts, level in zip(block.facts.levels, found.levels, strict=True):
            codes = rows.like(level.codes)
            fmt: Format = get("format", facts.format)
            self.levels.append((facts, codes if facts.meaning == "flag" else api.decode(codes, fmt, np.float64)))

    def _spread(self, facts: LevelFacts, codes: Matrix, part: tuple[slice, slice]) -> Matrix:
        """Return the level's value at each element of a part (or something that broadcasts to it)."""
        place = extent_of(facts.granularity, self.block)
        rows = np.arange(part[0].start, part[0].stop)
        if place.rows:
            parts = -(-self.rows_per_matrix // place.rows)
            rows = rows // self.rows_per_matrix * parts + rows % self.rows_per_matrix // place.rows
        else:
            rows = np.zeros(1, np.intp)
        columns = np.arange(part[1].start, part[1].stop) // place.columns if place.columns else np.zeros(1, np.intp)
        spread: Matrix = codes[rows][:, columns]
        return spread

    def product(self, part: tuple[slice, slice]) -> Matrix:
        """Return levels times factor at each element of a part (or something that broadcasts to it)."""
        total: Matrix = np.full((1, 1), float(self.factor))
        for facts, codes in self.levels:
            if facts.meaning == "multiply":
                total = total * self._spread(facts, codes, part)
            elif facts.meaning == "divide":
                total = total / self._spread(facts, codes, part)
        return total

    def flags(self, part: tuple[slice, slice]) -> Matrix:
        """Return which element format each element of a part has: 0 or 1."""
        element = self.block.facts.element
        if not isinstance(element, FlaggedElement):
            return np.zeros((1, 1), np.intp)
        facts, codes = next(item for item in self.levels if item[0].name == element.flag)
        flags: Matrix = (self._spread(facts, codes, part) != 0).astype(np.intp)
        return flags

    def beyond(self, wide: Matrix, part: tuple[slice, slice], largest: Matrix) -> Matrix:
        """Return where |x| > largest * levels * factor by more than MARGIN; fractions are multiplied out, both sides are short products."""
        left, right = np.abs(wide) * float(self.factor.denominator), largest * float(self.factor.numerator)
        for facts, codes in self.levels:
            if facts.meaning == "multiply":
                right = right * self._spread(facts, codes, part)
            elif facts.meaning == "divide":
                left = left * self._spread(facts, codes, part)
        over: Matrix = left > np.abs(right) * MARGIN
        return over


class _Buckets:
    """The distinct finite values of a block's elements, and which one each code means.

    largest: binary64 [flags], the largest value of each element format, choice factors included (of int4 7: no recipe here uses -8).
    zero: place of 0, -1 without one.
    """

    def __init__(self, block: Block) -> None:
        element = block.facts.element
        if isinstance(element, OneElement):
            choices = [(element.format, Fraction(1))]
        else:
            choices = [(item.format, derive.parse_exact(item.factor)) for item in element.choice]
        values = [self._values(get("format", name), factor) for name, factor in choices]
        distinct = sorted({value for table in values for value in table if value is not None})
        place = {value: number for number, value in enumerate(distinct)}
        self.count, self.zero = len(distinct), place.get(Fraction(0), -1)
        self.width = max(len(table) for table in values)
        self.places = [[len(distinct) if value is None else place[value] for value in table] for table in values]
        self.largest = np.array([float(max(value for value in table if value is not None)) for table in values])

    @staticmethod
    def _values(fmt: Format, factor: Fraction) -> list[Fraction | None]:
        found = [decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)]
        return [value.signed * factor if value.kind == "finite" else None for value in found]

    def histogram(self, codes: Matrix, flags: Matrix) -> NDArray[np.int64]:
        """Return elements per distinct value; codes that are NaN or Inf are left out."""
        index = codes.astype(np.intp) + flags * self.width
        counts = np.bincount(index.reshape(-1), minlength=self.width * len(self.places))
        out = np.zeros(self.count + 1, np.int64)
        for flag, table in enumerate(self.places):
            np.add.at(out, table, counts[flag * self.width : flag * self.width + len(table)])
        return out[: self.count]
