"""transform: the randomized Hadamard rotation of groups of elements, with its order of additions, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError, OperandError, ShapeError
from emu.engines.numpy.arithmetic import round_values
from emu.engines.numpy.convert import code_dtype, to_fp32
from emu.spec import derive
from emu.spec.ieee import binary_format, is_binary32
from emu.spec.models import Format, Rounding, Transform
from emu.spec.registry import get

F32 = NDArray[np.float32]
Codes = NDArray[np.unsignedinteger]
GROUPS = 1 << 11
_SAFE_SPREAD = 25  # exponents of 16 binary32 terms may differ by this much and their sum is still exact in binary64


def transform(codes: Codes, source: Format, chosen: Transform, signs: int | None = None) -> Codes:
    """Rotate codes along the last axis, each `size` consecutive ones.

    codes: [..., n], n a multiple of the size, of a format inside binary32.   signs: bit i negates element i; None: the transform's own.
    Returns: codes of the result format, same shape.
    Raises: ShapeError (length), OperandError (signs), EngineError (a sum format other than fp32).
    """
    size = chosen.facts.size
    if codes.ndim == 0 or codes.shape[-1] % size:
        raise ShapeError(f"transform {chosen.id} rotates {size} elements: the last axis must be a multiple of it")
    result: Format = get("format", chosen.facts.result)
    flat = np.ascontiguousarray(codes).reshape(-1, size)
    out = np.empty(flat.shape, code_dtype(result))
    for start in range(0, flat.shape[0], GROUPS):
        values = rotate(to_fp32(flat[start : start + GROUPS], source), chosen, signs)
        out[start : start + GROUPS] = _codes_of(values, result)
    return out.reshape(codes.shape)


def _codes_of(values: F32, result: Format) -> Codes:
    """Return the codes of values on the grid of a result format; NaN canonical."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    nan = np.isnan(values)
    known = binary_format(result)
    if known == "binary32":
        return np.where(nan, np.uint32(derive.codes(result).nan[0]), bits)
    if known == "bfloat16":
        return np.where(nan, np.uint16(derive.codes(result).nan[0]), (bits >> np.uint32(16)).astype(np.uint16))
    if known == "binary16":
        with np.errstate(all="ignore"):
            return np.where(nan, np.uint16(derive.codes(result).nan[0]), values.astype(np.float16).view(np.uint16))
    raise EngineError(f"engine numpy writes transforms as fp32, bf16 or fp16, not {result.id}: use engine='exact'")


def sign_mask(chosen: Transform, signs: int | None) -> int:
    """Return the sign mask to use. Raises: OperandError when the transform fixes its signs or the mask is too wide."""
    if signs is None:
        return int(chosen.facts.signs, 16)
    if chosen.facts.signs_operand == "no":
        raise OperandError(f"transform {chosen.id} has fixed signs: leave signs out")
    if not 0 <= signs < 1 << chosen.facts.size:
        raise OperandError(f"signs {signs:#x} has more than {chosen.facts.size} bits")
    return signs


def rotate(values: F32, chosen: Transform, signs: int | None = None) -> F32:
    """Return rotated values on the grid of the result format.

    values: float32 [groups, size], not changed.   Works on the transpose, so that every addition runs along contiguous rows.
    """
    facts = chosen.facts
    if not is_binary32(get("format", facts.sum_format)):
        raise EngineError(f"engine numpy adds in fp32, not {facts.sum_format}: use engine='exact'")
    mask = sign_mask(chosen, signs)
    rows = np.array(values.T, order="C")  # a copy, also of a single group: the signs are flipped in place
    for i in range(facts.size):
        if mask >> i & 1:
            np.bitwise_xor(rows[i].view(np.uint32), np.uint32(0x80000000), out=rows[i].view(np.uint32))
    scale = np.float32(derive.parse_exact(facts.scale))
    with np.errstate(all="ignore"):
        if facts.sum == "exact":
            summed = _exact_sums(rows, scale)
        else:
            summed = _butterfly(rows) if facts.sum == "butterfly" else _sequential(rows)
            summed *= scale
        nearest: Rounding = get("rounding", "rne")
        return np.ascontiguousarray(round_values(summed, get("format", facts.result), nearest).T)


