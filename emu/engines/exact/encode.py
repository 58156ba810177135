"""encode: a magnitude code and a sign, or a value already on the grid -> code."""

from __future__ import annotations

from fractions import Fraction

from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import locate
from emu.engines.exact.value import Value, finite
from emu.spec import derive
from emu.spec.models import Format


def attach_sign(magnitude: int, sign: int, fmt: Format) -> int:
    """Return the code of a magnitude code with a sign; the low `bits` of a larger one (wrap relies on it).

    -0 becomes +0 where the format has none.
    """
    derived = derive.codes(fmt)
    if derive.is_twos_complement(fmt):
        return (-magnitude if sign else magnitude) & ((1 << derived.bits) - 1)
    magnitude &= (1 << derived.bits) - 1
    if not sign or not derived.sign_bit or (magnitude == 0 and derived.has_zero and not derived.neg_zero):
        return magnitude
    return derived.sign_bit | magnitude


def code_of_one(fmt: Format) -> int:
    """Return the code of 1. Raises: OperandError (a grid without it)."""
    return encode_value(finite(Fraction(1)), fmt)


def encode_value(value: Value, fmt: Format) -> int:
    """Return the code of a value that lies on the grid of a float, integer or exponent format; NaN gives the canonical NaN code.

    Raises: OperandError when the value is not on the grid, beyond the maximum, or a special the format lacks.
    """
    derived = derive.codes(fmt)
    if value.kind == "nan" and derived.nan:
        return derived.nan[0]
    if value.kind == "inf" and derived.inf is not None:
        return attach_sign(derived.inf, value.sign, fmt)
    if value.kind == "finite":
        code = attach_sign(locate(value.magnitude, fmt).code, value.sign, fmt)
        if decode_code(code, fmt) == value:
            return code
    raise OperandError(f"{value.kind} value {value.signed if value.kind == 'finite' else ''} is not a {fmt.id} number")
