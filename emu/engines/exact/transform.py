"""transform: the randomized Hadamard rotation of one group of elements, with its order of additions."""

from __future__ import annotations

from collections.abc import Sequence

from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.arithmetic import add, multiply, negate, round_result, total
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite
from emu.spec import derive
from emu.spec.models import Format, Rounding, Transform
from emu.spec.registry import get


def transform_signs(transform: Transform, signs: int | None) -> int:
    """Return the sign mask to use. Raises: OperandError when the transform fixes its signs or the mask is too wide."""
    if signs is None:
        return int(transform.facts.signs, 16)
    if transform.facts.signs_operand == "no":
        raise OperandError(f"transform {transform.id} has fixed signs: leave signs out")
    if not 0 <= signs < 1 << transform.facts.size:
        raise OperandError(f"signs {signs:#x} has more than {transform.facts.size} bits")
    return signs


def transform_values(values: Sequence[Value], transform: Transform, signs: int | None = None) -> list[Value]:
    """Return scale * H * diag(signs) * values, rounded as the transform states.

    values: `size` exact values.   signs: bit i set negates element i; None: the transform's own.
    NaN and Inf spread by the IEEE rules of addition.
    Raises: ShapeError (wrong length), OperandError (signs).
    Source: the transform's sources.   Tests: tests/engines/exact/test_exact_transform.py.
    """
    facts = transform.facts
    if len(values) != facts.size:
        raise ShapeError(f"transform {transform.id} takes {facts.size} elements, not {len(values)}")
    mask = transform_signs(transform, signs)
    signed = [negate(value) if mask >> i & 1 else value for i, value in enumerate(values)]
    to: Format = get("format", facts.sum_format)
    nearest: Rounding = get("rounding", "rne")
    rows = _butterfly(signed, to, nearest) if facts.sum == "butterfly" else _by_row(signed, facts.sum, to, nearest)
    scale = finite(derive.parse_exact(facts.scale))
    scaled = [round_result(multiply(value, scale), to, nearest) for value in rows]
    return [round_result(value, get("format", facts.result), nearest) for value in scaled]


def _butterfly(row: list[Value], to: Format, nearest: Rounding) -> list[Value]:
    """Strides 1, 2, 4, ...: (a, b) becomes (a + b, a - b), each rounded."""
    stride = 1
    while stride < len(row):
        out = list(row)
        for i in range(len(row)):
            if not i & stride:
                a, b = row[i], row[i + stride]
                out[i] = round_result(add(a, b, nearest), to, nearest)
                out[i + stride] = round_result(add(a, negate(b), nearest), to, nearest)
        row, stride = out, stride * 2
    return row


def _by_row(row: list[Value], order: str, to: Format, nearest: Rounding) -> list[Value]:
    """One sum per row of H; an exact sum stays unrounded until it is scaled."""
    out = []
    for i in range(len(row)):
        terms = [negate(value) if (i & j).bit_count() % 2 else value for j, value in enumerate(row)]
        if order == "sequential":
            out.append(total(terms, order, to, nearest))
        else:
            acc = terms[0]
            for term in terms[1:]:
                acc = add(acc, term, nearest)
            out.append(acc)
    return out


def transform_codes(codes: Sequence[int], source: Format, transform: Transform, signs: int | None = None) -> list[int]:
    """Return codes of the result format for `size` codes of a source format. Raises: as transform_values."""
    result: Format = get("format", transform.facts.result)
    values = [decode_code(code, source) for code in codes]
    return [encode_value(value, result) for value in transform_values(values, transform, signs)]
