"""A second judge, small enough to read: a conversion by searching the decoded grid, for sources whose values binary64 holds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu import strategies
from emu.base.philox import words
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Recipe
from emu.spec.models.format import CodebookFacts
from emu.spec.registry import get

MODES = ("odd", "rd", "rna", "rne", "ru", "rz")
Judge = Callable[[NDArray[Any], Format, str, EntryCodes], NDArray[np.int64]]


@lru_cache(maxsize=64)
def grid(name: str) -> NDArray[np.float64]:
    """Magnitudes of codes 0, 1, ... up to one beyond the largest finite one, as binary64; index = code."""
    fmt = get("format", name)
    derived = derive.codes(fmt)
    count = derived.max_code + 1
    if derived.bits == 16:
        wide = np.arange(count, dtype=np.uint32)
        low = (wide << 16).view(np.float32) if name == "bf16" else wide.astype(np.uint16).view(np.float16)
        points = low.astype(np.float64)
        return np.append(points, 2 * points[-1] - points[-2])
    exact = [decode_code(code, fmt).magnitude for code in range(count)]
    power = getattr(fmt.facts, "frac_bits", 0 if fmt.facts.class_ == "exponent" else None) == 0
    step = exact[-1] if power else exact[-1] - exact[-2]  # powers of two go on doubling
    exact.append(exact[-1] + step)
    if derive.is_twos_complement(fmt):
        exact.append(exact[-1] + step)
    points = np.array([float(value) for value in exact])
    assert [Fraction(value) for value in points.tolist()] == exact
    return points


def goes_up(mode: str, low: Any, middle: Any, size: Any, odd: Any, negative: Any) -> Any:
    """Whether the code above is taken, mode by mode."""
    inexact = size > low
    if mode == "rne":
        return (size > middle) | ((size == middle) & odd)
    if mode == "rna":
        return size >= middle
    if mode == "odd":
        return inexact & ~odd
    return inexact & {"rz": np.zeros_like(negative), "ru": ~negative, "rd": negative}[mode]


def by_grid(values: NDArray[Any], fmt: Format, mode: str, entry: EntryCodes) -> NDArray[np.int64]:
    """Codes of values (float32 or float64 array, the sign of NaN counts); OPEN and REFUSE are -1 and -2.

    Not for codebooks, wrap, fp32 or fp64.
    """
    assert not isinstance(fmt.facts, CodebookFacts) and entry.overflow != "wrap" and derive.codes(fmt).bits <= 16
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    derived, two = derive.codes(fmt), derive.is_twos_complement(fmt)
    source_sign = np.signbit(values)
    sign = source_sign if derived.sign_bit or two else np.zeros_like(source_sign)
    points, size = grid(fmt.id), np.abs(wide)
    place = np.clip(np.searchsorted(points, size, side="right") - 1, 0, len(points) - 2)
    low, high = points[place], points[place + 1]
    code = place + goes_up(mode, low, (low + high) / 2, size, place % 2 == 1, sign)
    code = np.where(size >= points[-1], len(points) - 1, code)
    largest = derived.max_code + (sign if two else 0)
    over, infinite = (code > largest) | np.isinf(wide), np.isinf(wide)
    signed = attach(np.minimum(code, largest), sign, fmt)
    out = np.where(over, beyond(signed, infinite, sign, fmt, mode, entry), signed)
    if entry.zero is not None:
        out = np.where(wide == 0, np.where(source_sign, entry.zero[1], entry.zero[0]), out)
    if entry.negative is not None and not derived.sign_bit and not two:
        out = np.where(source_sign & (wide != 0), entry.negative, out)
    return np.where(np.isnan(wide), np.where(source_sign, entry.nan[1], entry.nan[0]), out)


def attach(code: Any, sign: Any, fmt: Format) -> Any:
    derived = derive.codes(fmt)
    if derive.is_twos_complement(fmt):
        return np.where(sign, (1 << derived.bits) - code, code) % (1 << derived.bits)
    return np.where(sign & ((code > 0) | derived.neg_zero), code | derived.sign_bit, code)


def beyond(at_max: Any, infinite: Any, sign: Any, fmt: Format, mode: str, entry: EntryCodes) -> Any:
    """Codes of overflow: the five words, typed from their definition."""
    if entry.overflow == "saturate":
        out = at_max
    else:
        inf = derive.codes(fmt).inf
        pair = (inf, (inf or 0) | derive.codes(fmt).sign_bit) if entry.overflow.endswith("inf") else entry.overflow_nan
        assert pair is not None
        away = np.where(sign, pair[1], pair[0])
        stays = {"rne": False, "rna": False, "rz": True, "odd": True, "ru": sign, "rd": ~sign}[mode]
        out = np.where(stays & ~infinite, at_max, away) if entry.overflow.startswith("ieee") else away
    if entry.inf is not None:
        out = np.where(infinite, np.where(sign, entry.inf[1], entry.inf[0]), out)
    return out


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Conversion by searching the decoded grid."""
    return by_grid


