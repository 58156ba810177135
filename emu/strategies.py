"""Hypothesis strategies of codes, blocks, operands and spec objects; edge values come up often.

A code is an unsigned integer of its format, as everywhere in emu; arrays are NumPy arrays of codes. They shrink towards code 0.
Not here: rows with a known answer (emu.vectors), what the operations must give (emu.exact).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from emu.errors import OperandError
from emu.exact.codebook import codebook_values
from emu.exact.decode import decode_code, magnitude_of
from emu.exact.encode import encode_value
from emu.exact.round import locate
from emu.exact.value import finite
from emu.spec import derive, get, names
from emu.spec.models import Block, Conversion, Format, Recipe, Rounding
from emu.spec.models.common import SpecObject
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.rounding import Word
from emu.spec.program import Program, quantize_program

CodeArray = NDArray[np.unsignedinteger]
MODES = ("rne", "rna", "rz", "ru", "rd", "odd")


def edge_codes(of: str | Format) -> tuple[int, ...]:
    """Return the codes of a format where things change, ascending.

    Both signs of zero, the smallest and largest subnormal, the smallest normal, 1 and its neighbours, the two largest finite numbers,
    Inf, and quiet and signalling NaN; for formats of at most 4 bits all codes.
    """
    fmt: Format = get("format", of)
    derived = derive.codes(fmt)
    if derived.bits <= 4:
        return tuple(range(1 << derived.bits))
    found = {0, 1, derived.max_code, derived.max_code - 1}
    if isinstance(fmt.facts, FloatFacts):
        hidden, one = 1 << fmt.facts.frac_bits, fmt.facts.bias << fmt.facts.frac_bits
        found |= {hidden - 1, hidden, hidden + 1, one - 1, one, one + 1, *_infinite(fmt)}
    found |= {code | derived.sign_bit for code in found}
    if derive.is_twos_complement(fmt):
        found |= {derived.max_code + 1, (1 << derived.bits) - 1}
    return tuple(sorted(code for code in found | set(derived.nan) if 0 <= code < 1 << derived.bits))


def _infinite(fmt: Format) -> set[int]:
    """Return Inf and the first and last NaN above it, magnitudes only."""
    derived = derive.codes(fmt)
    if derived.inf is None:
        return set()
    return {derived.inf, min(derived.inf + 1, (1 << derived.magnitude_bits) - 1), (1 << derived.magnitude_bits) - 1}


def is_finite_code(code: int, of: str | Format) -> bool:
    """Tell whether a code stands for a number."""
    return decode_code(code, get("format", of)).kind == "finite"


def codes(of: str | Format, *, specials: bool = True) -> st.SearchStrategy[int]:
    """Codes of a format; about half of them edge codes.

    of: id or model of a format.   specials: False leaves NaN and Inf out.
    """
    fmt: Format = get("format", of)
    every = st.integers(0, (1 << derive.codes(fmt).bits) - 1)
    edges = st.sampled_from(edge_codes(fmt))
    return st.one_of(edges, every) if specials else st.one_of(edges, every).filter(lambda code: is_finite_code(code, fmt))


def decision_points(of: str | Format) -> tuple[Fraction, ...]:
    """Return every magnitude where some rounding mode changes its code, ascending: grid points and the midpoints between them.

    The grid goes one code beyond the maximum, where overflow begins.
    """
    fmt: Format = get("format", of)
    return _points(fmt.facts_digest, fmt)


@lru_cache(maxsize=256)
def _points(digest: str, fmt: Format) -> tuple[Fraction, ...]:  # the digest is the key that differs between formats
    if isinstance(fmt.facts, CodebookFacts):
        signed = sorted({value.signed for value in codebook_values(fmt)})
        middles = [(a + b) / 2 for a, b in pairwise(signed)]
        return tuple(sorted({abs(point) for point in (*signed, *middles)}))
    last = derive.codes(fmt).max_code + 1 + derive.is_twos_complement(fmt)
    grid = [magnitude_of(code, fmt.facts) for code in range(last + 1)]
    return tuple(sorted({*grid, *((a + b) / 2 for a, b in pairwise(grid))}))


def codes_near(point: Fraction, source: str | Format, distances: Sequence[int] = range(-3, 4)) -> tuple[int, ...]:
    """Return the source codes at given distances, in ulps, from the code at or below a magnitude; finite ones only, ascending."""
    fmt: Format = get("format", source)
    centre = locate(point, fmt).code
    return tuple(sorted({centre + step for step in distances if 0 <= centre + step <= derive.codes(fmt).max_code}))


def near_ties(to: str | Format, source: str | Format = "fp32", *, distances: Sequence[int] = range(-3, 4)) -> st.SearchStrategy[int]:
    """Source codes beside the numbers where conversion to a format changes its code, both signs.

    to: destination.   source: a float format.   distances: ulps of the source from each grid point and midpoint.
    """
    fmt: Format = get("format", source)
    near = sorted({code for point in decision_points(to) for code in codes_near(point, fmt, distances)})
    if not near:
        raise OperandError(f"no {fmt.id} number lies near the grid of {get('format', to).id}")
    return st.builds(lambda code, sign: code | sign, st.sampled_from(near), st.sampled_from([0, derive.codes(fmt).sign_bit]))


def random_operands(rounding: str | Rounding, size: int) -> st.SearchStrategy[NDArray[np.uint64]]:
    """Random operands of a rounding that draws, for `size` consecutive elements: uint64, one per element or one word per `lanes`.

    All-zero and all-one integers and single bits come up often.   Raises: OperandError when the rounding draws nothing.
    """
    mode: Rounding = get("rounding", rounding)
    if mode.facts.random == "none":
        raise OperandError(f"rounding {mode.id} draws nothing")
    source = mode.facts.random
    lanes, bits = (source.lanes, source.word) if isinstance(source, Word) else (1, mode.random_bits)
    count = -(-size // lanes)
    top = (1 << bits) - 1
    one = st.one_of(st.sampled_from([0, top, 1, 1 << (bits - 1), top - 1]), st.integers(0, top), st.integers(0, bits - 1).map(_bit))
    return st.lists(one, min_size=count, max_size=count).map(lambda items: np.array(items, np.uint64))


def _bit(place: int) -> int:
    return 1 << place


def _dtype(fmt: Format) -> Any:
    bits = derive.codes(fmt).bits
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def element_maximum(recipe: Recipe) -> Fraction:
    """Return the largest magnitude of the element format that a recipe writes."""
    block: Block = get("block", recipe.facts.block)
    fmt: Format = get("format", block.element_formats[0])
    return decode_code(derive.codes(fmt).max_code, fmt).magnitude


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
    """
    chosen: Recipe = get("recipe", recipe)
    fmt: Format = get("format", source)
    rows, lanes = get("block", chosen.facts.block).facts.shape
    kinds = _kinds(chosen, fmt, specials)
    parts = []
    for _ in range(count):
        kind = draw(st.sampled_from(sorted(kinds)))
        flat = draw(st.lists(kinds[kind](), min_size=rows * lanes, max_size=rows * lanes))
        parts.append(np.array(flat, _dtype(fmt)).reshape(rows, lanes))
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
    elements = decision_points(block.element_formats[0])
    top = element_maximum(recipe)
    near_one = [point for level in block.facts.levels for point in _scale_points(get("format", level.format)) if 0 < point <= 448]
    return (*elements, *(point * top for point in near_one))


