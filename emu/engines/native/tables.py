"""Tables and thresholds of the kernels, derived from the spec by way of the C reference. No rounding is written here.

A 16-bit source is enumerated: its table is what the C reference answers for every code. A binary32 source goes through bf16, rounded to
odd, where that decides the same (emu/spec/one_table.py).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.engines.c_ref.convert import convert_with_open, decode_to
from emu.engines.native._kernels import ffi, lib
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import BinaryFormat, binary_format, is_binary32
from emu.spec.models import Format, Rounding
from emu.spec.one_table import table_is_exact
from emu.spec.registry import get

Table = NDArray[np.uint16]
Bytes = NDArray[np.uint8]
_SOURCES: Final[dict[BinaryFormat | None, int]] = {
    "binary32": lib.EMU_SOURCE_FP32,
    "bfloat16": lib.EMU_SOURCE_BF16,
    "binary16": lib.EMU_SOURCE_FP16,
}
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
    return table_is_exact(get("format", "fp32"), fmt, rounding, entry)


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
