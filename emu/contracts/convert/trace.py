"""`exact`'s trace of one conversion: decode, position between two codes, rounding decision, overflow, code. Plain data, exact text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emu.contracts.text import code_text, dyadic, meaning, value_text
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code, magnitude_of
from emu.engines.exact.overflow import largest_magnitude
from emu.engines.exact.round import HALF, Position, locate, round_magnitude
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models.format import CodebookFacts

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

Data = dict[str, Any]
LOST_BITS = 32  # of a wave viewer's column `lost`


def trace_convert(op: ConvertContract, values: tuple[int, ...]) -> Data:
    """Return the steps of one row.

    values: x, and the random integer of a contract that draws one.
    Keys: decode; position (below, above, lost) and round of a number, or special; result. Tests: tests/rtl/test_rtl_explain_mismatch.py.
    """
    drawn = values[1] if op.rounding.random_bits else None
    value = decode_code(values[0], op.source)
    code = convert_value(value, op.fmt, op.rounding, op.entry, drawn)
    out: Data = {"decode": {"code": code_text(values[0], op.source), "value": value_text(value), "class": _class(value)}}
    if drawn is not None:
        out["random"] = {"integer": drawn, "bits": op.rounding.random_bits, "decides": op.rounding.facts.add}
    if value.kind != "finite" or isinstance(op.fmt.facts, CodebookFacts):
        out["special"] = f"{_class(value)}: policy {op.policy.id} gives {_code(code, op)}"
    elif value.is_zero and op.entry.zero is not None:
        out["special"] = f"zero: policy {op.policy.id} gives {_code(code, op)}"
    else:
        out |= _rounded(op, value, drawn)
    return out | {"result": _code(code, op)}


def _class(value: Value) -> str:
    if value.kind == "nan":
        return "NaN"
    return "infinity" if value.kind == "inf" else "zero" if value.is_zero else "number"


def _code(code: int, op: ConvertContract) -> str:
    return "open" if code < 0 else f"{code_text(code, op.fmt)} ({meaning(code, op.fmt)})"


def _rounded(op: ConvertContract, value: Value, drawn: int | None) -> Data:
    place = locate(value.magnitude, op.fmt)
    magnitude = round_magnitude(value.magnitude, value.sign, op.fmt, op.rounding, drawn)
    largest = largest_magnitude(op.fmt, value.sign)
    below, above = (_unbounded(place.code + up, op) for up in (0, 1))
    out: Data = {"position": {"below": below, "above": above, "lost": dyadic(place.lost), "lost_part": _part(place)}}
    why = "exact" if not place.lost else "up" if magnitude > place.code else "stays"
    out["round"] = {"mode": op.name.parts[1], "takes": _unbounded(magnitude, op), "moves": why, "odd": place.code % 2 == 1}
    if magnitude > largest:
        out["overflow"] = {"beyond": _unbounded(largest, op), "rule": op.entry.overflow}
    return out


def _unbounded(code: int, op: ConvertContract) -> Data:
    assert not isinstance(op.fmt.facts, CodebookFacts)
    return {"code": f"0x{code:x}", "magnitude": dyadic(magnitude_of(code, op.fmt.facts))}


def _part(place: Position) -> str:
    return "zero" if not place.lost else "less than half" if place.lost < HALF else "half" if place.lost == HALF else "more than half"


def lines_convert(trace: Data) -> list[str]:
    """Return the trace as lines to read."""
    decode = trace["decode"]
    out = [f"decode    {decode['code']} = {decode['value']} ({decode['class']})"]
    if "random" in trace:
        out.append(f"random    {trace['random']['integer']} of {trace['random']['bits']} bits, decides by {trace['random']['decides']}")
    if "special" in trace:
        out.append(f"special   {trace['special']}")
    else:
        place, found = trace["position"], trace["round"]
        below, above = place["below"], place["above"]
        way = f"{place['lost']} of the way to {above['code']} ({above['magnitude']})"
        out.append(f"position  code {below['code']} ({below['magnitude']}), {way}: the discarded part is {place['lost_part']}")
        parity = "odd" if found["odd"] else "even"
        moves = {"exact": "nothing to round", "up": "goes up", "stays": "stays"}[found["moves"]]
        out.append(f"round     {found['mode']}: {moves}, {below['code']} is {parity}; magnitude code {found['takes']['code']}")
        if "overflow" in trace:
            out.append(f"overflow  beyond the largest code {trace['overflow']['beyond']['code']}: {trace['overflow']['rule']}")
    return [*out, f"result    {trace['result']}"]


def signals_convert(op: ConvertContract, values: tuple[int, ...], want: int, got: int | None) -> list[tuple[str, int, int | None]]:
    """Return the signals of one row for a wave viewer: (name, bits, value).

    x, r; below: the magnitude code under |x|; lost: the discarded part, highest bit first, cut at 32 bits; up; y; got_y.
    """
    bits = derive.codes(op.fmt).bits
    out: list[tuple[str, int, int | None]] = [
        (column.name, column.bits, value) for column, value in zip(op.layout.inputs, values, strict=True)
    ]
    value = decode_code(values[0], op.source)
    below = lost = up = None
    if value.kind == "finite" and not isinstance(op.fmt.facts, CodebookFacts):
        place = locate(value.magnitude, op.fmt)
        drawn = values[1] if op.rounding.random_bits else None
        scaled = place.lost * (1 << LOST_BITS)
        below, lost = place.code, scaled.numerator // scaled.denominator
        up = round_magnitude(value.magnitude, value.sign, op.fmt, op.rounding, drawn) - place.code
    wide = max(below.bit_length() if below is not None else 0, bits)
    return [*out, ("below", wide, below), ("lost", LOST_BITS, lost), ("up", 1, up), ("y", bits, want), ("got_y", bits, got)]


__all__ = ["lines_convert", "signals_convert", "trace_convert"]
