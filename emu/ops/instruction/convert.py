"""Conversions of instructions: lanes out of the operands, scaled exactly, converted by emu.convert, packed into the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.arrays.values import Codes
from emu.base.errors import OpenError
from emu.engines.numpy.convert import code_dtype, to_fp64
from emu.ops.functions import convert
from emu.ops.instruction.bits import pack, take_register, unpack
from emu.spec import derive, get
from emu.spec.instruction import check_slot
from emu.spec.models import Format, Rounding
from emu.spec.models.instruction import IeeeFlags, InstructionFacts, RandomOperand, RandomProfile, ScaleOperand


@dataclass(frozen=True)
class Lanes:
    """The lanes of one call, lowest lane of the result last axis first: codes, their format, random integers or words, or None."""

    codes: Codes
    source: Format
    rounding: Rounding
    random: Codes | None


def execute(facts: InstructionFacts, operands: dict[str, Any], mnemonic: str, engine: str) -> Any:
    """Return the packed result, or (result, flags) for a form with IEEE flags.

    operands: name -> raw bits; value operands, then random and scale where the form has them.
    Raises: OpenError (a fact or the result of a NaN or Inf is open), OperandError, ShapeError, EngineError.
    """
    assert facts.to and facts.result and facts.policy
    lanes = gather(facts, operands, mnemonic)
    codes = convert(lanes.codes, facts.to, lanes.rounding, facts.policy, source=lanes.source, random=lanes.random, engine=engine)
    ordered = codes[..., ::-1] if facts.result.first == "high" else codes
    result = pack(ordered, facts.result, check_slot(facts.result, get("format", facts.to)))
    if not isinstance(facts.flags, IeeeFlags):
        return result
    return result, _flags(lanes, get("format", facts.to), facts.flags)


def gather(facts: InstructionFacts, operands: dict[str, Any], mnemonic: str) -> Lanes:
    """Return the lanes of a call with their source format and random integers."""
    assert facts.source and facts.operands and facts.result
    source: Format = get("format", facts.source)
    parts = []
    for register in facts.operands:
        slot = check_slot(register, source)
        parts.append(unpack(take_register(operands[register.name], register.name, slot * register.lanes), register, slot))
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts), *_extra_shapes(facts, operands))
    wide = [np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts]
    joined = np.stack(wide, axis=-1).reshape(*shape, -1) if facts.interleaved else np.concatenate(wide, axis=-1)
    codes = np.ascontiguousarray(joined[..., ::-1] if facts.result.first == "high" else joined).astype(code_dtype(source))
    _refuse(codes, source, facts, mnemonic)
    if facts.scale is not None:
        codes, source = _scaled(codes, source, facts.scale, operands[facts.scale.name]), get("format", "fp64")
        _refuse(codes, source, facts, mnemonic)
    if facts.random is None:
        return Lanes(codes, source, get("rounding", str(facts.rounding)), None)
    profile = facts.random.profiles[facts.random.use]
    return Lanes(codes, source, get("rounding", profile.rounding), _draws(facts.random, profile, operands[facts.random.name], codes.shape))


def _extra_shapes(facts: InstructionFacts, operands: dict[str, Any]) -> list[tuple[int, ...]]:
    return [np.shape(operands[extra.name]) for extra in (facts.random, facts.scale) if extra is not None]


def _refuse(codes: Codes, source: Format, facts: InstructionFacts, mnemonic: str) -> None:
    """Refuse sources whose result nobody states. Raises: OpenError."""
    for kind in facts.refused or ():
        if bool(np.any(_magnitude_is(kind, codes, source))):
            raise OpenError(f"{mnemonic}: the result of {'NaN' if kind == 'nan' else 'Inf'} is open: clean the input")


def _magnitude_is(kind: str, codes: Codes, source: Format) -> Any:
    """Tell of each code whether it is of a kind: nan or inf."""
    known = derive.codes(source)
    magnitudes = codes & codes.dtype.type((1 << known.bits) - 1 - known.sign_bit)
    if kind == "inf":
        return magnitudes == known.inf if known.inf is not None else np.zeros(codes.shape, bool)
    mask, top, listed = derive.nan_codes(source)
    if listed:
        return np.isin(codes, np.array(sorted(listed), codes.dtype))
    return magnitudes > top if mask else np.zeros(codes.shape, bool)


def _scaled(codes: Codes, source: Format, scale: ScaleOperand, value: Any) -> Codes:
    """Return source * 2^k or source / 2^k as fp64 codes, exact; a NaN scale makes every lane NaN of the lane's sign.

    Exact because |k| <= 255 and binary64 holds every narrower value times 2^255 or 2^-255.
    """
    raw = take_register(value, scale.name, scale.bits).astype(np.int64)
    is_nan = np.zeros(raw.shape, bool)
    if scale.reads == "fp32_exponent":
        field = (raw >> 23) & 0xFF
        exp, is_nan = field - 127, field == 0xFF
    elif scale.reads == "e8m0":
        exp, is_nan = raw - 127, raw == 0xFF
    elif scale.reads == "unsigned_exponent":
        exp = raw
    else:
        exp = np.where(raw >> (scale.bits - 1) & 1, raw - (1 << scale.bits), raw)
    steps = (exp if scale.apply == "multiply" else -exp)[..., None]
    values = to_fp64(codes, source)
    with np.errstate(all="ignore"):
        moved = np.ldexp(values, steps.astype(np.int32)).view(np.uint64)
    sign = values.view(np.uint64) & np.uint64(1 << 63)
    return np.ascontiguousarray(np.where(is_nan[..., None], sign | np.uint64(0x7FF8 << 48), moved))


def _draws(random: RandomOperand, profile: RandomProfile, value: Any, shape: tuple[int, ...]) -> Codes:
    """Return one word per call, or one integer per lane, lowest lane first. shape: of the lanes."""
    *calls, count = shape
    words = np.broadcast_to(take_register(value, random.name, random.bits).astype(np.uint64), calls)
    if profile.fields is None:
        return np.ascontiguousarray(words).reshape(-1)
    wanted = get("rounding", profile.rounding).random_bits
    lanes = [_joined(words, lane, wanted) for lane in profile.fields]
    drawn = np.stack(lanes, axis=-1)
    return np.ascontiguousarray(np.broadcast_to(drawn, (*drawn.shape[:-1], count)))


def _joined(words: Codes, ranges: Any, wanted: int) -> Codes:
    """Join bit ranges, most significant first; the result lies at the top of `wanted` bits."""
    out, bits = np.zeros(words.shape, np.uint64), 0
    for first, last in ranges:
        for bit in range(first, last + 1) if last >= first else range(first, last - 1, -1):
            out = out << np.uint64(1) | (words >> np.uint64(bit)) & np.uint64(1)
            bits += 1
    return out << np.uint64(wanted - bits)


def _flags(lanes: Lanes, to: Format, flags: IeeeFlags) -> Codes:
    """Return NV DZ OF UF NX of each call: the flags of its lanes together. uint8."""
    from emu.engines.exact.flags import convert_flags

    random = None if lanes.random is None else lanes.random.reshape(-1)
    flat = lanes.codes.reshape(-1)
    raised = [
        convert_flags(int(code), lanes.source, to, lanes.rounding, flags.tininess, None if random is None else int(random[i]))
        for i, code in enumerate(flat)
    ]
    joined: Codes = np.bitwise_or.reduce(np.array(raised, np.uint8).reshape(lanes.codes.shape), axis=-1)
    return joined
