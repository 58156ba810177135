"""The terms of one fused step: operands as triples, exact products, exact group sums, scales applied. Nothing is rounded here.

A triple is (significand, exp, frac_bits): value = significand * 2^(exp - frac_bits). The exponent is the one that the code names:
subnormals keep the lowest one and are never normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from emu.base.caches import Cache
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import frac_bits_of


class Triple(NamedTuple):
    """value = significand * 2^(exp - frac_bits)."""

    significand: int
    exp: int
    frac_bits: int


_Decoded = TypeVar("_Decoded")
KNOWN_BITS: Final = 16  # wider codes are decoded each time: there are too many of them to keep
_TRIPLES: Cache[tuple[str, str], dict[int, Triple]] = Cache("emu.engines.exact.datapath_terms._TRIPLES", 256)
_VALUES: Cache[tuple[str, str, str], dict[int, Value]] = Cache("emu.engines.exact.datapath_terms._VALUES", 256)


class Term(NamedTuple):
    """One term of the sum. live: does it raise E.   group_sum: its exact sum of products, before the scales."""

    significand: int
    exp: int
    frac_bits: int
    live: bool
    group_sum: int


def decode_operand(code: int, fmt: Format, subnormals: str, unused_bits: str = "open") -> Value:
    """Return the value of an element, scale or C.

    subnormals: "keep", or "flush" to read a subnormal code as zero.
    unused_bits: "ignore" drops a set bit above the code, "open" refuses it.
    """
    value = decode_code(code & ((1 << derive.codes(fmt).bits) - 1) if unused_bits == "ignore" else code, fmt)
    flushed = value.kind == "finite" and decode_triple(code, fmt, subnormals).significand == 0
    return Value("finite", value.sign) if flushed else value


def operands_of(codes: Sequence[int], fmt: Format, subnormals: str, unused_bits: str = "open") -> list[Value]:
    """Return the values of elements or scales."""
    known = _VALUES.setdefault((fmt.facts_digest, subnormals, unused_bits), {})
    return _decoded(codes, known, lambda code: decode_operand(code, fmt, subnormals, unused_bits))


def decode_triple(code: int, fmt: Format, subnormals: str) -> Triple:
    """Return the triple of a finite code. subnormals: "keep", or "flush" to read a subnormal code as zero."""
    facts, codes = fmt.facts, derive.codes(fmt)
    code &= (1 << codes.bits) - 1
    if isinstance(facts, ExponentFacts):
        return Triple(1, code - facts.bias, 0)
    if isinstance(facts, IntegerFacts):
        if derive.is_twos_complement(fmt):
            return Triple(code - (1 << facts.bits) if code >> (facts.bits - 1) else code, facts.unit_exp, 0)
        magnitude = code & ~codes.sign_bit
        return Triple(-magnitude if code & codes.sign_bit else magnitude, facts.unit_exp, 0)
    assert isinstance(facts, FloatFacts)
    exp_field, fraction = (code & ~codes.sign_bit) >> facts.frac_bits, code & ((1 << facts.frac_bits) - 1)
    subnormal = exp_field == 0 and facts.subnormals == "yes"
    magnitude = fraction if subnormal else (1 << facts.frac_bits) + fraction
    if subnormal and subnormals == "flush":
        magnitude = 0
    exp = (1 if subnormal else exp_field) - facts.bias
    return Triple(-magnitude if code & codes.sign_bit else magnitude, exp, facts.frac_bits)


def triples_of(codes: Sequence[int], fmt: Format, subnormals: str) -> list[Triple]:
    """Return the triples of finite codes."""
    known = _TRIPLES.setdefault((fmt.facts_digest, subnormals), {})
    return _decoded(codes, known, lambda code: decode_triple(code, fmt, subnormals))


def _decoded(codes: Sequence[int], known: dict[int, _Decoded], decode: Callable[[int], _Decoded]) -> list[_Decoded]:
    """Decode codes; narrow ones once in the life of the process. known: what those gave, never more than 2^KNOWN_BITS."""
    for code in set(codes).difference(known):
        if code >> KNOWN_BITS:
            return [decode(each) for each in codes]
        known[code] = decode(code)
    return [known[code] for code in codes]


def multiply(x: Triple, y: Triple) -> Triple:
    """Return the exact product; exponents and fraction bits add."""
    return Triple(x.significand * y.significand, x.exp + y.exp, x.frac_bits + y.frac_bits)


def products_of(a: Sequence[int], b: Sequence[int], plan: DatapathPlan) -> list[Triple]:
    """Return the exact products of element codes, in the order of the elements."""
    keep = plan.facts.subnormal.elements
    return [multiply(x, y) for x, y in zip(triples_of(a, plan.a, keep), triples_of(b, plan.b, keep), strict=True)]


def group_sum(products: Sequence[Triple], plan: DatapathPlan) -> int:
    """Return the exact sum of the products of a group, in units of 2^(plan.product_exp - plan.product_frac_bits)."""
    return sum(product.significand << (product.exp - plan.product_exp) for product in products)


def scale_product(scale_a: int, scale_b: int, plan: DatapathPlan) -> Triple:
    """Return the exact product of two scale codes; 1 without scales."""
    if plan.scale is None:
        return Triple(1, 0, 0)
    keep = plan.facts.subnormal.scales
    return multiply(decode_triple(scale_a, plan.scale, keep), decode_triple(scale_b, plan.scale, keep))


def terms_of(products: Sequence[Triple], scale_a: Sequence[int], scale_b: Sequence[int], plan: DatapathPlan) -> list[Term]:
    """Return the terms of one step: scaled group sums (scale.apply group), or scaled products.

    scale_a, scale_b: one code per element (empty without scales).   A NaN scale counts as zero: the caller has dealt with it.
    """
    if plan.facts.scale.apply == "group":
        starts = range(0, len(products), plan.group)
        return [_group_term(products[i : i + plan.group], _scales(scale_a, scale_b, i, plan), plan) for i in starts]
    return [_product_term(product, _scales(scale_a, scale_b, i, plan), plan) for i, product in enumerate(products)]


def _scales(scale_a: Sequence[int], scale_b: Sequence[int], i: int, plan: DatapathPlan) -> Triple:
    if plan.scale is None:
        return Triple(1, 0, 0)
    if any(derive.is_nan_code(code & ((1 << derive.codes(plan.scale).bits) - 1), plan.scale) for code in (scale_a[i], scale_b[i])):
        return Triple(0, 0, 2 * frac_bits_of(plan.scale))
    return scale_product(scale_a[i], scale_b[i], plan)


def _group_term(products: Sequence[Triple], scale: Triple, plan: DatapathPlan) -> Term:
    """The sum of a group times both scales; its exponent is that of the scales, whatever the sum is."""
    total = group_sum(products, plan)
    alive = any(product.significand for product in products) if plan.facts.align.cancelled_group_counts == "yes" else total != 0
    frac_bits = plan.product_frac_bits + scale.frac_bits - plan.product_exp
    term = Triple(total * scale.significand, scale.exp, frac_bits)
    return _term(term, alive and scale.significand != 0, total, plan)


def _product_term(product: Triple, scale: Triple, plan: DatapathPlan) -> Term:
    term = multiply(product, scale)
    return _term(term, term.significand != 0, product.significand, plan)


def _term(term: Triple, live: bool, total: int, plan: DatapathPlan) -> Term:
    """Give a term its exponent: nominal, raised by a constant, or that of its leading bit; its value stays."""
    align = plan.facts.align
    assert isinstance(align.exponent_raise, int)
    raised = align.exponent_raise
    if align.exponent == "normalised" and term.significand:
        raised += abs(term.significand).bit_length() - 1 - term.frac_bits
    return Term(term.significand, term.exp + raised, term.frac_bits + raised, live, total)
