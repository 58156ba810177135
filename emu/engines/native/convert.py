"""Engine `native`, elementwise: conversion to 8 bits or fewer, decoding of 4. What the kernels do, can_convert and can_decode say.

4-bit codes come from a chain of compares, others from a table over 16-bit codes.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import EngineError, OperandError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import convert as convert_reference
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.tables import byte_tables_of, decode_table, source_of, thresholds_of
from emu.spec import derive
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, Policy, Rounding

FORMS: Final = ("portable", "AVX2", "AVX-512")
LINE: Final = 64  # bytes of a cache line, and of the widest vector


def _form_of(wanted: str | None) -> int:
    """Return the form of the loops: the best of this machine, or a lower one that the environment variable EMU_FORM names.

    Raises: EngineError (no such form; the machine lacks its instructions).   Tests: tests/engines/native/test_native_form.py.
    """
    best: int = lib.emu_best_form()
    if not wanted:
        return best
    names = [name.lower().replace("-", "") for name in FORMS]
    if wanted not in names:
        raise EngineError(f"EMU_FORM={wanted[:40]!r} is no form of the native loops: set {', '.join(names)}, or nothing for the best one")
    if names.index(wanted) > best:
        raise EngineError(f"EMU_FORM={wanted}: this machine lacks its instructions: set {', '.join(names[: best + 1])}, or nothing")
    return names.index(wanted)


BEST_FORM: Final[int] = _form_of(os.environ.get("EMU_FORM"))
FAULTS: Final = {
    lib.EMU_KERNEL_FORM: "this machine lacks the instructions of the wanted form: use a lower one",
    lib.EMU_KERNEL_FLUSHED: "this process flushes subnormals to zero: unset FTZ/DAZ (exact and c_ref use no floats)",
    lib.EMU_KERNEL_ROUNDING: "this process does not round to nearest even: restore the rounding mode (exact and c_ref use no floats)",
    lib.EMU_KERNEL_WIDER: "this machine evaluates binary32 in a wider format: only engines exact and c_ref are right here",
}
_decode_tables: Cache[str, NDArray[np.uint32]] = Cache("emu.engines.native.convert._decode_tables", 256)


def can_convert(source: Format, fmt: Format, rounding: Rounding, policy: Policy) -> bool:
    """Tell whether a kernel converts this: fp32, bf16 or fp16 to at most 8 bits, no random bits; fp32 where bf16, rounded to odd, decides.

    Raises: SpecError (no entry).
    """
    entry = derive.policy_entry(policy, fmt)
    return thresholds_of(source, fmt, rounding, entry) is not None or byte_tables_of(source, fmt, rounding, entry) is not None


def convert(
    codes: Codes,
    source: Format,
    fmt: Format,
    rounding: Rounding,
    policy: Policy,
    random: Codes | None = None,
    *,
    out: Codes | None = None,
    form: int = BEST_FORM,
) -> NDArray[np.uint8]:
    """Convert codes of fp32, bf16 or fp16 to codes of a format of at most 8 bits, one a byte.

    codes: unsigned, any shape.   random: None, the kernel has no rounding that draws.   out: a place for the result.
    form: of emu/engines/native/kernels/kernels.h.   Returns: uint8, shape of codes; `out` where it is contiguous.
    NaN, Inf, zero: as the policy says.
    Raises: OpenError, OperandError as emu.engines.c_ref.convert.convert; EngineError (the kernel cannot; the machine lacks the form).
    Source: emu/engines/native/tables.py derives thresholds and tables.   Tests: tests/engines/native/test_native_convert.py.
    """
    place = None if out is None else usable(out, codes.shape, np.uint8)
    found = _convert(codes, source, fmt, rounding, policy, random, form, packed=False, place=place)
    return found.reshape(codes.shape) if place is None else place


def convert_packed(
    codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, *, form: int = BEST_FORM
) -> NDArray[np.uint8]:
    """Convert codes to 4-bit codes, two a byte, element 2k in the low nibble; an odd count leaves the last high nibble 0.

    codes: unsigned, taken in row-major order.   Returns: flat uint8.   Raises: as convert.
    """
    return _convert(codes, source, fmt, rounding, policy, None, form, packed=True)


def _convert(
    codes: Codes,
    source: Format,
    fmt: Format,
    rounding: Rounding,
    policy: Policy,
    random: Codes | None,
    form: int,
    packed: bool,
    place: Codes | None = None,
) -> NDArray[np.uint8]:
    entry = derive.policy_entry(policy, fmt)
    thresholds = thresholds_of(source, fmt, rounding, entry)
    tables = None if thresholds is not None or packed else byte_tables_of(source, fmt, rounding, entry)
    if thresholds is None and tables is None:
        raise EngineError(f"engine native cannot convert {source.id} to {fmt.id} by {rounding.id} under {policy.id}: use engine='numpy'")
    if random is not None:
        raise OperandError(f"rounding {rounding.id} draws nothing: leave random out")
    flat = np.require(codes, code_dtype(source), ("C", "A")).reshape(-1)
    out: NDArray[np.uint8] = np.empty(-(-flat.size // 2) if packed else flat.size, np.uint8) if place is None else place.reshape(-1)
    marks = ffi.new("uint8_t *")
    given = source_of(source), address(flat), flat.size
    if tables is None:
        check(lib.emu_convert_4bit(form, thresholds, *given, packed, address(out), marks))
    else:
        table, marked = tables
        check(lib.emu_convert_8bit(form, address(table), ffi.NULL if marked is None else address(marked), *given, address(out), marks))
    if marks[0]:
        convert_reference(codes, source, fmt, rounding, policy)  # raises, and names the first element
    return out


def can_decode(fmt: Format, result: Format) -> bool:
    """Tell whether the kernel decodes this: 4-bit codes to binary32."""
    return derive.codes(fmt).bits == 4 and not derive.unused_high_bits(fmt) and is_binary32(result)


def decode(
    codes: Codes, fmt: Format, result: Format, *, packed: bool = False, count: int = -1, form: int = BEST_FORM
) -> NDArray[np.uint32]:
    """Return the binary32 bits that 4-bit codes mean.

    codes: unsigned, any shape, below 16; packed: two a byte, flat, `count` codes in all (-1: all nibbles).
    Returns: uint32, shape of codes (flat when packed).   NaN is canonical.   Raises: EngineError.
    Source: the format's sources.   Tests: tests/engines/native/test_native_decode.py.
    """
    if not can_decode(fmt, result):
        raise EngineError(f"engine native decodes 4-bit codes to fp32, not {fmt.id} to {result.id}: use engine='numpy'")
    if fmt.facts_digest not in _decode_tables:
        _decode_tables[fmt.facts_digest] = decode_table(fmt)
    flat = np.ascontiguousarray(codes, np.uint8).reshape(-1)
    out = np.empty((flat.size * 2 if count < 0 else count) if packed else flat.size, np.uint32)
    if packed and -(-out.size // 2) > flat.size:
        raise EngineError(f"{out.size} packed codes need {-(-out.size // 2)} bytes, not {flat.size}")
    check(lib.emu_decode_4bit(form, address(_decode_tables[fmt.facts_digest]), address(flat), out.size, packed, address(out)))
    return out if packed else out.reshape(codes.shape)


def read_4_write_1(bits: NDArray[np.uint32], out: NDArray[np.uint8], form: int = BEST_FORM) -> None:
    """Read 4 bytes and write 1 for each element: the limit of this machine's memory, which `emu bench` holds conversions against."""
    check(lib.emu_read_4_write_1(form, address(bits), min(bits.size, out.size), address(out)))


def check(error: int) -> None:
    """Raise what a kernel refuses. Raises: EngineError."""
    if error:
        raise EngineError(FAULTS.get(error, f"error {error} of a kernel"))


def usable(out: Codes, shape: tuple[int, ...], dtype: type[np.unsignedinteger]) -> Codes | None:
    """Return a place for a result where a kernel can write into it: contiguous memory of this shape and dtype; else None."""
    return out if out.shape == shape and out.dtype == dtype and out.flags.carray else None


def workspace(count: int, dtype: type[np.unsignedinteger]) -> Codes:
    """Return zeros for a kernel to work in that begin at a cache line: a vector that lies on two takes twice as long."""
    width = np.dtype(dtype).itemsize
    whole = np.zeros(count * width + LINE, np.uint8)
    first = -whole.ctypes.data % LINE
    return whole[first : first + count * width].view(dtype)


def address(array: NDArray[Any]) -> Any:
    """Return the C pointer of a contiguous array's memory; the array must outlive it."""
    return ffi.from_buffer("void *", array)
