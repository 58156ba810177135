"""transform in the C reference: rotations of arrays of codes."""

from __future__ import annotations

import numpy as np

from emu.base.errors import OperandError, ShapeError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, check, code_dtype, in_width, matrix
from emu.engines.c_ref.descriptors import format_descriptor
from emu.engines.c_ref.program import sign_words, transform_descriptor
from emu.spec.models import Format, Transform
from emu.spec.registry import get


def transform(codes: Codes, source: Format, chosen: Transform, signs: int | None = None) -> Codes:
    """Rotate codes along the last axis, each `size` consecutive ones.

    codes: unsigned [..., n], n a multiple of the size.   signs: bit i negates element i; None: the transform's own.
    Returns: codes of the result format, same shape; NaN canonical.
    Exactness: equals emu.engines.exact.transform.transform_codes bit for bit.
    Raises: ShapeError (length), OperandError (signs, codes), EngineError (beyond the limits of emu_ref.h).
    Tests: tests/engines/together/test_differential_transform.py.
    """
    size = chosen.facts.size
    if codes.ndim == 0 or codes.shape[-1] % size:
        raise ShapeError(f"transform {chosen.id} rotates {size} elements: the last axis must be a multiple of it")
    given = in_width(codes, source).reshape(-1, size)
    out: Codes = np.empty(given.shape, code_dtype(get("format", chosen.facts.result)))
    x, y = (ffi.new("emu_matrix *", matrix(array)) for array in (given, out))
    origin, descriptor = format_descriptor(source), transform_descriptor(chosen)
    check(lib.emu_transform_matrix(origin.pointer, descriptor.pointer, sign_operand(chosen, signs), x, y), f"transform/{chosen.id}")
    return out.reshape(codes.shape)


def sign_operand(chosen: Transform, signs: int | None) -> object:
    """Return the words of a sign mask, NULL for None. Raises: OperandError when the transform fixes its signs or the mask is too wide."""
    if signs is None:
        return ffi.NULL
    if chosen.facts.signs_operand == "no":
        raise OperandError(f"transform {chosen.id} has fixed signs: leave signs out")
    if not 0 <= signs < 1 << chosen.facts.size:
        raise OperandError(f"signs {signs:#x} has more than {chosen.facts.size} bits")
    return ffi.new("uint64_t[]", sign_words(signs))
