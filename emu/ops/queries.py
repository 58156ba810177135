"""Queries of a float format: widths, precision, bias and its outermost numbers, as the IEEE P3109 draft asks for them."""

from __future__ import annotations

from collections.abc import Callable

from emu.base.errors import OperandError
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts


def query(name: str, fmt: str | Format) -> int | str:
    """Return what a query says of a float format.

    name: bitwidth_of, precision_of, exponent_bitwidth_of, trailing_significand_bitwidth_of, exponent_bias_of; signedness_of,
    domain_of; max_finite_of, min_finite_of, min_positive_of, max_subnormal_of, min_normal_of.
    fmt: id or model.
    Returns: an integer, widths in bits; a word: signed or unsigned, extended (it has infinities) or finite; or a code of the format,
    for max_subnormal_of that of NaN where no number is subnormal.
    Raises: OperandError (unknown name, no float format, no such number), SpecError (unknown format).
    Source: IEEE P3109 interim report 4.0, 4.14.   Tests: tests/ops/test_queries.py.
    """
    if name not in _QUERIES:
        raise OperandError(f"query {name!r} is unknown: one of {', '.join(_QUERIES)}")
    asked: Format = get("format", fmt)
    if not isinstance(asked.facts, FloatFacts):
        raise OperandError(f"query {name} takes float formats: {asked.id} is none")
    return _QUERIES[name](asked, asked.facts)


def _max_subnormal(fmt: Format, facts: FloatFacts) -> int:
    if facts.subnormals == "yes" and facts.frac_bits:
        return (1 << facts.frac_bits) - 1
    if not derive.codes(fmt).nan:
        raise OperandError(f"query max_subnormal_of: {fmt.id} has no subnormal number, and no NaN to say so")
    return derive.codes(fmt).nan[0]


def _min_normal(fmt: Format, facts: FloatFacts) -> int:
    return 1 << facts.frac_bits if facts.subnormals == "yes" else _least_positive(fmt)


def _least_positive(fmt: Format) -> int:
    return 1 if derive.codes(fmt).has_zero else 0


_FACTS: dict[str, Callable[[Format, FloatFacts], int | str]] = {
    "bitwidth_of": lambda fmt, _: derive.codes(fmt).bits,
    "precision_of": lambda _, facts: facts.frac_bits + 1,
    "signedness_of": lambda fmt, _: "signed" if derive.codes(fmt).sign_bit else "unsigned",
    "domain_of": lambda fmt, _: "finite" if derive.codes(fmt).inf is None else "extended",
    "exponent_bitwidth_of": lambda _, facts: facts.exp_bits,
    "trailing_significand_bitwidth_of": lambda _, facts: facts.frac_bits,
    "exponent_bias_of": lambda _, facts: facts.bias,
}
CODES: dict[str, Callable[[Format, FloatFacts], int]] = {
    "max_finite_of": lambda fmt, _: derive.codes(fmt).max_code,
    "min_finite_of": lambda fmt, _: derive.codes(fmt).negative_max if derive.codes(fmt).sign_bit else 0,
    "min_positive_of": lambda fmt, _: _least_positive(fmt),
    "max_subnormal_of": _max_subnormal,
    "min_normal_of": _min_normal,
}
_QUERIES: dict[str, Callable[[Format, FloatFacts], int | str]] = {**_FACTS, **CODES}
