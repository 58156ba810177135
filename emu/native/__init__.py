"""Binding of the C reference (c_ref): arrays of codes in and out; descriptors come from spec models (descriptors.py). No arithmetic here.

The C runs without the interpreter lock. Not here: names and values (emu), the choice of an engine (emu.engines).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.errors import EmuError, EngineError, OpenError, OperandError, ShapeError, SpecError
from emu.native._c import ffi, lib
from emu.native.descriptors import bit_places, format_descriptor, policy_descriptor, rounding_descriptor
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Conversion, Format, Rounding
from emu.spec.models.rounding import Word

Codes = NDArray[np.unsignedinteger]

ERRORS: Final[dict[int, tuple[type[EmuError], str]]] = {
    lib.EMU_ERROR_FORMAT: (EngineError, "the C reference cannot use the format this way: use engine='exact'"),
    lib.EMU_ERROR_ROUNDING: (EngineError, "the C reference does not have this rounding: use engine='exact'"),
    lib.EMU_ERROR_POLICY: (SpecError, "the policy does not fit the format"),
    lib.EMU_ERROR_CODE: (OperandError, "a code has more bits than its format"),
    lib.EMU_ERROR_RANDOM: (OperandError, "random is missing, unwanted, or too wide for the rounding"),
    lib.EMU_ERROR_GRID: (OperandError, "a value is not a value of the result format: name a wider one"),
    lib.EMU_ERROR_OPEN: (OpenError, "what a code means is open"),
    lib.EMU_ERROR_REFUSED: (OperandError, "the policy refuses an element"),
}


class Decoded(NamedTuple):
    """Exact values, field by field: (-1)^sign * significand * 2^lsb_exp; arrays of one shape.

    sign uint8.   significand uint64 and lsb_exp int32, both 0 unless subnormal or normal.
    value_class uint8: 0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN, 5 open (nobody knows what the code means).
    """

    sign: NDArray[np.uint8]
    significand: NDArray[np.uint64]
    lsb_exp: NDArray[np.int32]
    value_class: NDArray[np.uint8]


def code_dtype(fmt: Format) -> type[np.unsignedinteger]:
    """Return the unsigned dtype of a format's codes: 8, 16, 32 or 64 bits."""
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def decode(codes: Codes, fmt: Format) -> Decoded:
    """Decode an array of codes to exact values.

    codes: unsigned integers, any shape.   fmt: their format.
    Raises: OperandError (no unsigned integers, a code with too many bits), EngineError (a format beyond the limits of emu_ref.h).
    Source: the format's sources.   Tests: tests/c_column/test_c_convert.py.
    """
    flat, descriptor = _flat(codes, fmt), format_descriptor(fmt)
    out = Decoded(*(np.empty(codes.shape, dtype) for dtype in (np.uint8, np.uint64, np.int32, np.uint8)))
    _check(
        lib.emu_decode_array(
            descriptor.pointer,
            _address("char[]", flat),
            flat.size,
            _address("uint8_t[]", out.sign),
            _address("uint64_t[]", out.significand),
            _address("int32_t[]", out.lsb_exp),
            _address("uint8_t[]", out.value_class),
        ),
        f"decode/{fmt.id}",
    )
    return out


def decode_to(codes: Codes, fmt: Format, result: Format) -> Codes:
    """Decode an array of codes to codes of a wider format that holds every one of the values exactly.

    codes: unsigned integers, any shape.   result: such as fp32 for binary32 bits. NaN gives the result's canonical NaN.
    Raises: OperandError (a value that result does not hold; as decode), OpenError (a code nobody knows), EngineError.
    """
    flat, source, target = _flat(codes, fmt), format_descriptor(fmt), format_descriptor(result)
    out: Codes = np.empty(codes.shape, code_dtype(result))
    addresses = _address("char[]", flat), flat.size, _address("char[]", out)
    _check(lib.emu_decode_to_array(source.pointer, target.pointer, *addresses), f"decode/{fmt.id} to {result.id}")
    return out


def convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Conversion, random: Codes | None = None) -> Codes:
    """Convert an array of codes to another format, rounded once, under a policy.

    codes: unsigned integers, any shape.   random: for a rounding that draws, one integer per element in row-major order, or one word per
    `lanes` elements where the rounding shares words; else None.
    Returns: unsigned array of the same shape, uint8 for formats of at most 8 bits.   NaN, Inf, zero and sign: as the policy says.
    Exactness: equals emu.exact.convert.convert_code bit for bit.
    Raises: OpenError (the policy does not know the answer), OperandError (the described library raises; bad codes or random),
    SpecError (no entry for the format), EngineError (beyond the limits of emu_ref.h).
    Source: the policy's and rounding's sources.   Tests: tests/c_column/test_c_convert.py.
    """
    converted, unanswered = convert_with_open(codes, source, fmt, rounding, derive.policy_entry(policy, fmt), random)
    name = f"convert/{fmt.id}/{rounding.id}/{policy.id}"
    for state, error, what in ((1, OpenError, "is open"), (2, OperandError, "is refused by the policy")):
        found = np.flatnonzero(unanswered == state)
        if found.size:
            raise error(f"{name}: the code of element {int(found[0])} {what} (NaN, Inf or sign): clean the input or name another policy")
    return converted


def convert_with_open(
    codes: Codes, source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes, random: Codes | None = None
) -> tuple[Codes, NDArray[np.uint8]]:
    """Convert an array of codes under a resolved policy entry and say which results nobody knows.

    codes, random: as convert.
    Returns: the codes, and a uint8 array of the same shape: 0 the code stands, 1 it is open, 2 the described library raises.
    The code is 0 for 1 and 2.
    Raises: as convert, but for what the second array says.
    """
    flat, drawn = _flat(codes, source), _element_random(random, rounding, codes.size)
    origin, target = format_descriptor(source), format_descriptor(fmt)
    how, policy = rounding_descriptor(rounding, fmt, target), policy_descriptor(entry, fmt, target)
    out: Codes = np.empty(codes.shape, code_dtype(fmt))
    unanswered = np.empty(codes.shape, np.uint8)
    _check(
        lib.emu_convert_array(
            origin.pointer,
            target.pointer,
            how,
            policy,
            _address("char[]", flat),
            ffi.NULL if drawn is None else _address("uint32_t[]", drawn),
            flat.size,
            _address("char[]", out),
            _address("uint8_t[]", unanswered),
        ),
        f"convert/{fmt.id}/{rounding.id} from {source.id}",
    )
    return out, unanswered


def _element_random(random: Codes | None, rounding: Rounding, size: int) -> NDArray[np.uint32] | None:
    """Return one random integer per element, flat. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    bits, source = rounding.random_bits, rounding.facts.random
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs random: {bits} bits an element" if bits else "draws nothing: leave random out")
        )
    if random is None:
        return None
    words = _unsigned(random).astype(np.uint64)
    lanes, width = (source.lanes, source.word) if isinstance(source, Word) else (1, bits)
    if words.size != -(-size // lanes):
        raise OperandError(f"random has {words.size} integers, rounding {rounding.id} needs {-(-size // lanes)}")
    if words.size and int(words.max()).bit_length() > width:
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    if not isinstance(source, Word):
        return words.astype(np.uint32)
    out = np.empty(size, np.uint32)
    places = bytes(bit for lane in source.fields for first, last in lane for bit in bit_places(first, last))
    _check(lib.emu_split_words(_address("uint64_t[]", words), places, lanes, bits, size, _address("uint32_t[]", out)), rounding.id)
    return out


def _flat(codes: Codes, fmt: Format) -> Codes:
    """Return codes flat in the dtype of their format. Raises: OperandError (no unsigned integers, a code that this dtype does not hold)."""
    flat, width = _unsigned(codes), code_dtype(fmt)
    if flat.dtype == width:
        return flat
    if flat.dtype.itemsize > np.dtype(width).itemsize and flat.size and int(flat.max()) > np.iinfo(width).max:
        raise OperandError(f"{fmt.id}: {ERRORS[lib.EMU_ERROR_CODE][1]}")
    return flat.astype(width)


def _unsigned(codes: Codes) -> Codes:
    if not isinstance(codes, np.ndarray) or codes.dtype.kind != "u":
        raise OperandError("codes and random are NumPy arrays of unsigned integers")
    return np.ascontiguousarray(codes).reshape(-1)


def _address(kind: str, array: NDArray[Any]) -> Any:
    """Return the C pointer of an array's memory; the array must outlive it."""
    return ffi.from_buffer(kind, array)


def _check(error: int, what: str) -> None:
    if error:
        kind, why = ERRORS.get(error, (ShapeError, f"error {error} of the C reference"))
        raise kind(f"{what}: {why}")
