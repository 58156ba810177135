"""Worked examples of spec files, computed by hand: what replaying one compares. Each contract replays those of its kinds of objects."""

from __future__ import annotations

from fractions import Fraction

from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models import Format


def parse_value(text: str) -> Value:
    """Return the value of the closed forms of spec files: p, p/q, 2^k, -0, nan, +inf, -inf."""
    if text == "nan":
        return Value("nan", 0)
    if text in ("+inf", "-inf"):
        return Value("inf", int(text[0] == "-"))
    if text == "-0":
        return Value("finite", 1)
    number = derive.parse_exact(text)
    return Value("finite", int(number < 0), abs(number))


def compare(found: Value, text: str) -> str | None:
    """Return None where a value is the one that is written, else what it is."""
    wanted = parse_value(text)
    if found == wanted or (found.kind == wanted.kind == "nan"):
        return None
    return f"{exact_text(found)}, not {text}"


def compare_codes(name: str, found: list[int], wanted: list[int]) -> str | None:
    """Return None where codes are those that are written, else the first that is not. name: of what they are."""
    if len(found) != len(wanted):
        return f"{name}: {len(found)} codes, not {len(wanted)}"
    wrong = [number for number, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1]]
    return f"{name}: element {wrong[0]} is {found[wrong[0]]:#x}, not {wanted[wrong[0]]:#x}" if wrong else None


# Exact values as text: short, and never rounded without saying so.


def exact_text(value: Value) -> str:
    """Return an exact value as `p`, `p/q`, `2^k`, `-0`, `nan`, `+inf` or `-inf`: the forms of spec files."""
    if value.kind == "nan":
        return "nan"
    sign = "-" if value.sign else ""
    if value.kind == "inf":
        return f"{sign or '+'}inf"
    number = value.magnitude
    top, bottom = number.numerator, number.denominator
    if max(top, bottom) > 99999 and 1 in (top, bottom) and not (max(top, bottom) & max(top, bottom) - 1):
        return f"{sign}2^{'-' if bottom > 1 else ''}{max(top, bottom).bit_length() - 1}"
    if max(top, bottom) > 99999 and bottom & bottom - 1 == 0 and bottom > 1:
        return f"{sign}{top}*2^-{bottom.bit_length() - 1}"
    if top > 99999 and bottom == 1:
        low = (top & -top).bit_length() - 1
        return f"{sign}{top >> low}*2^{low}" if low > 9 else f"{sign}{top}"
    return f"{sign}{number}"


def decimal_text(value: Value, digits: int = 9) -> str:
    """Return a value in decimal: all digits where at most `digits` say it exactly, else rounded to that many and marked with `~`."""
    if value.kind != "finite":
        return exact_text(value)
    sign, number = "-" if value.sign else "", value.magnitude
    if not number:
        return f"{sign}0"
    text = f"{float(number):.{digits}g}"
    return f"{sign}{text}" if Fraction(text) == number else f"~{sign}{text}"


# Rows of codes as hexadecimal text: the form of worked examples.


def digits(fmt: Format) -> int:
    """Return how many hexadecimal digits a stored code of a format has."""
    return -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)


def split(text: str, fmt: Format) -> list[int]:
    """Return the codes of an upper-case hex string; blanks are ignored, every code has the digits its format needs."""
    wide = digits(fmt)
    packed = text.replace(" ", "")
    return [int(packed[start : start + wide], 16) for start in range(0, len(packed), wide)]
