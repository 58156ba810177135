"""operate in the C reference, on arrays of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError, OperandError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, address, check, code_dtype, flat
from emu.engines.c_ref.descriptors import format_descriptor, policy_descriptor, rounding_descriptor
from emu.spec import derive
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.operations import OPERATIONS


def can_operate(name: str, formats: Sequence[Format], to: Format) -> bool:
    """Tell whether the C reference holds everything before the last rounding: see emu_operate_array in emu_ref.h."""
    bits = [fmt.facts.frac_bits + 1 for fmt in (*formats, to) if isinstance(fmt.facts, FloatFacts)]
    pairs = (bits[:2], bits[2:4]) if OPERATIONS[name].scaled else ()
    return max(bits) <= lib.EMU_OPERATE_BITS and all(sum(pair) <= lib.EMU_OPERATE_PRODUCT_BITS for pair in pairs)


def operate(name: str, codes: Sequence[Codes], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy) -> NDArray[Any]:
    """Return the codes, or truth values, of an operation on arrays of one shape.

    codes: one array per operand, of `formats`.   to, rounding, policy: the projection of a number, unread otherwise.
    Exactness: equals emu.engines.exact.operate.operate_codes bit for bit.
    Raises: OpenError (an operand or the policy's answer is open), OperandError (the policy refuses), SpecError (no entry for the format),
    EngineError (beyond the limits of emu_ref.h).
    Source: IEEE P3109 interim report 4.0.   Tests: tests/engines/together/test_differential_operations.py.
    """
    gives = OPERATIONS[name].gives
    parts, descriptors = [flat(part, fmt) for part, fmt in zip(codes, formats, strict=True)], [format_descriptor(fmt) for fmt in formats]
    operands = ffi.new("emu_operand_codes[]", len(parts))
    for place, part in enumerate(parts):
        operands[place].format, operands[place].codes = descriptors[place].pointer, address("char[]", part)
    target, how, entry = ffi.NULL, ffi.NULL, ffi.NULL
    if gives == "number":
        described = format_descriptor(to)
        target, how = described.pointer, rounding_descriptor(rounding, to, described)
        entry = policy_descriptor(derive.policy_entry(policy, to), to, described)
    out: NDArray[Any] = np.empty(codes[0].shape, np.uint8 if gives == "truth" else code_dtype(to))
    unanswered = np.empty(codes[0].shape, np.uint8)
    found = address("char[]", out), address("uint8_t[]", unanswered)
    check(lib.emu_operate_array(getattr(lib, f"EMU_DO_{name.upper()}"), operands, target, how, entry, out.size, *found), f"operate {name}")
    for state, error, what in ((1, OpenError, "is open"), (2, OperandError, "is refused by the policy")):
        places = np.flatnonzero(unanswered == state)
        if places.size:
            raise error(f"operate {name}: the code of element {int(places[0])} under {policy.id} {what}")
    return out.astype(np.bool_) if gives == "truth" else out
