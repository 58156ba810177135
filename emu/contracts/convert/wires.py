"""A converter as its wires: significand and exponent of the source, what is kept, guard and sticky, rounding up, the magnitude code.

One wire at a time is wrong. With none wrong this is the conversion of the reference model (tests/contracts/test_contracts_wires.py).
Not here: rules that are read otherwise (deviations).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from emu.contracts.wires import Edit, edits
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.overflow import Code, largest_magnitude, overflow
from emu.engines.exact.round import goes_up, locate
from emu.engines.exact.value import Value, power_of_two
from emu.spec import derive
from emu.spec.models.format import CodebookFacts, FloatFacts

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

NAMES = {
    "significand": "significand of x",
    "exponent": "exponent of x",
    "kept": "kept significand",
    "guard": "guard bit",
    "sticky": "sticky bit",
    "odd": "lowest kept bit, as the rounding sees it",
    "up": "rounding up",
    "code": "magnitude code before saturation",
    "beyond": "magnitude code of what saturates",
    "result": "magnitude code of a number",
    "stored": "y of a number",
}
STAGES = {
    "significand": "decode",
    "exponent": "decode",
    "kept": "position",
    "code": "round",
    "beyond": "overflow",
    "result": "encode",
    "stored": "encode",
}
Answers = Callable[[tuple[int, ...]], int]


def wires(op: ConvertContract) -> Iterator[tuple[str, str, Answers]]:
    """Yield (text, stage, code of a row) for every wire that is wrong."""
    facts = op.source.facts
    if not isinstance(facts, FloatFacts) or isinstance(op.fmt.facts, CodebookFacts) or op.rounding.facts.add == "te_fma":
        return
    magnitude = derive.codes(op.fmt).bits - bool(derive.codes(op.fmt).sign_bit)
    kept = op.fmt.facts.frac_bits + 1 if isinstance(op.fmt.facts, FloatFacts) else magnitude
    draws = bool(op.rounding.random_bits)
    widths = {"significand": facts.frac_bits + 1, "exponent": facts.exp_bits + 1, "kept": kept + 1}
    widths |= {} if draws else {"guard": 1, "sticky": 1, "odd": 1}
    widths |= {"up": 1, "code": magnitude + 1, "beyond": magnitude, "result": magnitude, "stored": derive.codes(op.fmt).bits}
    for wire, bits in widths.items():
        for edit in edits(bits, deep=facts.frac_bits if wire == "significand" else 4):
            words = NAMES[wire]
            text = (
                f"{words}: {'always 0' if edit.kind == 'zero' else 'always 1' if edit.kind == 'one' else 'inverted'}"
                if bits == 1
                else edit.words(words)
            )
            if wire == "beyond" and edit.kind == "low" and edit.n == 1:  # the plainest words for what many edits do alike
                yield "saturation gives a code below the largest", "overflow", _answers(op, facts, wire, bits, Edit("less"))
            yield text, STAGES.get(wire, "round"), _answers(op, facts, wire, bits, edit)

    if isinstance(op.fmt.facts, FloatFacts):
        for text, keep in (
            ("the carry out of the fraction is lost", 0),
            ("a fraction of ones is not rounded up", (1 << op.fmt.facts.frac_bits) - 1),
        ):
            yield text, "round", _uncarried(op, facts, op.fmt.facts.frac_bits, keep)


def _uncarried(op: ConvertContract, facts: FloatFacts, bits: int, keep: int) -> Answers:
    """A rounding up that would go into the exponent leaves it: the fraction becomes `keep`."""

    def given(values: tuple[int, ...]) -> int:
        below = 0

        def seen(name: str, value: int) -> int:
            nonlocal below
            if name == "kept":
                below = value
            if name == "sum" and value >> bits != below >> bits:
                return below >> bits << bits | keep
            return value

        return converted(op, facts, values, seen)

    return given


def _answers(op: ConvertContract, facts: FloatFacts, wire: str, bits: int, edit: Edit) -> Answers:
    def given(values: tuple[int, ...]) -> int:
        return converted(op, facts, values, lambda name, value: edit(value, bits, name == "exponent") if name == wire else value)

    return given


def converted(op: ConvertContract, facts: FloatFacts, values: tuple[int, ...], seen: Callable[[str, int], int]) -> int:
    """Return the code of a row. seen: name of a wire and its value -> the value that the machine has there."""
    code, random = values[0], values[1] if op.rounding.random_bits else None
    value = decode_code(code, op.source)
    if value.kind != "finite" or (value.is_zero and op.entry.zero is not None):
        found = convert_value(value, op.fmt, op.rounding, op.entry, random)
        known = derive.codes(op.fmt)
        if found < 0 or value.kind == "nan":
            return found
        if derive.is_twos_complement(op.fmt):
            return seen("stored", found)
        plain = found & ~known.sign_bit
        return seen("stored", found & known.sign_bit | seen("result", seen("beyond", plain) if value.kind == "inf" else plain))
    plain = code & ~derive.codes(op.source).sign_bit
    field, fraction = plain >> facts.frac_bits, plain & ((1 << facts.frac_bits) - 1)
    hidden = bool(field) or facts.subnormals == "no"
    significand = seen("significand", fraction + (hidden << facts.frac_bits))
    exponent = seen("exponent", max(field, 1) - facts.bias if facts.subnormals == "yes" else field - facts.bias)
    return _rounded(op, replace(value, magnitude=significand * power_of_two(exponent - facts.frac_bits)), random, seen)


def _rounded(op: ConvertContract, value: Value, random: int | None, seen: Callable[[str, int], int]) -> int:
    """Round, saturate, encode."""
    fmt, sign = op.fmt, value.sign
    if not derive.codes(fmt).sign_bit and not derive.is_twos_complement(fmt):
        if sign and op.entry.negative is not None and not value.is_zero:
            if not op.entry.negative_rounded:
                return op.entry.negative
        else:
            sign = 0
    place = locate(value.magnitude, fmt)
    kept, above = place.code, 0
    if isinstance(fmt.facts, FloatFacts):  # the significand with its hidden bit; the exponent is added afterwards
        hidden = 1 << fmt.facts.frac_bits
        kept = place.code if place.code < hidden else hidden + place.code % hidden
        above = place.code - kept
    kept = seen("kept", kept)
    half, lost = Fraction(1, 2), place.lost
    odd = bool(seen("odd", kept & 1))
    if random is None:
        guard, sticky = seen("guard", int(lost >= half)), seen("sticky", int(lost not in (0, half)))
        lost = (half if guard else Fraction(0)) + (Fraction(1, 4) if sticky else 0)
    up = goes_up(lost, place.ulp, value.magnitude, sign, odd, op.rounding, random)
    code = seen("code", seen("sum", kept + seen("up", int(up))) + above)
    if sign and op.entry.negative is not None and op.entry.negative_rounded:
        return seen("stored", 0 if not code or derive.stops_at(op.rounding, 1, 0) else op.entry.negative)
    result = overflow(code, sign, fmt, op.rounding, op.entry)
    if isinstance(result, Code):
        return result.code
    magnitude = seen("beyond", result.code) if code > largest_magnitude(fmt, sign) else result.code
    return seen("stored", attach_sign(seen("result", magnitude), sign, fmt))
