"""Codes and exact numbers as short text, and the signals of a row for a wave viewer: what traces of every operation are written with.

A number is a whole number times a power of two, in decimal where that is short; never rounded. Not here: traces (each operation).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

_LARGEST_DECIMAL = 1 << 20
_FINEST_DECIMAL = 6
PERIOD = 10  # time units for which a row stands in a wave viewer
_FIRST, _LAST = 33, 126  # printable characters of identifiers


def dyadic(number: Fraction | int) -> str:
    """Return a whole number times a power of two as text: 48, -0.25, 2^-144, -3*2^-175. Never rounded."""
    value = Fraction(number)
    sign, value = ("-" if value < 0 else ""), abs(value)
    if not value:
        return "0"
    bottom = value.denominator.bit_length() - 1
    top = (value.numerator & -value.numerator).bit_length() - 1
    if bottom <= _FINEST_DECIMAL and value < _LARGEST_DECIMAL:
        whole, rest = divmod(value.numerator, value.denominator)
        decimals = str(rest * 10**bottom // value.denominator).zfill(bottom).rstrip("0")
        return f"{sign}{whole}" + (f".{decimals}" if decimals else "")
    odd, exp = value.numerator >> top, top - bottom
    if exp == 0:
        return f"{sign}{odd}"
    return f"{sign}2^{exp}" if odd == 1 else f"{sign}{odd}*2^{exp}"


def value_text(value: Value) -> str:
    """Return a value as text: dyadic, -0, nan, +inf or -inf."""
    if value.kind == "nan":
        return "nan"
    if value.kind == "inf":
        return "-inf" if value.sign else "+inf"
    if value.is_zero:
        return "-0" if value.sign else "0"
    return dyadic(value.signed)


def digits_of(fmt: Format) -> int:
    """Return how many hex digits a code of a format takes, unused high bits included."""
    return -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)


def value_of(code: int, fmt: Format) -> Value:
    """Return the value of a code; a set bit above the code is dropped."""
    return decode_code(code & ((1 << derive.codes(fmt).bits) - 1), fmt)


def code_text(code: int, fmt: Format) -> str:
    """Return a code as 0x and all its digits."""
    return f"0x{code:0{digits_of(fmt)}x}"


def meaning(code: int, fmt: Format) -> str:
    """Return the value of a code as text."""
    return value_text(value_of(code, fmt))


def named(code: int, fmt: Format) -> str:
    """Return a code with its value: 0x37 (2^-72)."""
    return f"{code_text(code, fmt)} ({meaning(code, fmt)})"


def class_of(code: int, fmt: Format) -> str:
    """Return the class of a code: zero, subnormal, normal, inf, nan; a set bit above the code is dropped."""
    value, facts, known = value_of(code, fmt), fmt.facts, derive.codes(fmt)
    if value.kind != "finite":
        return value.kind
    if value.is_zero or not isinstance(facts, FloatFacts):
        return "zero" if value.is_zero else "normal"
    field = (code & (1 << known.bits) - 1 & ~known.sign_bit) >> facts.frac_bits
    return "normal" if field or facts.subnormals != "yes" else "subnormal"


def signed_hex(value: int, bits: int) -> str:
    """Return a signed integer as hex digits of its two's complement."""
    return f"0x{value & ((1 << bits) - 1):0{-(-bits // 4)}x}"


def bits_needed(value: int) -> int:
    """Return the bits of a signed integer in two's complement, the sign bit counted."""
    return (value if value >= 0 else ~value).bit_length() + 1


def waves(signals: Sequence[tuple[str, int, int | None]], title: str) -> str:
    """Return the VCD of signals (name, bits, value; None: x) that stand from time 0 on. title: its comment."""
    lines = [f"$comment {title} $end", "$timescale 1ns $end", "$scope module golden $end"]
    for number, (name, bits, _) in enumerate(signals):
        lines.append(f"$var wire {bits} {_identifier(number)} {name}{f' [{bits - 1}:0]' if bits > 1 else ''} $end")
    lines += ["$upscope $end", "$enddefinitions $end", "#0", "$dumpvars"]
    for number, (_, bits, value) in enumerate(signals):
        text = "x" if value is None else f"{value:b}"
        lines.append(f"{text}{_identifier(number)}" if bits == 1 else f"b{text} {_identifier(number)}")
    return "\n".join([*lines, "$end", f"#{PERIOD}"]) + "\n"


def _identifier(number: int) -> str:
    """Return the short name of a signal: printable characters, least significant first."""
    out = ""
    while True:
        number, digit = divmod(number, _LAST - _FIRST + 1)
        out += chr(_FIRST + digit)
        if number == 0:
            return out
        number -= 1
