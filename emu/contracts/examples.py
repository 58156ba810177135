"""Worked examples of spec files, computed by hand: what replaying one compares. Each contract replays those of its kinds of objects."""

from __future__ import annotations

from emu.contracts.numbers import exact_text
from emu.engines.exact.value import Value
from emu.spec import derive


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
