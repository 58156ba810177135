"""convert: code -> code of another format = decode, round, overflow, encode under a policy."""

from __future__ import annotations

from emu.base.errors import OpenError, OperandError
from emu.engines.exact.codebook import ascending, round_to_codebook
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.overflow import Code, overflow
from emu.engines.exact.round import check_random, round_magnitude
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE, EntryCodes
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import CodebookFacts


def convert_code(code: int, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: int | None = None) -> int:
    """Return the code that a source code converts to.

    code: unsigned integer of the source format.   random: the random integer, for a rounding that draws.
    NaN, Inf, zero and sign: as the policy's entry for fmt says.
    Raises: OpenError (the policy does not know the answer), OperandError (the described library raises; bad random), SpecError (no entry).
    Source: the policy's and rounding's sources.   Tests: tests/engines/exact/test_exact_convert.py.
    """
    result = convert_value(decode_code(code, source), fmt, rounding, derive.policy_entry(policy, fmt), random)
    if result == OPEN:
        raise OpenError(f"convert/{fmt.id}/{rounding.id}/{policy.id}: the code of {source.id} {code:#x} is open")
    if result == REFUSE:
        raise OperandError(f"convert/{fmt.id}/{rounding.id}/{policy.id}: {policy.id} refuses {source.id} {code:#x}")
    return result


def convert_value(value: Value, fmt: Format, rounding: Rounding, entry: EntryCodes, random: int | None = None) -> int:
    """Return the code of a value under a resolved policy entry; OPEN or REFUSE where the entry says so."""
    check_random(rounding, random)
    sign = value.sign
    if value.kind == "nan":
        return entry.nan[sign]
    if not derive.codes(fmt).sign_bit and not derive.is_twos_complement(fmt) and not isinstance(fmt.facts, CodebookFacts):
        if sign and entry.negative is not None and not value.is_zero:
            if not entry.negative_rounded:
                return entry.negative
            return _negative_rounded(value, fmt, rounding, entry, random)
        sign = 0
    if value.is_zero and entry.zero is not None:
        return entry.zero[value.sign]
    if isinstance(fmt.facts, CodebookFacts):
        return _convert_to_codebook(value, fmt, rounding, entry, random)
    if value.kind == "inf":
        result = overflow("inf", sign, fmt, rounding, entry)
    else:
        result = overflow(round_magnitude(value.magnitude, sign, fmt, rounding, random), sign, fmt, rounding, entry)
    return result.code if isinstance(result, Code) else attach_sign(result.code, sign, fmt)


def _negative_rounded(value: Value, fmt: Format, rounding: Rounding, entry: EntryCodes, random: int | None) -> int:
    """A negative number to a format without sign: rounded as a negative one, then the least code or what the entry says."""
    assert entry.negative is not None
    if value.kind == "inf":
        return entry.negative if entry.inf is None else entry.inf[1]
    code = round_magnitude(value.magnitude, 1, fmt, rounding, random)
    return 0 if not code or derive.stops_at(rounding, 1, 0) else entry.negative


def _convert_to_codebook(value: Value, fmt: Format, rounding: Rounding, entry: EntryCodes, random: int | None) -> int:
    """A codebook saturates: its end stands for everything beyond it."""
    if value.kind == "inf":
        if entry.inf is not None:
            return entry.inf[value.sign]
        derive.check_codebook_rounding(fmt, rounding)
        return ascending(fmt)[0 if value.sign else -1]
    return round_to_codebook(value, fmt, rounding, random)
