"""Tables and thresholds of the kernels, derived from the spec by way of the C reference. No rounding is written here.

A 16-bit source is enumerated: its table is what the C reference answers for every code. A binary32 source goes through bf16, rounded to
odd, where that decides the same: a conversion is constant between neighbouring decision points (the values of the format and the middles
between them), and rounding to odd into bf16 keeps the place of a number among points that are bf16 numbers with an even last bit.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.c_ref.convert import convert_with_open, decode, decode_to
from emu.engines.native._kernels import ffi, lib
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import BinaryFormat, binary_format, is_binary32
from emu.spec.models import Format, Rounding
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import reach
from emu.spec.registry import get

Table = NDArray[np.uint16]
Bytes = NDArray[np.uint8]
_SOURCES: Final[dict[BinaryFormat | None, int]] = {
    "binary32": lib.EMU_SOURCE_FP32,
    "bfloat16": lib.EMU_SOURCE_BF16,
    "binary16": lib.EMU_SOURCE_FP16,
}
_even: Cache[tuple[str, bool], bool] = Cache("emu.engines.native.tables._even", 4096)
_tables: Cache[tuple[str, str, str, EntryCodes], Table] = Cache("emu.engines.native.tables._tables", 512)
_bytes: Cache[tuple[str, str, str, EntryCodes], tuple[Bytes, Bytes | None] | None] = Cache("emu.engines.native.tables._bytes", 64)
_thresholds: Cache[tuple[str, str, str, EntryCodes], Any] = Cache("emu.engines.native.tables._thresholds", 512)


def is_source(fmt: Format) -> bool:
    """Tell whether the kernels read codes of a format: binary32, bfloat16 or binary16 by its facts."""
    return binary_format(fmt) in _SOURCES


def source_of(fmt: Format) -> int:
    """Return the kernels' number of a format that they read. Raises: EngineError (another format)."""
    known = binary_format(fmt)
    if known not in _SOURCES:
        raise EngineError(f"the kernels read fp32, bf16 and fp16, not {fmt.id}: use engine='numpy'")
    return _SOURCES[known]


def table_of(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> Table:
    """Return what the C reference converts each code of a 16-bit source to, with lib.EMU_MARK_* for open and refused ones in bits 8 and up.

    Raises: as emu.engines.c_ref.convert.convert_with_open.
    """
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry)
    if key not in _tables:
        codes, unanswered = convert_with_open(np.arange(1 << 16, dtype=np.uint16), source, fmt, rounding, entry)
        marks = np.array([0, lib.EMU_MARK_OPEN, lib.EMU_MARK_REFUSED], np.uint16)[unanswered]
        table: Table = codes.astype(np.uint16) | marks << np.uint16(8)
        table.setflags(write=False)
        _tables[key] = table
    return _tables[key]


def decode_table(fmt: Format) -> NDArray[np.uint32]:
    """Return the binary32 bits of 256 codes of a format of at most 8 bits; beyond its width they repeat. Raises: as decode_to."""
    codes = np.arange(256, dtype=np.uint8) & np.uint8((1 << derive.codes(fmt).bits) - 1)
    return np.ascontiguousarray(decode_to(codes, fmt, get("format", "fp32")), np.uint32)


def decides_by_bf16(fmt: Format, rounding: Rounding, entry: EntryCodes) -> bool:
    """Tell whether a conversion of binary32 is its table over bf16, after rounding to odd."""
    if rounding.random_bits or entry.overflow == "wrap" or derive.codes(fmt).bits > 8:
        return False
    beyond, key = entry.overflow != "saturate", (fmt.facts_digest, entry.overflow != "saturate")
    if key not in _even:
        points = decision_points(fmt)
        points += points_beyond(fmt, points[-1]) if beyond else []
        _even[key] = all(_is_even_bf16(point) for point in points)
    return _even[key]


