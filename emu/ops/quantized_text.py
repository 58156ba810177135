"""What a Quantized prints of its arrays: the ends of each level, and the first block as codes and as values of their format."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.arrays.values import Codes
from emu.base.errors import EmuError
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models import Format

_MOST = 16  # elements of a block
_FEW = 4  # codes of a level


def level_line(name: str, codes: Codes, fmt: str, granularity: str, meaning: str) -> str:
    """Return one line on a level: format, what shares a code, shape, the first codes."""
    model: Format = get("format", fmt)
    array = np.asarray(codes)
    count = "one" if array.ndim == 0 else " x ".join(str(length) for length in array.shape)
    shared = f"{granularity.removeprefix('sub')} elements" if granularity.startswith("sub") else granularity
    return f"level {name} ({meaning}): {count} {fmt} per {shared}: {values_line(array.reshape(-1), model, _FEW)}"


def values_line(codes: Codes, fmt: Format, most: int = _MOST) -> str:
    """Return the first codes in hexadecimal and what they mean on their own."""
    more = " ..." if codes.size > most else ""
    return f"{codes_line(codes, fmt, most)} = {' '.join(_value(int(code), fmt) for code in codes[:most])}{more}"


def codes_line(codes: Codes, fmt: Format, most: int = _MOST) -> str:
    """Return the first codes in hexadecimal."""
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return " ".join(f"{int(code):0{digits}X}" for code in codes[:most]) + (" ..." if codes.size > most else "")


def _value(code: int, fmt: Format) -> str:
    try:
        value: Any = decode_code(code, fmt)
    except EmuError:
        return "?"
    if value.kind != "finite":
        return str("-inf" if value.kind == "inf" and value.sign else value.kind)
    if value.is_zero:
        return "-0" if value.sign else "0"
    return f"{float(value.signed):.6g}"
