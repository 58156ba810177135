"""Registers of instructions as plain integers: lanes out of them and into them, scale operands, random fields.

A second reading of the facts beside emu.ops.instruction, one call at a time, no NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.instruction import check_slot
from emu.spec.models import Format, Rounding
from emu.spec.models.instruction import InstructionFacts, RandomOperand, Register, ScaleOperand
from emu.spec.models.rounding import Word
from emu.spec.registry import get

SIGN_BITS, AMAX_BITS = 32, 32
BitRanges = Sequence[Sequence[int]]


def slot_of(register: Register, fmt: Format) -> int:
    """Return the bits of a lane in its register."""
    return check_slot(register, fmt)


def lanes_of(raw: int, register: Register, fmt: Format) -> list[int]:
    """Return the slots of a register, the first lane of its layout first."""
    slot = slot_of(register, fmt)
    low_first = [raw >> (slot * lane) & ((1 << slot) - 1) for lane in range(register.lanes)]
    return low_first[::-1] if register.first == "high" else low_first


def register_of(lanes: Sequence[int], register: Register, fmt: Format) -> int:
    """Return the register of lanes, the first one of its layout first."""
    slot = slot_of(register, fmt)
    low_first = lanes[::-1] if register.first == "high" else lanes
    return sum(code << (slot * lane) for lane, code in enumerate(low_first))


def sources(facts: InstructionFacts, operands: Mapping[str, int]) -> list[int]:
    """Return the source codes of the result's lanes, the lowest lane first."""
    assert facts.operands and facts.result and facts.source
    fmt = get("format", facts.source)
    parts = [lanes_of(operands[register.name], register, fmt) for register in facts.operands]
    if facts.interleaved:
        joined = [part[turn] for turn in range(len(parts[0])) for part in parts]
    else:
        joined = [code for part in parts for code in part]
    return joined[::-1] if facts.result.first == "high" else joined


def operands_of(facts: InstructionFacts, codes: Sequence[int]) -> dict[str, int]:
    """Return the value operands that hold source codes, the lowest lane of the result first."""
    assert facts.operands and facts.result and facts.source
    fmt = get("format", facts.source)
    joined = list(codes[::-1] if facts.result.first == "high" else codes)
    found = {}
    for place, register in enumerate(facts.operands):
        if facts.interleaved:
            mine = joined[place :: len(facts.operands)]
        else:
            mine, joined = joined[: register.lanes], joined[register.lanes :]
        found[register.name] = register_of(mine, register, fmt)
    return found


def fields(random: RandomOperand, lanes: int) -> list[BitRanges]:
    """Return the bit ranges of each lane's random integer, the most significant first, the lowest lane first."""
    profile = random.profiles[random.use]
    if profile.fields is not None:
        return [profile.fields[lane if len(profile.fields) > 1 else 0] for lane in range(lanes)]
    shared = get("rounding", profile.rounding).facts.random
    assert isinstance(shared, Word)
    return [shared.fields[lane] for lane in range(lanes)]


def places(ranges: BitRanges) -> list[int]:
    """Return the bits of bit ranges, the most significant first."""
    return [bit for first, last in ranges for bit in (range(first, last + 1) if last >= first else range(first, last - 1, -1))]


def drawn(random: RandomOperand, word: int, lane: int, lanes: int) -> int:
    """Return the random integer of a lane; a field narrower than the rounding's integer is its top bits."""
    rounding: Rounding = get("rounding", random.profiles[random.use].rounding)
    bits = places(fields(random, lanes)[lane])
    number = 0
    for bit in bits:
        number = number << 1 | word >> bit & 1
    return number << (rounding.random_bits - len(bits))


def scale_exp(scale: ScaleOperand, raw: int) -> int | None:
    """Return the power of two by which a source is multiplied; None: NaN."""
    exp: int | None
    if scale.reads == "fp32_exponent":
        fp32 = get("format", "fp32")
        field, top = raw >> fp32.facts.frac_bits & ((1 << fp32.facts.exp_bits) - 1), (1 << fp32.facts.exp_bits) - 1
        exp = None if field == top else field - fp32.facts.bias
    elif scale.reads == "e8m0":
        e8m0 = get("format", "e8m0")
        exp = None if raw in derive.codes(e8m0).nan else raw - e8m0.facts.bias
    else:
        exp = raw - (1 << scale.bits) if scale.reads == "signed_exponent" and raw >> (scale.bits - 1) else raw
    return exp if exp is None or scale.apply == "multiply" else -exp


def moved(value: Value, exp: int | None) -> Value:
    """Return a value times 2^exp; None: NaN of its sign."""
    if exp is None:
        return Value("nan", value.sign)
    return value if value.kind != "finite" else Value(value.kind, value.sign, value.magnitude * Fraction(2) ** exp)


def is_refused(value: Value, facts: InstructionFacts) -> bool:
    """Tell whether nobody states what becomes of a value."""
    kinds: tuple[Any, ...] = facts.refused or ()
    return value.kind in kinds