def points_beyond(fmt: Format, largest: Fraction) -> list[Fraction]:
    """Return where rounding passes the largest value, if the grid went on: the next value and the middle before. Codebooks: none."""
    facts = fmt.facts
    if isinstance(facts, ExponentFacts):
        following = 2 * largest
    elif isinstance(facts, IntegerFacts):
        following = largest + Fraction(2) ** facts.unit_exp
    else:
        assert isinstance(facts, FloatFacts)
        following = largest + Fraction(2) ** (reach(fmt).max_exp - facts.frac_bits)
    return [(largest + following) / 2, following]


def decision_points(fmt: Format) -> list[Fraction]:
    """Return the magnitudes of a format's finite values and the middles between neighbours, sorted; with saturation nothing lies beyond."""
    codes = np.arange(1 << derive.codes(fmt).bits, dtype=np.uint16)
    found = decode(codes, fmt)
    points = {
        significand * (Fraction(2) ** lsb_exp)
        for significand, lsb_exp, kind in zip(found.significand.tolist(), found.lsb_exp.tolist(), found.value_class.tolist(), strict=True)
        if kind <= 2
    }
    points.add(Fraction(0))
    order = sorted(points)
    return sorted(points | {(a + b) / 2 for a, b in pairwise(order)})


def _is_even_bf16(value: Fraction) -> bool:
    """Tell whether a magnitude is a bf16 number whose last bit is 0."""
    bf16: Format = get("format", "bf16")
    facts = bf16.facts
    assert isinstance(facts, FloatFacts)
    if not value or value >= Fraction(2) ** (facts.bias + 1):
        return True
    exp = value.numerator.bit_length() - value.denominator.bit_length()
    exp -= value < Fraction(2) ** exp
    lsb_exp = max(exp, 1 - facts.bias) - facts.frac_bits
    return (value / Fraction(2) ** (lsb_exp + 1)).denominator == 1


def thresholds_of(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> Any:
    """Return the emu_thresholds of a conversion to 4 bits, or None where the kernel cannot do it."""
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry)
    if key not in _thresholds:
        _thresholds[key] = _find(source, fmt, rounding, entry)
    return _thresholds[key]


def byte_tables_of(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> tuple[Bytes, Bytes | None] | None:
    """Return the codes that a conversion to at most 8 bits gives each 16-bit code, and their marks where one has any; None: it cannot be.

    Of a binary32 source: each bf16 code, after rounding to odd.
    """
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry)
    if key not in _bytes:
        _bytes[key] = _find_bytes(source, fmt, rounding, entry)
    return _bytes[key]


def _find_bytes(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> tuple[Bytes, Bytes | None] | None:
    if not is_source(source) or derive.codes(fmt).bits > 8 or rounding.random_bits:
        return None
    try:
        if is_binary32(source):
            if not decides_by_bf16(fmt, rounding, entry):
                return None
            source = get("format", "bf16")
        table = table_of(source, fmt, rounding, entry)
    except EngineError:  # a format or a rounding that the C reference does not take
        return None
    marks = (table >> np.uint16(8)).astype(np.uint8)
    return table.astype(np.uint8), marks if marks.any() else None


def _find(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> Any:
    if not is_source(source) or derive.codes(fmt).bits != 4 or derive.unused_high_bits(fmt) or rounding.random_bits:
        return None
    try:
        if is_binary32(source):
            if not decides_by_bf16(fmt, rounding, entry):
                return None
            source = get("format", "bf16")
        return thresholds_in(table_of(source, fmt, rounding, entry))
    except EngineError:  # a format or a rounding that the C reference does not take
        return None


def thresholds_in(table: Table) -> Any:
    """Return a table over 16-bit codes as emu_thresholds: where the pair of codes of both signs changes; None when that is too often."""
    one_byte = (table & np.uint16(0xF) | table >> np.uint16(8)).reshape(2, -1)
    pairs = one_byte[0] | one_byte[1] << np.uint16(8)
    at = np.flatnonzero(pairs[1:] != pairs[:-1]) + 1
    if at.size > lib.EMU_MAX_THRESHOLDS:
        return None
    return ffi.new("emu_thresholds *", {"count": at.size, "at": at.tolist(), "codes": pairs[[0, *at]].tolist()})
