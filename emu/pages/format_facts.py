"""Facts that follow from a format, and its values, as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.contracts.examples import decimal_text, exact_text
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import Format, derive
from emu.spec.models.format import CodebookFacts

FULL_BITS = 6
MOST_BITS = 16


def table(fmt: Format, every: bool) -> list[dict[str, str]]:
    """Return code, bits, exact and decimal value of each code, or of the landmark codes of a wide format."""
    width = derive.codes(fmt).bits
    if width <= FULL_BITS or (every and width <= MOST_BITS):
        codes = list(range(1 << width))
    else:
        codes = sorted(set(landmarks(fmt)))
    return [_row(code, decode_code(code, fmt), width) for code in codes]


def _row(code: int, value: Value, width: int) -> dict[str, str]:
    return {"code": f"0x{code:0{-(-width // 4)}X}", "bits": f"{code:0{width}b}", "value": exact_text(value), "decimal": decimal_text(value)}


def landmarks(fmt: Format) -> list[int]:
    """Zero, one, the ends of subnormals and normals, Inf, NaN, and both signs' maxima."""
    known = derive.codes(fmt)
    found = [0, 1, known.max_code, known.negative_max, *known.nan, *(() if known.inf is None else (known.inf, known.inf | known.sign_bit))]
    frac_bits = getattr(fmt.facts, "frac_bits", 0)
    if known.has_zero and frac_bits:
        found += [(1 << frac_bits) - 1, 1 << frac_bits]
    if known.neg_zero:
        found.append(known.sign_bit)
    bias = getattr(fmt.facts, "bias", None)
    if bias is not None and 0 <= bias << frac_bits <= known.max_code:
        found.append(bias << frac_bits)
    return found


def derived(fmt: Format, most_bits: int = MOST_BITS) -> dict[str, Any]:
    """Return facts that follow from the YAML: width, extreme values, special codes, number of distinct finite values.

    most_bits: widest format whose codes are all looked at; of a wider one only the maximum is told.
    """
    known = derive.codes(fmt)
    out: dict[str, Any] = {"bits": known.bits}
    if known.bits <= most_bits:
        values = [decode_code(code, fmt) for code in range(1 << known.bits)]
        numbers = {value.signed for value in values if value.kind == "finite"}
        out |= _extremes(numbers)
    elif not isinstance(fmt.facts, CodebookFacts):
        out["max"] = exact_text(decode_code(known.max_code, fmt))
    digits = -(-known.bits // 4)
    out["nan"] = [f"0x{code:0{digits}X}" for code in known.nan] or "none"
    out["inf"] = "none" if known.inf is None else f"0x{known.inf:0{digits}X}"
    return out


def _extremes(numbers: set[Fraction]) -> dict[str, Any]:
    def text(number: Fraction) -> str:
        return exact_text(Value("finite", int(number < 0), abs(number)))

    positive = [number for number in numbers if number > 0]
    return {"values": len(numbers), "max": text(max(numbers)), "min": text(min(numbers)), "smallest_positive": text(min(positive))}