def _butterfly(rows: NDArray[Any]) -> NDArray[Any]:
    """Strides 1, 2, 4, ...: (a, b) becomes (a + b, a - b)."""
    size, stride, other = rows.shape[0], 1, np.empty_like(rows)
    while stride < size:
        pairs = rows.reshape(size // (2 * stride), 2, stride, -1)
        out = other.reshape(pairs.shape)
        np.add(pairs[:, 0], pairs[:, 1], out=out[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=out[:, 1])
        rows, other, stride = other, rows, stride * 2
    return rows


def _sequential(rows: F32) -> F32:
    out = np.zeros_like(rows)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[0]):
            out[i] = out[i] - rows[j] if (i & j).bit_count() % 2 else out[i] + rows[j]
    return out


def _exact_sums(rows: F32, scale: np.float32) -> F32:
    """One rounding of the scaled exact sum: binary64 while the exponents of a group are close, integers elsewhere."""
    summed = (_butterfly(rows.astype(np.float64)) * np.float64(scale) + 0.0).astype(np.float32)  # a zero sum is +0
    bits = rows.view(np.uint32) & np.uint32(0x7FFFFFFF)
    highest = np.maximum.reduce(bits, axis=0) >> np.uint32(23)
    lowest = np.minimum.reduce(np.where(bits == 0, np.uint32(0x7F000000), bits), axis=0) >> np.uint32(23)
    terms = rows.shape[0].bit_length() - 1
    wide = (highest.astype(np.int64) - np.maximum(lowest, 1) > _SAFE_SPREAD + 4 - terms) & (highest < 255)
    for group in np.flatnonzero(wide):
        summed[:, group] = _integer_sums(rows[:, group], scale)
    zero = np.flatnonzero(np.maximum.reduce(bits, axis=0) == 0)
    if zero.size:
        summed[:, zero] = _zero_sums(rows[:, zero])
    return summed


def _zero_sums(rows: F32) -> F32:
    """Sums of groups of zeros: -0 where every term is -0 after its sign in the row, else +0."""
    minus = np.signbit(rows)
    places = np.arange(rows.shape[0])
    out = np.zeros_like(rows)
    for i in places:
        negated = np.array([int(i & j).bit_count() % 2 == 1 for j in places])
        out[i, np.logical_and.reduce(minus ^ negated[:, None], axis=0)] = -0.0
    return out


def _integer_sums(column: F32, scale: np.float32) -> F32:
    """Exact sums of one group as integers in units of 2^-149, each rounded once to binary32."""
    bits = [int(b) for b in column.view(np.uint32)]
    units = [_units(b) for b in bits]
    shift = int(np.array(scale).view(np.uint32) >> np.uint32(23)) - 127
    out = np.empty(len(units), np.uint32)
    for i in range(len(units)):
        terms = [-u if (i & j).bit_count() % 2 else u for j, u in enumerate(units)]
        signs = [(b >> 31) ^ ((i & j).bit_count() & 1) for j, b in enumerate(bits)]
        out[i] = _round_units(sum(terms), shift, all(signs) and not any(units))
    return out.view(np.float32)


def _units(bits: int) -> int:
    """Return a finite binary32 code as an integer of 2^-149."""
    field, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    units = (fraction | 0x800000) << (field - 1) if field else fraction
    return -units if bits >> 31 else units


def _round_units(total: int, shift: int, minus_zero: bool) -> int:
    """Return the binary32 code of total * 2^(shift - 149), nearest even; an exact zero is +0 unless every term was -0."""
    if not total:
        return 0x80000000 if minus_zero else 0
    sign, size = (0x80000000, -total) if total < 0 else (0, total)
    lsb = max(size.bit_length() + shift - 24, 0)  # the result counts units of 2^(lsb - 149)
    drop = lsb - shift
    if drop <= 0:
        kept, lost, half = size << -drop, 0, 1
    else:
        kept, lost, half = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
    kept += lost > half or (lost == half and kept & 1)
    return sign | min((lsb << 23) + kept, 0x7F800000)
