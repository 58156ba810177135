"""Matrices of source codes for a recipe, kind by kind of block, and tensor maxima. Not here: chosen scales and maxima (directed.py)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from hypothesis import strategies as st

from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe, Rounding
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.programs.program import quantize_program
from emu.strategies.numbers import codes
from emu.strategies.points import CodeArray, codes_near, decision_sample, dtype_of, edge_codes, element_maximum

MOST_DRAWN: Final = 256  # elements of a tile


@st.composite
def blocks(
    draw: st.DrawFn,
    recipe: str | Recipe,
    source: str | Format = "fp32",
    *,
    count: int = 2,
    specials: bool = False,
) -> CodeArray:
    """Matrices of source codes with `count` blocks of a recipe side by side: [rows of a tile, count * lanes].

    Each block is one of: any numbers; one binade; the block maximum beside a tie of the scale, other elements at ties of the elements;
    powers of two; zeros of both signs; subnormals; numbers near the largest.   specials: True puts NaN and Inf in, too.
    Of a tile of more than 256 elements 256 are drawn, and repeated.
    """
    chosen: Recipe = get("recipe", recipe)
    fmt: Format = get("format", source)
    rows, lanes = get("block", chosen.facts.block).facts.shape
    kinds = _kinds(chosen, fmt, specials)
    parts = []
    for _ in range(count):
        kind = draw(st.sampled_from(sorted(kinds)))
        size = min(rows * lanes, MOST_DRAWN)
        flat = draw(st.lists(kinds[kind](), min_size=size, max_size=size))
        parts.append(np.resize(np.array(flat, dtype_of(fmt)), (rows, lanes)))
    return np.concatenate(parts, axis=1)


def _kinds(recipe: Recipe, fmt: Format, specials: bool) -> dict[str, Callable[[], st.SearchStrategy[int]]]:
    """Return the element strategies of the kinds of block."""
    derived = derive.codes(fmt)
    assert isinstance(fmt.facts, FloatFacts)
    fraction, one = (1 << fmt.facts.frac_bits) - 1, fmt.facts.bias << fmt.facts.frac_bits
    signed = st.sampled_from([0, derived.sign_bit])

    def within(low: int, high: int) -> st.SearchStrategy[int]:
        return st.builds(lambda code, sign: code | sign, st.integers(low, high), signed)

    def ties() -> st.SearchStrategy[int]:
        near = sorted({code for point in _tie_points(recipe) for code in codes_near(point, fmt, (-1, 0, 1))})
        return st.builds(lambda code, sign: code | sign, st.sampled_from(near), signed)

    kinds: dict[str, Callable[[], st.SearchStrategy[int]]] = {
        "any": lambda: codes(fmt, specials=False),
        "binade": lambda: within(one, one + fraction),
        "huge": lambda: within(derived.max_code - 3 * (fraction + 1), derived.max_code),
        "power": lambda: st.builds(lambda field, sign: field << fmt.facts.frac_bits | sign, st.integers(1, 2 * fmt.facts.bias), signed),  # type: ignore[union-attr]
        "subnormal": lambda: within(0, 2 * fraction),
        "ties": ties,
        "zero": lambda: signed,
    }
    if specials:
        kinds["special"] = lambda: codes(fmt)
    return kinds


def _tie_points(recipe: Recipe) -> tuple[Fraction, ...]:
    """Return magnitudes of elements at ties when the scale is 1, and multiples of the element maximum at ties of the scale."""
    block: Block = get("block", recipe.facts.block)
    elements = decision_sample(block.element_formats[0])
    top = element_maximum(recipe)
    near_one = [point for level in block.facts.levels for point in _scale_points(get("format", level.format)) if 0 < point <= 448]
    return (*elements, *(point * top for point in near_one))


def _scale_points(fmt: Format) -> tuple[Fraction, ...]:
    return decision_sample(fmt) if derive.codes(fmt).bits <= 8 and not isinstance(fmt.facts, CodebookFacts) else ()


@st.composite
def tensor_maxima(draw: st.DrawFn, matrix: CodeArray, source: str | Format = "fp32") -> int | None:
    """Values of tensor_amax for a matrix: None (taken from the matrix), a number at or above its maximum, an edge, or any magnitude.

    Returns: fp32 code with sign 0, never NaN.
    """
    fp32: Format = get("format", "fp32")
    best = max((decode_code(int(code), get("format", source)).magnitude for code in matrix.reshape(-1)), default=Fraction(0))
    own = encode_value(finite(best), fp32)
    above = st.integers(own, min(own + (64 << 23), derive.codes(fp32).max_code))
    edges = st.sampled_from([code for code in edge_codes(fp32) if code <= 0x7F800000])
    return draw(st.one_of(st.none(), above, edges, st.integers(0, 0x7F7FFFFF)))


def draws_random(recipe: str | Recipe) -> Rounding | None:
    """Return the rounding with which a recipe draws, or None."""
    return quantize_program(get("recipe", recipe)).drawing
