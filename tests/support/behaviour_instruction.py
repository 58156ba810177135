"""What the forms of an instruction family do to fixed registers, by the reference model. Not here: other objects (behaviour.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from emu.base.errors import EmuError
from emu.ops.instruction import Executable, instruction
from emu.ops.instruction.bits import WORD, register_dtype
from emu.ops.instruction.mma import plan_of
from emu.spec import Format, Instruction, derive, get
from emu.spec.instruction import CHOICES, check_slot, is_open
from emu.spec.models.instruction import InstructionFacts, InstructionVariant, Register, forms

SCALES = (0x3F800000, 0x41000001, 0x3C7FFFFF, 0x7F800000)
ROWS = 2
CALLS = 8


def family_runs(family: Instruction) -> Iterator[Any]:
    """Yield the results of every form on a few registers, under each answer to its open questions; an error as its class."""
    for form in forms(family):
        facts = form.facts
        bits = [item.bits for item in (facts.random, facts.scale) if item]
        yield facts.isa, facts.performs, str(facts.flags), facts.m, facts.n, facts.k, bits
        for choices in _choices(family, form):
            yield form.mnemonic, sorted(choices.items()), _tried(form, choices)


def _choices(family: Instruction, form: InstructionVariant) -> list[dict[str, str]]:
    """Return the first answer to every open fact, and each other answer with it."""
    options = {point.fact: point.options for point in family.open if point.fact is not None and point.options}
    first = {key: options[key][0] for key in CHOICES if is_open(form.facts, key) and key in options}
    return [first, *(first | {key: option} for key, given in options.items() for option in given if first.get(key) != option)]


def _tried(form: InstructionVariant, choices: dict[str, str]) -> Any:
    try:
        call = instruction(form.mnemonic, **choices)
        return [_result(call, operands) for operands in _operands(call)]
    except (EmuError, AssertionError) as error:
        return type(error).__name__


def _result(call: Executable, operands: dict[str, Any]) -> Any:
    try:
        return _plain(call(**operands, engine="exact"))
    except (EmuError, AssertionError) as error:
        return type(error).__name__


def _plain(found: Any) -> Any:
    return [part.tolist() for part in found] if isinstance(found, tuple) else found.tolist()


def _number(*place: Any) -> int:
    """Return 64 bits that depend on a place only."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, place)).encode("ascii")).digest()[:8], "big")


def _operands(call: Executable) -> Iterator[dict[str, Any]]:
    facts = call.facts
    if facts.performs == "mma":
        yield _matrices(facts)
        return
    assert facts.source and facts.operands
    source = get("format", facts.source)
    to_bits = int(getattr(get("format", facts.to).facts, "frac_bits", 0)) if facts.to else 2
    for number in range(CALLS):
        named: dict[str, Any] = {}
        for item in facts.operands:
            named[item.name] = _register(item, source, [_code(source, to_bits, item.name, lane, number) for lane in range(item.lanes)])
        yield named | _others(facts, number)
    ones = {} if facts.random is None else {facts.random.name: (1 << facts.random.bits) - 1}
    for code in _directed(source, to_bits):
        yield {item.name: _register(item, source, [code] * item.lanes) for item in facts.operands} | _others(facts, 0) | ones
    codes = list(_carrying(source, to_bits)) if ones else []
    lanes = max(item.lanes for item in facts.operands)
    for start in range(0, len(codes), lanes):
        transposed = codes[start:] + codes[:start]
        given = {item.name: _register(item, source, (transposed * lanes)[: item.lanes]) for item in facts.operands}
        yield given | _others(facts, 1) | ones


def _directed(source: Format, to_bits: int) -> Iterator[int]:
    """Yield Inf, NaN, and two numbers half way between results with to_bits fraction bits."""
    known, frac_bits = derive.codes(source), int(getattr(source.facts, "frac_bits", 0))
    yield from () if known.inf is None else (known.inf, known.inf | known.sign_bit)
    yield from known.nan[:2]
    drop = frac_bits - to_bits - 1
    yield from (_one(source) + (1 << drop), _one(source) + (3 << drop)) if drop >= 0 else ()


def _one(source: Format) -> int:
    """Return the code of 1 of an IEEE format."""
    return (1 << derive.codes(source).bits - 2) - (1 << int(getattr(source.facts, "frac_bits", 0)))


def _carrying(source: Format, to_bits: int) -> Iterator[int]:
    """Yield 1 + 2^-j, 2^-j and subnormals: with random bits all one they carry while the field of a lane is wide enough."""
    frac_bits = int(getattr(source.facts, "frac_bits", 0))
    yield from (_one(source) + (1 << place) for place in range(frac_bits - to_bits))
    yield from (_one(source) - (step << frac_bits) for step in range(1, 40) if _one(source) > step << frac_bits)
    yield from (1 << place for place in range(min(frac_bits, 10)))


def _others(facts: InstructionFacts, number: int) -> dict[str, Any]:
    """Return random bits, scale, tensor maximum and signs of a call, where the form takes them."""
    named: dict[str, Any] = {}
    if facts.random is not None:
        named[facts.random.name] = _number("random", number) & (1 << facts.random.bits) - 1
    if facts.scale is not None:
        bits = facts.scale.bits
        named[facts.scale.name] = SCALES[number % len(SCALES)] if bits == WORD else _number("scale", number) & (1 << bits) - 1
    if facts.amax_operand is not None:
        named[facts.amax_operand] = 0x40556D1D
    if facts.signs_operand is not None:
        named[facts.signs_operand] = 0b1011 * number
    return named


def _code(fmt: Format, to_bits: int, *place: Any) -> int:
    """Return a code of magnitude near one, every fourth a tie of a result with to_bits fraction bits; any code of a narrow format."""
    bits, raw = derive.codes(fmt).bits, _number(*place)
    if bits <= 8:
        return raw & (1 << bits) - 1
    frac_bits = int(getattr(fmt.facts, "frac_bits", 0))
    near = (1 << bits - 2) - (3 << frac_bits) + raw % (5 << frac_bits)
    drop = max(frac_bits - to_bits - 1, 0)
    near = near >> drop << drop if raw >> 40 & 3 == 0 else near
    return (raw >> 63) << bits - 1 | near


def _register(register: Register, fmt: Format, codes: list[int]) -> Any:
    slot = check_slot(register, fmt)
    whole = sum(code << slot * lane for lane, code in enumerate(codes))
    bits = slot * register.lanes
    if bits <= 64:
        return np.array(whole, register_dtype(bits))
    return np.array([whole >> shift & 0xFFFFFFFF for shift in range(0, bits, WORD)], np.uint32)


def _matrices(facts: InstructionFacts) -> dict[str, Any]:
    plan = plan_of(facts)
    k = plan.facts.k

    def rows(name: str, fmt: Format, count: int) -> Any:
        return np.array([[_code(fmt, 3, name, row, column) for column in range(count)] for row in range(ROWS)], np.uint64)

    given = {"a": rows("a", plan.a, k), "b": rows("b", plan.b, k), "c": rows("c", plan.c, ROWS)}
    if plan.scale is not None:
        given |= {name: rows(name, plan.scale, k // plan.block) for name in ("a_scales", "b_scales")}
    return given
