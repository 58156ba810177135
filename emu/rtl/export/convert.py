"""convert/<dst>/<rounding>/<policy> as a circuit: one row per segment of the source's codes."""

from __future__ import annotations

from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.rtl.export.circuit import Circuit, Node, binary, choose, const, extend, part, shifted, table
from emu.rtl.export.segments import Segment, segments
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding


def convert_circuit(circuit: Circuit, source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> None:
    """Add inputs x and, for a rounding that draws, r; outputs y and open.

    x: source code.   r: the random integer, already split.   y: code of fmt, 0 where the row is open (the policy does not say, or refuses).
    """
    bits = derive.codes(fmt).bits
    x = circuit.input("x", derive.codes(source).bits)
    r = circuit.input("r", rounding.random_bits) if rounding.random_bits else None
    found = segments(source, fmt, rounding, entry)
    first, rows = 0, []
    for place, segment in enumerate(found):
        result = _result(segment.code, bits)
        if segment.condition is not None:
            assert r is not None
            up = circuit.wire(f"up{place}", _up(segment, first, x, r))
            result = choose(up, _result(segment.above, bits), result)
        rows.append((segment.last, result, _comment(segment, source, fmt)))
        first = segment.last + 1
    *most, (_, last, comment) = rows
    row = circuit.wire("row", table(x, "ule", most, last if last.op == "if" else const(last.value, last.bits, comment)))
    circuit.output("y", part(row, 0, bits))
    circuit.output("open", part(row, bits, 1))


def _result(code: int, bits: int) -> Node:
    """Return the open bit above the code."""
    return const(1 << bits if code < 0 else code, bits + 1)


def _up(segment: Segment, first: int, x: Node, r: Node) -> Node:
    """Return the condition as a comparison of two sums, wide enough for both."""
    condition = segment.condition
    assert condition is not None
    if not condition.slope:  # r alone decides: only the least one
        return binary("ult", r, const(condition.offset, r.bits))
    bits = max((segment.last - condition.first).bit_length(), 1)
    most = condition.offset + (segment.last - condition.first) * condition.slope
    width = max(most, condition.bound, abs(condition.weight) << r.bits).bit_length() + 1
    low = part(x, 0, bits)
    if condition.first & ((1 << bits) - 1):
        low = binary("sub", low, const(condition.first, bits))
    lost = _times(low, condition.slope, width)
    if condition.offset:
        lost = binary("add", lost, const(condition.offset, width))
    drawn = _times(r, abs(condition.weight), width)
    if condition.weight < 0:
        return binary("ult", drawn, lost)
    return binary("ule", const(condition.bound, width), binary("add", lost, drawn))


def _times(node: Node, factor: int, bits: int) -> Node:
    """Return node * factor in `bits` bits; a power of two is a shift."""
    if factor & (factor - 1) == 0:
        return shifted(node, factor.bit_length() - 1, bits)
    return binary("mul", extend(node, bits), const(factor, bits))


def _comment(segment: Segment, source: Format, fmt: Format) -> str:
    codes = [segment.code, segment.above] if segment.condition is not None else [segment.code]
    results = [_text(decode_code(code, fmt)) if code >= 0 else "open" for code in codes]
    return f"to {_text(decode_code(segment.last, source))}: {' or '.join(results)}"


def _text(value: Value) -> str:
    """Return an exact value in few characters: a fraction, or significand * 2^exp."""
    sign = "-" if value.sign else ""
    if value.kind != "finite" or not value.magnitude:
        return sign + (value.kind if value.kind != "finite" else "0")
    short = str(value.magnitude)
    if len(short) <= 12:
        return sign + short
    top, bottom = value.magnitude.numerator, value.magnitude.denominator
    exp = (top & -top).bit_length() - bottom.bit_length()
    odd = top >> max(exp, 0)
    return f"{sign}{odd}*2^{exp}" if bottom & (bottom - 1) == 0 else f"{sign}{short}"
