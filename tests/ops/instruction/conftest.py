"""A second reading of an instruction's facts, one call at a time in Python integers; and inputs that reach every class of source."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive, get


def width(name: str) -> int:
    return derive.codes(get("format", name)).bits


def split(register: int, lanes: int, slot: int, first: str | None) -> list[int]:
    """Slots of a register, the first lane first."""
    low_first = [register >> (slot * i) & ((1 << slot) - 1) for i in range(lanes)]
    return low_first[::-1] if first == "high" else low_first


def random_bits(facts: Any, word: int, lane: int) -> tuple[Any, int | None]:
    """Rounding and random integer of a lane, lowest lane of the result 0."""
    if facts.random is None:
        return get("rounding", facts.rounding), None
    profile = facts.random.profiles[facts.random.use]
    rounding = get("rounding", profile.rounding)
    fields = profile.fields or rounding.facts.random.fields
    text = ""
    for first, last in fields[lane if len(fields) > 1 else 0]:
        step = 1 if last >= first else -1
        text += "".join(str(word >> bit & 1) for bit in range(first, last + step, step))
    return rounding, int(text.ljust(rounding.random_bits, "0"), 2)


def scale_exp(scale: Any, raw: int) -> int | None:
    """Power of two of the scale operand as it multiplies; None: NaN."""
    if scale.reads == "fp32_exponent":
        exp = None if raw >> 23 & 0xFF == 0xFF else (raw >> 23 & 0xFF) - 127
    elif scale.reads == "e8m0":
        exp = None if raw == 0xFF else raw - 127
    else:
        exp = raw - (1 << scale.bits) if scale.reads == "signed_exponent" and raw >> (scale.bits - 1) else raw
    return exp if exp is None or scale.apply == "multiply" else -exp


def moved(value: Value, exp: int | None) -> Value:
    if exp is None:
        return Value("nan", value.sign)
    return Value(value.kind, value.sign, value.magnitude * Fraction(2) ** exp)


def execute(facts: Any, operands: list[int], word: int = 0, scale: int = 0) -> int:
    """The result register of one call of a conversion."""
    slot = {register.name: register.slot or width(facts.source) for register in facts.operands}
    parts = [
        split(raw, register.lanes, slot[register.name], register.first) for raw, register in zip(operands, facts.operands, strict=True)
    ]
    turns = list(zip(*parts, strict=True)) if facts.interleaved else parts
    in_order = [code for turn in turns for code in turn]
    low_first = in_order[::-1] if facts.result.first == "high" else in_order
    to = get("format", facts.to)
    entry = derive.policy_entry(get("policy", facts.policy), to)
    out = 0
    for lane, code in enumerate(low_first):
        value = decode_code(code, get("format", facts.source))
        value = value if facts.scale is None else moved(value, scale_exp(facts.scale, scale))
        rounding, random = random_bits(facts, word, lane)
        out |= convert_value(value, to, rounding, entry, random) << (lane * (facts.result.slot or width(facts.to)))
    return out


def interesting(name: str, refused: tuple[str, ...]) -> list[int]:
    """Codes of a format: zeros, ends, neighbours of one, NaN and Inf unless they are refused."""
    known = derive.codes(get("format", name))
    found = {0, 1, known.max_code, known.max_code - 1, 1 << (known.bits - 2), (1 << (known.bits - 2)) - 1}
    found |= set(known.nan) if "nan" not in refused else set()
    found |= {known.inf} if known.inf is not None and "inf" not in refused else set()
    found |= {known.sign_bit | code for code in found} if known.sign_bit else set()
    if "nan" in refused or "inf" in refused:
        found = {code for code in found if decode_code(code, get("format", name)).kind not in refused}
    return sorted(found)


def register_inputs(facts: Any, count: int, seed: int) -> list[list[int]]:
    """For each call the raw value operands: half of the lanes near the step of the result, half from the list above."""
    draw = np.random.Generator(np.random.Philox(seed))
    special = interesting(facts.source, facts.refused or ())
    bits = width(facts.source)
    calls = []
    for _ in range(count):
        registers = []
        for register in facts.operands:
            slot, raw = register.slot or bits, 0
            for lane in range(register.lanes):
                code = (
                    special[int(draw.integers(len(special)))] if draw.integers(2) else near_one(facts.source, int(draw.integers(1 << 62)))
                )
                raw |= code << (slot * lane)
            registers.append(raw)
        calls.append(registers)
    return calls


@cache
def finite_codes(name: str) -> list[int]:
    fmt = get("format", name)
    return [code for code in range(1 << width(name)) if decode_code(code, fmt).kind == "finite"]


def near_one(name: str, number: int) -> int:
    """A finite code of magnitude 2^-4 .. 2^3, or any finite code of a narrow format."""
    fmt, bits = get("format", name), width(name)
    if bits <= 8:
        finite = finite_codes(name)
        return finite[number % len(finite)]
    frac = fmt.facts.frac_bits
    exp = fmt.facts.bias - 4 + number % 8
    return (number >> 60 & 1) << (bits - 1) | exp << frac | (number >> 4) % (1 << frac)


def as_register(numbers: list[int], bits: int) -> Any:
    """One operand of many calls: an array, of words where it is wide."""
    if bits <= 64:
        return np.array(numbers, np.uint64)
    return np.array([[number >> shift & 0xFFFFFFFF for shift in range(0, bits, 32)] for number in numbers], np.uint32)


def as_numbers(registers: Any, bits: int) -> list[int]:
    array = np.asarray(registers)
    if bits <= 64:
        return [int(value) for value in array]
    return [sum(int(word) << 32 * place for place, word in enumerate(row)) for row in array]


@pytest.fixture(scope="session")
def reading() -> Any:
    tools: dict[str, Callable[..., Any]] = {
        "execute": execute,
        "register_inputs": register_inputs,
        "as_register": as_register,
        "as_numbers": as_numbers,
        "width": width,
    }
    return SimpleNamespace(**tools)