def scale_ties(recipe: Recipe) -> list[int]:
    """fp32 codes of block maxima whose scale is at, or one ulp beside, a decision point of the scale format; tensor factor 1."""
    block = get("block", recipe.facts.block)
    top = strategies.element_maximum(recipe)
    found = []
    for level in block.facts.levels:
        fmt = get("format", level.format)
        if derive.codes(fmt).bits <= 8 and fmt.facts.class_ in ("float", "exponent"):
            points = [point for point in strategies.decision_points(fmt) if Fraction(1, 4) <= point <= 448]
            found += [code for point in points for code in strategies.codes_near(point * top, "fp32", (-1, 0, 1))]
    return found or [0x3F800000]


def matrix_of(recipe: Recipe, special: bool = False) -> NDArray[np.uint32]:
    """fp32 codes of 8 x 2 blocks (one panel of tiles for 2-D blocks), every one of another kind; special: half of them hold NaN or Inf.

    Kinds: one binade, ties of the scale, ties of the elements, zeros of both signs, subnormals, huge, one element, powers of two, wide.
    """
    rows, lanes = get("block", recipe.facts.block).facts.shape
    lanes = lanes if lanes > 1 else 16  # a whole row, or a tensor
    draw = words(77, 16 * rows * lanes).reshape(16, rows * lanes)
    kinds = np.empty((16, rows * lanes), np.uint32)
    ties = scale_ties(recipe)
    points = [code for point in strategies.decision_points(get("block", recipe.facts.block).element_formats[0]) for code in around(point)]
    for i in range(16):
        kinds[i] = kind_of_block(i, draw[i], points, ties)
    if special:
        for i, code in enumerate([0x7FC00000, 0xFFC00001, 0x7F800001, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x7F800000, 0xFF800000]):
            kinds[i, (5 * i + 1) % lanes] = code
        kinds[6, 0], kinds[7, :] = 0x7FC00000, 0x7F800000
    height = 8 if rows == 1 else 1
    return np.ascontiguousarray(kinds.reshape(height, 16 // height, rows, lanes).transpose(0, 2, 1, 3)).reshape(height * rows, -1)


def around(point: Fraction) -> tuple[int, ...]:
    return strategies.codes_near(point, "fp32", (-1, 0, 1))


def kind_of_block(i: int, draw: NDArray[np.uint32], points: list[int], ties: list[int]) -> Any:
    """Elements of one block; draw: random words."""
    sign, one = draw & 0x80000000, draw & 0x807FFFFF
    if i in (0, 8, 14):
        return (draw & 0x80FFFFFF) % 0x3000000 + 0x3E000000 | sign
    if i in (1, 9, 10, 11, 12):  # element 2 is the block maximum, at a tie of the scale
        row = draw % np.uint32(0x3000000) + np.uint32(0x3D000000)
        row = np.minimum(row, ties[(i * 977) % len(ties)]) | sign
        row[2] = ties[(i * 977) % len(ties)] | sign[2]
        return row
    table = {
        2: np.array(points, np.uint32)[draw % len(points)] | sign,
        3: sign,
        4: draw & 0x80000FFF,
        5: one | 0x7E800000,
        6: np.where(np.arange(draw.size) == 5, 0xBFC00000, 0),
        7: draw & 0x8F800000 | 0x38000000,
        13: draw & 0xFFFF0000 & 0xBFFFFFFF,
        15: np.where(draw % 7 == 0, draw & 0x9FFFFFFF, 0x3F800000),
    }
    return table[i]


@pytest.fixture(scope="session")
def matrix() -> Callable[..., NDArray[np.uint32]]:
    """Directed matrices of fp32 codes for a recipe."""
    return matrix_of