def _scale_points(fmt: Format) -> tuple[Fraction, ...]:
    return decision_points(fmt) if derive.codes(fmt).bits <= 8 and not isinstance(fmt.facts, CodebookFacts) else ()


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
    program: Program = quantize_program(get("recipe", recipe))
    found = [item.rounding for item in program.instructions if item.rounding is not None and item.rounding.random_bits]
    return found[0] if found else None


def specs(kind: str) -> st.SearchStrategy[SpecObject]:
    """Spec objects of a kind: the registered ones, and for `format` also small float formats that no file has."""
    known: st.SearchStrategy[SpecObject] = st.sampled_from(names(kind)).map(lambda name: get(kind, name))
    return st.one_of(known, formats()) if kind == "format" else known


@st.composite
def formats(draw: st.DrawFn, max_bits: int = 8) -> Format:
    """Float formats of at most max_bits bits: any split into fields, bias, sign, subnormals, Inf and NaN that the model takes."""
    signed = draw(st.sampled_from(["yes", "no"]))
    width = max_bits - (signed == "yes")
    exp_bits = draw(st.integers(1, min(5, width - 1)))
    frac_bits = draw(st.integers(0, min(width - exp_bits, 4)))
    ieee = exp_bits > 1 and frac_bits > 0 and draw(st.booleans())
    digits = -(-(exp_bits + frac_bits + (signed == "yes")) // 4)
    sign, top = 1 << (exp_bits + frac_bits), (1 << (exp_bits + frac_bits)) - 1
    listed = [(), (sign,), (top, top | sign)] if signed == "yes" else [(), (top,)]
    nan = draw(st.sampled_from(listed)) if not ieee else ()
    facts: dict[str, Any] = {
        "class": "float",
        "signed": signed,
        "exp_bits": exp_bits,
        "frac_bits": frac_bits,
        "bias": draw(st.integers(-2, (1 << exp_bits) + 2)),
        "subnormals": "yes",
        "inf": "ieee" if ieee else "none",
        "nan": "ieee" if ieee else tuple(f"0x{code:0{digits}X}" for code in nan) or "none",
        "neg_zero": "yes" if signed == "yes" and nan != (sign,) else "no",
    }
    about = {"kind": "format", "id": "drawn", "title": "drawn by a strategy", "status": "proposed", "sources": ()}
    return Format.model_validate({**about, "facts": facts})


def modes(*, drawing: bool = False) -> st.SearchStrategy[Rounding]:
    """Rounding modes: the registered deterministic ones, or those that draw."""
    found = [get("rounding", name) for name in names("rounding")]
    return st.sampled_from([mode for mode in found if bool(mode.random_bits) == drawing])


def policies(of: str | Format) -> st.SearchStrategy[Conversion]:
    """Registered policies that say something of a destination."""
    fmt: Format = get("format", of)
    found = [get("conversion", name) for name in names("conversion")]
    able = [policy for policy in found if policy.facts.keys() & {fmt.id, "with_nan" if derive.codes(fmt).nan else "without_nan"}]
    if not able:
        raise OperandError(f"no policy covers {fmt.id}")
    return st.sampled_from(able)


__all__ = [
    "blocks",
    "codes",
    "codes_near",
    "decision_points",
    "draws_random",
    "edge_codes",
    "formats",
    "modes",
    "near_ties",
    "policies",
    "random_operands",
    "specs",
    "tensor_maxima",
]
