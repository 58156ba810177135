"""Rows of codes as hexadecimal text: the notation of worked examples."""

from __future__ import annotations

from emu.spec import derive
from emu.spec.models import Format


def digits(fmt: Format) -> int:
    """Return how many hexadecimal digits a stored code of a format has."""
    return -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)


def split(text: str, fmt: Format) -> list[int]:
    """Return the codes of an upper-case hex string; blanks are ignored, every code has the digits its format needs."""
    wide = digits(fmt)
    packed = text.replace(" ", "")
    return [int(packed[start : start + wide], 16) for start in range(0, len(packed), wide)]
