"""Tensors where a quantizer is easily wrong: elements beside ties under a known scale, maxima beside boundaries of scales, chosen maxima.

Scales are known because the tensor maximum is a power of two times the largest element times the largest scale: then every factor is a
power of two, in the order of any recipe. A recipe that rotates first sees these tensors rotated.
Not here: kinds of blocks without a chosen scale (kinds.py), whole sets of operands (questions.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from emu.base.caches import bounded
from emu.base.errors import OpenError, OperandError
from emu.engines.exact.block import quantize
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import code_of_one, encode_value
from emu.engines.exact.value import finite
from emu.spec import derive, get
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.block import LevelFacts
from emu.spec.programs.program import quantize_program
from emu.strategies.kinds import blocks, tensor_maxima
from emu.strategies.numbers import codes
from emu.strategies.points import CodeArray, codes_near, decision_sample, dtype_of, element_maximum

NEAR = (0, -1, 1)  # ulps of the source; the tie itself is the simplest


class Tensor(NamedTuple):
    """A matrix to quantize.

    x: source codes [rows of a tile, blocks * lanes].   tensor_amax: fp32 code for a recipe that reads one; None: the matrix's own maximum.
    """

    x: CodeArray
    tensor_amax: int | None


def scale_level(recipe: str | Recipe) -> LevelFacts:
    """Return the innermost multiplying level of what a recipe writes. Raises: OperandError (no level)."""
    block: Block = get("block", get("recipe", recipe).facts.block)
    found = [level for level in block.facts.levels if level.meaning == "multiply" and level.granularity != "tensor"]
    if not found:
        raise OperandError(f"block {block.id} has no scale")
    return found[0]


def scale_values(recipe: str | Recipe) -> tuple[Fraction, ...]:
    """Return the numbers that a scale can be, ascending, without zero; of a binary32 scale the powers of two near one."""
    fmt: Format = get("format", scale_level(recipe).format)
    derived = derive.codes(fmt)
    if derived.bits > 8:
        return tuple(Fraction(2) ** exp for exp in range(-8, 9))
    values = (decode_code(code, fmt) for code in range(1 << derived.magnitude_bits))
    return tuple(sorted({value.magnitude for value in values if value.kind == "finite" and value.magnitude}))


def _amax_of(recipe: Recipe, exp: int) -> tuple[int | None, Fraction]:
    """Return tensor_amax as fp32 code, and the factor that it gives to every scale: 2^exp. None and one for a recipe that reads none."""
    if not quantize_program(recipe).reads("tensor_amax"):
        return None, Fraction(1)
    factor = Fraction(2) ** exp
    top = element_maximum(recipe) * scale_values(recipe)[-1] * factor
    return encode_value(finite(top), get("format", "fp32")), factor


def _holds(point: Fraction, fmt: Format) -> bool:
    """Tell whether a source format has a magnitude."""
    found = codes_near(point, fmt, (0,))
    return bool(found) and decode_code(found[0], fmt).magnitude == point


def _signed(draw: st.DrawFn, code: int, fmt: Format) -> int:
    return code | (derive.codes(fmt).sign_bit if draw(st.booleans()) else 0)


def _at(point: Fraction, fmt: Format, distance: int) -> int:
    """Return the source code some ulps beside a magnitude; the nearest one that exists."""
    return next(iter(codes_near(point, fmt, (distance,)) or codes_near(point, fmt, (0,))), 0)


def _scales(recipe: Recipe, fmt: Format, factor: Fraction) -> st.SearchStrategy[Fraction]:
    """Scales times a factor whose largest element the source format has: near one first, then the smallest and largest, then any."""
    top = element_maximum(recipe) * factor
    values = [value for value in scale_values(recipe) if _holds(value * top, fmt)]
    near_one = [value for value in values if 1 <= value < 2]
    return st.one_of(*(st.sampled_from(some) for some in (near_one, [*values[:9], *values[-3:]], values) if some)).map(
        lambda value: value * factor
    )


def _exponents(recipe: Recipe, fmt: Format) -> st.SearchStrategy[int]:
    """Powers of two of the tensor maximum under which the source format has the largest element of scale one."""
    fitting = [exp for exp in (0, *range(-6, 7), -90, -24, 24, 90) if _holds(element_maximum(recipe) * Fraction(2) ** exp, fmt)]
    return st.sampled_from(fitting)


@st.composite
def near_element_ties(draw: st.DrawFn, recipe: str | Recipe, source: str | Format = "fp32", *, count: int = 1) -> Tensor:
    """Tensors whose blocks have a known scale, with elements at ties of the element format under it, or an ulp of the source beside.

    count: blocks side by side.   One lane of each holds the maximum, which fixes the scale; the others shrink to zero.
    """
    chosen: Recipe = get("recipe", recipe)
    fmt: Format = get("format", source)
    block: Block = get("block", chosen.facts.block)
    rows, lanes = block.facts.shape
    tensor_amax, factor = _amax_of(chosen, draw(_exponents(chosen, fmt)))
    grid = [point for point in decision_sample(block.element_formats[0]) if point < element_maximum(chosen)]
    scales = _scales(chosen, fmt, factor)
    out = np.zeros((rows, count * lanes), dtype_of(fmt))
    for place in range(count):
        unit = draw(scales)
        for lane in draw(st.lists(st.integers(0, rows * lanes - 1), max_size=lanes, unique=True)):
            point = draw(st.sampled_from(grid)) * unit
            where = (lane // lanes, place * lanes + lane % lanes)
            out[where] = _signed(draw, _at(point, fmt, draw(st.sampled_from(NEAR))), fmt)
        top = draw(st.integers(0, lanes - 1))
        out[0, place * lanes + top] = _signed(draw, _at(element_maximum(chosen) * unit, fmt, 0), fmt)
    return Tensor(out, tensor_amax)


def _boundaries(recipe: Recipe) -> st.SearchStrategy[Fraction]:
    """Block maxima, under a factor of one, where some rule changes the scale: of power-of-two scales also around the largest element."""
    values, top = scale_values(recipe), element_maximum(recipe)
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    block: Block = get("block", recipe.facts.block)
    around = [point for point in decision_sample(block.element_formats[0]) if top / 2 < point <= 2 * top]
    powers = [value for value in values if value.numerator == 1 or (value.denominator == 1 and value.numerator.bit_count() == 1)]
    return st.one_of(
        st.builds(lambda point, power: point * power, st.sampled_from(around), st.just(Fraction(1))),
        st.sampled_from([value * top for value in middles]),
        st.builds(lambda point, power: point * power, st.sampled_from(around), st.sampled_from(powers)),
        st.sampled_from([values[0] * top / 2, *(value * top for value in values), values[-1] * top * 2]),
    )


@st.composite
def near_scale_boundaries(draw: st.DrawFn, recipe: str | Recipe, source: str | Format = "fp32", *, count: int = 2) -> Tensor:
    """Tensors whose block maxima lie where the scale changes its code, or up to two ulps of the source beside.

    Boundaries are the scales and the midpoints between them, both ends of their range, and numbers around the largest element.
    """
    chosen: Recipe = get("recipe", recipe)
    fmt: Format = get("format", source)
    tensor_amax, factor = _amax_of(chosen, draw(_exponents(chosen, fmt)))
    points = [draw(_boundaries(chosen)) * factor for _ in range(count)]
    maxima = [_at(point, fmt, draw(st.sampled_from((*NEAR, -2, 2)))) for point in points]
    return Tensor(draw(with_maxima(chosen, maxima, fmt)), tensor_amax)


@st.composite
def with_maxima(draw: st.DrawFn, recipe: str | Recipe, maxima: Sequence[int], source: str | Format = "fp32") -> CodeArray:
    """Matrices with chosen block maxima: one source code (sign 0) per block, in one lane of the block; the others are not larger.

    Returns: codes [rows of a tile, len(maxima) * lanes].   The other lanes shrink to zero.
    """
    fmt: Format = get("format", source)
    rows, lanes = get("block", get("recipe", recipe).facts.block).facts.shape
    out = np.zeros((rows, len(maxima) * lanes), dtype_of(fmt))
    for place, top in enumerate(maxima):
        others = st.one_of(st.just(0), st.integers(0, top), codes(fmt, specials=False))
        flat = [code for code in draw(st.lists(others, max_size=rows * lanes)) if code & ~derive.codes(fmt).sign_bit <= top]
        part = np.zeros(rows * lanes, dtype_of(fmt))
        part[: len(flat)] = flat
        part[draw(st.integers(0, rows * lanes - 1))] = _signed(draw, top, fmt)
        out[:, place * lanes : (place + 1) * lanes] = part.reshape(rows, lanes)
    return out


@st.composite
def tensors(draw: st.DrawFn, recipe: str | Recipe, source: str | Format = "fp32", *, specials: bool = False) -> Tensor:
    """Tensors of one or two blocks for a recipe: near element ties, near scale boundaries, or any kind of block with any maximum.

    specials: True puts NaN and Inf in, too.   A tensor maximum that the recipe leaves open is never drawn, nor a tensor of zeros where
    the recipe has no answer to one.
    """
    chosen: Recipe = get("recipe", recipe)
    fmt: Format = get("format", source)
    kind = draw(st.sampled_from(["ties", "boundaries", "blocks"]))
    if kind == "ties":
        return draw(near_element_ties(chosen, source))
    if kind == "boundaries":
        return draw(near_scale_boundaries(chosen, source))
    x = draw(blocks(chosen, source, count=draw(st.integers(1, 2)), specials=specials))
    reads = quantize_program(chosen).reads("tensor_amax")
    answers_zeros = not reads or _answers_zeros(chosen)
    if not answers_zeros and not (x & ~x.dtype.type(derive.codes(fmt).sign_bit)).any():
        x[0, 0] = code_of_one(fmt)
    given = draw(tensor_maxima(x, source)) if reads and not specials else None
    given = given if answers_zeros else None  # the maximum of another tensor may be as far from this one as zero
    if reads and (given is None or not _in_domain(chosen, given)) and chosen.facts.domain.tensor_amax_min is not None:
        own = (decode_code(int(code), fmt).magnitude for code in x.flat)
        given = encode_value(finite(max(Fraction(1), *own)), get("format", "fp32"))
    return Tensor(x, given if given is not None and _in_domain(chosen, given) else None)


@bounded(256, names=True)
def _answers_zeros(recipe: Recipe) -> bool:
    """Tell whether a recipe answers for a tensor of zeros: asked at every draw, worked out once."""
    rows, lanes = get("block", recipe.facts.block).facts.shape
    zeros = [[0] * lanes for _ in range(rows)]
    try:
        quantize(recipe, zeros, get("format", "fp32"), random=zeros if quantize_program(recipe).drawing else None)
    except OpenError:
        return False
    except OperandError:  # random words of another form, or signs: the recipes that take them answer
        return True
    return True


def _in_domain(recipe: Recipe, tensor_amax: int) -> bool:
    """Tell whether a recipe answers for a tensor maximum."""
    least = recipe.facts.domain.tensor_amax_min
    return tensor_amax < 0x7F800000 and (least is None or tensor_amax >= int(least, 16))
