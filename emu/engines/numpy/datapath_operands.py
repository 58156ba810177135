"""Operands of a matrix product as arrays: values in binary64 with their scales, exponents of terms, what is zero, NaN or infinite.

Tables come from the facts of a format, not from the reference model. Rows are the last axis but one: [..., rows, K].
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import OpenError
from emu.engines.numpy.datapath_round import F64, Codes
from emu.engines.numpy.datapath_shape import Shape
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts

I16 = NDArray[np.int16]
Bool = NDArray[np.bool_]
DEAD = -(1 << 13)  # exponent of what is zero: two of them, and what is added to them, stay far below every exponent


class Table(NamedTuple):
    """A narrow format by code. value: 0 where NaN or infinite.   exp: the exponent that the code names, DEAD for zero and specials.

    inf: 1, -1 or 0.
    """

    value: F64
    exp: I16
    nan: Bool
    inf: NDArray[np.int8]


_tables: Cache[tuple[str, bool], Table] = Cache("emu.engines.numpy.datapath_operands._tables", 128)


def table_of(fmt: Format, flush: bool = False) -> Table:
    """Return the table of a format of at most 16 bits, with the unused bits above its codes. flush: subnormal codes are zero."""
    key = (fmt.facts_digest, flush)
    if key not in _tables:
        _tables[key] = _table(fmt, flush)
    return _tables[key]


def _table(fmt: Format, flush: bool) -> Table:
    derived = derive.codes(fmt)
    code = np.arange(1 << (derived.bits + derive.unused_high_bits(fmt)), dtype=np.int64) & ((1 << derived.bits) - 1)
    magnitude = code & ~derived.sign_bit
    negative = (code & derived.sign_bit) != 0
    significand, exp, unit = _fields(fmt, code, magnitude, flush)
    nan = np.isin(code, np.array(derived.nan, np.int64))
    inf = np.zeros(code.shape, np.int8)
    if isinstance(fmt.facts, FloatFacts) and fmt.facts.nan == "ieee":
        top = ((1 << fmt.facts.exp_bits) - 1) << fmt.facts.frac_bits
        nan = (magnitude >= top) & (magnitude != (-1 if derived.inf is None else derived.inf))
    if derived.inf is not None:
        inf[magnitude == derived.inf] = 1
        inf[(magnitude == derived.inf) & negative] = -1
    dead = nan | (inf != 0) | (significand == 0)
    value = np.ldexp(np.where(dead, 0, np.where(negative, -significand, significand)).astype(np.float64), exp + unit)
    return Table(value, np.where(dead, DEAD, exp).astype(np.int16), nan, inf)


def _fields(fmt: Format, code: Any, magnitude: Any, flush: bool) -> tuple[Any, Any, int]:
    """Return significands, exponents, and the exponent of a significand's unit relative to its own."""
    facts = fmt.facts
    if isinstance(facts, ExponentFacts):
        return np.ones_like(code), code - facts.bias, 0
    if isinstance(facts, IntegerFacts):
        if derive.is_twos_complement(fmt):
            magnitude = code - ((code >> (facts.bits - 1)) << facts.bits)
        return magnitude, np.full_like(code, facts.unit_exp), 0
    assert isinstance(facts, FloatFacts)
    field, fraction = magnitude >> facts.frac_bits, magnitude & ((1 << facts.frac_bits) - 1)
    subnormal = (field == 0) & (facts.subnormals == "yes")
    hidden = np.where(subnormal, 0, 1 << facts.frac_bits)
    significand = np.where(subnormal & flush, 0, fraction + hidden)
    return significand, np.where(subnormal, 1, field) - facts.bias, -facts.frac_bits


