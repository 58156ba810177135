"""decode and convert in the C reference, on arrays of codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError, OperandError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, address, check, code_dtype, flat, unsigned
from emu.engines.c_ref.descriptors import format_descriptor, lane_places, policy_descriptor, rounding_descriptor
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.rounding import Word


class Decoded(NamedTuple):
    """Exact values, field by field: (-1)^sign * significand * 2^lsb_exp; arrays of one shape.

    sign uint8.   significand uint64 and lsb_exp int32, both 0 unless subnormal or normal.
    value_class uint8: 0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN, 5 open (nobody knows what the code means).
    """

    sign: NDArray[np.uint8]
    significand: NDArray[np.uint64]
    lsb_exp: NDArray[np.int32]
    value_class: NDArray[np.uint8]


def decode(codes: Codes, fmt: Format) -> Decoded:
    """Decode an array of codes to exact values.

    codes: unsigned integers, any shape.   fmt: their format.
    Raises: OperandError (no unsigned integers, a code with too many bits), EngineError (a format beyond the limits of emu_ref.h).
    Source: the format's sources.   Tests: tests/engines/c_ref/test_c_convert.py.
    """
    given, descriptor = flat(codes, fmt), format_descriptor(fmt)
    out = Decoded(*(np.empty(codes.shape, dtype) for dtype in (np.uint8, np.uint64, np.int32, np.uint8)))
    check(
        lib.emu_decode_array(
            descriptor.pointer,
            address("char[]", given),
            given.size,
            address("uint8_t[]", out.sign),
            address("uint64_t[]", out.significand),
            address("int32_t[]", out.lsb_exp),
            address("uint8_t[]", out.value_class),
        ),
        f"decode/{fmt.id}",
    )
    return out


def decode_to(codes: Codes, fmt: Format, result: Format) -> Codes:
    """Decode an array of codes to codes of a wider format that holds every one of the values exactly.

    codes: unsigned integers, any shape.   result: such as fp32 for binary32 bits. NaN gives the result's canonical NaN.
    Raises: OperandError (a value that result does not hold; as decode), OpenError (a code nobody knows), EngineError.
    """
    given, source, target = flat(codes, fmt), format_descriptor(fmt), format_descriptor(result)
    out: Codes = np.empty(codes.shape, code_dtype(result))
    addresses = address("char[]", given), given.size, address("char[]", out)
    check(lib.emu_decode_to_array(source.pointer, target.pointer, *addresses), f"decode/{fmt.id} to {result.id}")
    return out


def convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: Codes | None = None) -> Codes:
    """Convert an array of codes to another format, rounded once, under a policy.

    codes: unsigned integers, any shape.   random: for a rounding that draws, one integer per element in row-major order, or one word per
    `lanes` elements where the rounding shares words; else None.
    Returns: unsigned array of the same shape, uint8 for formats of at most 8 bits.   NaN, Inf, zero and sign: as the policy says.
    Exactness: equals emu.engines.exact.convert.convert_code bit for bit.
    Raises: OpenError (the policy does not know the answer), OperandError (the described library raises; bad codes or random),
    SpecError (no entry for the format), EngineError (beyond the limits of emu_ref.h).
    Source: the policy's and rounding's sources.   Tests: tests/engines/c_ref/test_c_convert.py.
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
    given, drawn = flat(codes, source), element_random(random, rounding, codes.size)
    origin, target = format_descriptor(source), format_descriptor(fmt)
    how, policy = rounding_descriptor(rounding, fmt, target), policy_descriptor(entry, fmt, target)
    out: Codes = np.empty(codes.shape, code_dtype(fmt))
    unanswered = np.empty(codes.shape, np.uint8)
    check(
        lib.emu_convert_array(
            origin.pointer,
            target.pointer,
            how,
            policy,
            address("char[]", given),
            ffi.NULL if drawn is None else address("uint32_t[]", drawn),
            given.size,
            address("char[]", out),
            address("uint8_t[]", unanswered),
        ),
        f"convert/{fmt.id}/{rounding.id} from {source.id}",
    )
    return out, unanswered


# Random operands: the integer of each element, out of shared words where the rounding has them. The C reference splits the words.


def element_random(random: Codes | None, rounding: Rounding, size: int) -> NDArray[np.uint32] | None:
    """Return one random integer per element, flat. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    bits, source = rounding.random_bits, rounding.facts.random
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs random: {bits} bits an element" if bits else "draws nothing: leave random out")
        )
    if random is None:
        return None
    words = np.ascontiguousarray(unsigned(random)).reshape(-1).astype(np.uint64)
    lanes, width = (source.lanes, source.word) if isinstance(source, Word) else (1, bits)
    if words.size != -(-size // lanes):
        raise OperandError(f"random has {words.size} integers, rounding {rounding.id} needs {-(-size // lanes)}")
    if words.size and int(words.max()).bit_length() > width:
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    if not isinstance(source, Word):
        return words.astype(np.uint32)
    out = np.empty(size, np.uint32)
    places = lane_places(source)
    check(lib.emu_split_words(address("uint64_t[]", words), places, lanes, bits, size, address("uint32_t[]", out)), rounding.id)
    return out
