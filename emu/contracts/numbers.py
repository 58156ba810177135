"""Exact values as text: short, and never rounded without saying so."""

from __future__ import annotations

from fractions import Fraction

from emu.engines.exact.value import Value


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