@dataclass(frozen=True)
class Side:
    """One operand over some instructions.

    value [..., rows, K]: element times scale, 0 where NaN or infinite.   exp [terms of all steps, ..., rows]: of the terms, DEAD for zero.
    bits, same shape: which elements of a group are not zero, None for single products.   low, top: for each step the least and the
    largest live exponent, None where all is zero.   nan [steps, ..., rows], inf [..., rows, K] (1, -1, 0): None where there is none.
    nan_scale, nonzero [..., rows, K]: where NaN scales count only under products that are not zero, else None: such scales (None: there
    is none), and elements that are not zero.
    """

    value: F64
    exp: I16
    bits: NDArray[np.unsignedinteger] | None
    low: list[int | None]
    top: list[int | None]
    nan: Bool | None
    inf: NDArray[np.int8] | None
    nan_scale: Bool | None
    nonzero: Bool | None

    def rows(self, part: slice) -> Side:
        """Return some of the rows of a two-dimensional operand."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("value", "inf", "nan_scale", "nonzero"):
            found[name] = None if found[name] is None else found[name][part]
        for name in ("exp", "bits", "nan"):
            found[name] = None if found[name] is None else found[name][:, part]
        return Side(**found)


def decode_side(codes: Codes, scales: Codes | None, fmt: Format, shape: Shape) -> Side:
    """Return an operand from its codes. codes: [..., rows, K].   scales: [..., rows, K / block] or None. Raises: OpenError."""
    plan, facts = shape.plan, shape.plan.facts
    always = facts.special.nan_scale == "always"
    _check_open(codes, fmt, "an element")
    table = table_of(fmt, facts.subnormal.elements == "flush")
    element = np.take(table.value, codes)
    nan = table.nan[codes] if table.nan.any() else None
    inf = _or_none(table.inf[codes]) if table.inf.any() else None
    exp = None if shape.grouped else table.exp[codes]
    value, scale_exp, nan_scale = element, None, None
    if plan.scale is not None and scales is not None:
        value, scale_exp, nan_scale = _scaled(element, scales, shape)
        if inf is not None:
            dead = np.repeat(scale_exp == DEAD, plan.block, axis=-1) & (inf != 0)  # infinity times zero
            nan = dead if nan is None else nan | dead
    exp, bits = _group_terms(value, scale_exp, shape) if exp is None else (_product_exps(exp, scale_exp, plan.block), None)
    low, top = _ends(exp, shape.terms)
    missing = _nan_steps(nan, nan_scale if always else None, plan.step)
    ordered = _last_first(exp)
    words = None if bits is None or shape.by_sum else _last_first(bits)
    nonzero = None if always else (element != 0) | (False if inf is None else inf != 0)
    return Side(value, ordered, words, low, top, missing, inf, None if always else nan_scale, nonzero)


def _scaled(element: F64, scales: Codes, shape: Shape) -> tuple[F64, I16, Bool | None]:
    """Return elements times their scales, the exponents of the scales, and which elements have a NaN scale (None: no one)."""
    plan = shape.plan
    assert plan.scale is not None
    if plan.facts.scale.unused_bits == "open":
        _check_open(scales, plan.scale, "a scale")
    table = table_of(plan.scale, plan.facts.subnormal.scales == "flush")
    value = element.reshape(*scales.shape, plan.block) * table.value[scales][..., np.newaxis]
    nan = _or_none(table.nan[scales])
    return value.reshape(element.shape), table.exp[scales], None if nan is None else np.repeat(nan, plan.block, axis=-1)


def _check_open(codes: Codes, fmt: Format, what: str) -> None:
    """Refuse a set bit above a code whose meaning is open. Raises: OpenError."""
    bits = derive.codes(fmt).bits
    if derive.unused_high_bits(fmt) and codes.size and int(codes.max()) >> bits:
        raise OpenError(f"{fmt.id} code {int(codes.max()):#04x} of {what}: what a set bit {bits} means is open")


def _or_none(array: Any) -> Any:
    """Return an array, or None where nothing in it is set."""
    return array if array.any() else None


def _product_exps(element: I16, scale: I16 | None, block: int) -> I16:
    """Return the exponent of each product's part on this side: of element and scale."""
    if scale is None:
        return element
    exp = element + np.repeat(scale, block, axis=-1)
    return np.where(exp > DEAD // 2, exp, np.int16(DEAD))


def _group_terms(value: F64, scale: I16 | None, shape: Shape) -> tuple[I16, NDArray[np.unsignedinteger] | None]:
    """Return the exponent of each group's part on this side, that of the scale, and its words of elements that are not zero."""
    plan = shape.plan
    bits = _bits(value, plan.group) if plan.group <= 64 else None
    alive = bits != 0 if bits is not None else value.reshape(*value.shape[:-1], -1, plan.group).any(axis=-1)
    exp = np.zeros(alive.shape, np.int16) if scale is None else np.repeat(scale, plan.block // plan.group, axis=-1)
    return np.where(alive, exp, np.int16(DEAD)), bits


def _bits(value: F64, group: int) -> NDArray[np.unsignedinteger]:
    """Return a word for each group of at most 64 elements, a bit for each that is not zero."""
    packed = np.packbits(value.reshape(*value.shape[:-1], -1, group) != 0, axis=-1)
    width = 1 << (packed.shape[-1] - 1).bit_length()
    padded = np.zeros((*packed.shape[:-1], width), np.uint8)
    padded[..., : packed.shape[-1]] = packed
    words: NDArray[np.unsignedinteger] = padded.view(f"u{width}")[..., 0]
    return words


def _ends(exp: I16, terms: int) -> tuple[list[int | None], list[int | None]]:
    """Return the least and the largest live exponent of each step, None where there is none."""
    steps = exp.shape[-1] // terms
    flat = exp.reshape(-1, exp.shape[-1])
    top = flat.max(axis=0, initial=DEAD).reshape(steps, terms).max(axis=1).tolist()
    low = (flat - np.int16(DEAD)).view(np.uint16)  # live exponents count from -DEAD; DEAD is 0, and one less the largest number
    low -= np.uint16(1)
    least = low.min(axis=0, initial=0xFFFF).reshape(steps, terms).min(axis=1).tolist()
    return [None if x == 0xFFFF else x + 1 + DEAD for x in least], [None if x == DEAD else x for x in top]


def _nan_steps(nan: Bool | None, scale: Bool | None, step: int) -> Bool | None:
    """Return [steps, ..., rows]: NaN in a step; None where there is none at all."""
    given = [mask for mask in (nan, scale) if mask is not None]
    found = np.logical_or.reduce(given) if given else None
    if found is None or not found.any():
        return None
    by_step: Bool = _last_first(found.reshape(*found.shape[:-1], -1, step).any(axis=-1))
    return by_step


def _last_first(array: Any) -> Any:
    """Return a contiguous copy with the last axis in front."""
    return np.ascontiguousarray(array.transpose(array.ndim - 1, *range(array.ndim - 1)))
