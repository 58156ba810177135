"""The page of a format: bit fields, formula, every value, number line, and the bias of its rounding bins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.contracts.examples import decimal_text, exact_text
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value, finite
from emu.pages.format_facts import derived, landmarks
from emu.pages.frame import Data, Writer
from emu.pages.grid import TABLE_BITS, Bin, Grid, grid, holds, is_uniform, values_of
from emu.pages.render import Code, Ref
from emu.spec import Format, derive, get, names
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import reach

LINE = 96
ROW = 8
LINE_BITS = 6
SHOWN = 3
_NAMES = {"smallest_positive": "smallest positive", "values": "distinct finite values", "nan": "NaN", "inf": "Inf"}
LONGEST = 999


def text(number: Fraction) -> str:
    """Return a rational in the form of spec files."""
    return exact_text(finite(number))


def hexadecimal(number: int, fmt: Format) -> str:
    """Return a code with the digits of its format."""
    return f"0x{number:0{-(-derive.codes(fmt).bits // 4)}X}"


def data(fmt: Format) -> Data:
    """Return what the template shows: bit fields, formula, derived facts, values, number line, bias of the rounding bins."""
    points = grid(fmt)
    drawn = points if points is not None and len(points.values) > 2 else None
    return {
        "fields": _fields(fmt),
        **_formula(fmt),
        "derived": _derived(fmt),
        "bits": derive.codes(fmt).bits,
        "landmarks": None,
        "listed": None,
        "half": None,
        **_values(fmt),
        "line": _number_line(drawn) if drawn and derive.codes(fmt).bits <= LINE_BITS else None,
        "mirrored": drawn is not None and drawn.mirrored,
        "bias": _bias(drawn) if drawn else None,
    }


def _fields(fmt: Format) -> list[str]:
    """Return a drawing of the stored bits, most significant first."""
    fields = field_widths(fmt)
    top, cells, places = "", "", ""
    bit = sum(width for _, width in fields)
    for name, width in fields:
        last = bit - width
        place = str(bit - 1) if width == 1 else f"{bit - 1}..{last}"
        wide = max(len(name), len(place), min(4 * width - 1, 31)) + 2
        top += "+" + "-" * wide
        cells += "|" + name.center(wide)
        places += " " + place.center(wide)
        bit = last
    return [top + "+", cells + "|", top + "+", places]


def field_widths(fmt: Format) -> list[tuple[str, int]]:
    """Return (name, width) of the fields of the stored code, most significant first."""
    facts, unused = fmt.facts, derive.unused_high_bits(fmt)
    fields = [("unused", unused)] if unused else []
    if isinstance(facts, FloatFacts):
        fields += [("S", 1)] if facts.signed == "yes" else []
        fields += [("E", facts.exp_bits)] + ([("F", facts.frac_bits)] if facts.frac_bits else [])
    elif isinstance(facts, IntegerFacts):
        fields += [("S", 1), ("M", facts.bits - 1)] if facts.signed == "sign_magnitude" else [("N", facts.bits)]
    else:
        fields.append(("E" if isinstance(facts, ExponentFacts) else "index", facts.bits))
    return fields


def _formula(fmt: Format) -> Data:
    facts = fmt.facts
    if isinstance(facts, CodebookFacts):
        return {"tie": facts.tie}
    if isinstance(facts, ExponentFacts):
        lines = [f"value = 2^(E - {facts.bias})" if facts.bias else "value = 2^E"]
    elif isinstance(facts, IntegerFacts):
        unit = f" * 2^{facts.unit_exp}" if facts.unit_exp else ""
        sign = {"sign_magnitude": f"(-1)^S * M{unit}", "twos_complement": f"N{unit}, N in two's complement", "no": f"N{unit}"}
        lines = [f"value = {sign[facts.signed]}"]
    else:
        lines = _float_formula(fmt, facts)
    return {"tie": None, "formula": lines}


def _float_formula(fmt: Format, facts: FloatFacts) -> list[str]:
    sign, hidden = "(-1)^S * " if facts.signed == "yes" else "", 1 << facts.frac_bits
    unit, fraction = facts.bias + facts.frac_bits, " + F" if facts.frac_bits else ""
    normal = f"value = {sign}({hidden}{fraction}) * 2^(E - {unit})" if facts.frac_bits else f"value = {sign}2^(E - {facts.bias})"
    lines = []
    if facts.subnormals == "yes" and facts.frac_bits:
        lines += [f"E = 0: value = {sign}F * 2^{1 - unit}" + " " * 8 + "zero and subnormals", f"E > 0: {normal}"]
    elif facts.subnormals == "yes":
        lines += ["E = 0: value = 0", f"E > 0: {normal}"]
    else:
        lines.append(normal + " " * 8 + "for every E: no zero, no subnormals")
    known = derive.codes(fmt)
    if facts.inf == "ieee":
        lines.append("E all ones: Inf for F = 0" + (", NaN otherwise" if facts.nan == "ieee" else ""))
    elif known.nan:
        lines.append("NaN instead: " + ", ".join(hexadecimal(nan, fmt) for nan in known.nan))
    return lines


def _derived(fmt: Format) -> list[tuple[str, Any]]:
    facts, known = fmt.facts, derive.codes(fmt)
    rows: list[tuple[str, Any]] = [(_NAMES.get(key, key), _words(value)) for key, value in derived(fmt, TABLE_BITS).items()]
    rows.append(("-0", Code(hexadecimal(known.sign_bit, fmt)) if known.neg_zero else "none"))
    if not known.has_zero:
        rows.append(("zero", "none"))
    if isinstance(facts, FloatFacts) and facts.subnormals == "yes" and facts.frac_bits:
        smallest = decode_code(1 << facts.frac_bits, fmt).magnitude
        largest = decode_code((1 << facts.frac_bits) - 1, fmt).magnitude
        rows.append(("subnormals", f"{text(decode_code(1, fmt).magnitude)} to {text(largest)}; smallest normal {text(smallest)}"))
    points = grid(fmt)
    if points is not None and len(points.values) > 1:
        steps = sorted({b - a for a, b in zip(points.values, points.values[1:], strict=False)})
        if not isinstance(facts, CodebookFacts):
            span = text(steps[0]) if len(steps) == 1 else f"{text(steps[0])} to {text(steps[-1])}"
            rows.append(("exact in (the sign of zero aside)", _exact_in(fmt, points)))
            rows += _product(fmt)
            rows.append(("spacing", f"{span}{': uniform' if is_uniform(points) else ''}"))
    return rows


def _words(value: object) -> Any:
    if isinstance(value, list):
        return [Code(item) for item in value]
    return Code(value) if isinstance(value, str) and value.startswith("0x") else str(value)


def _exact_in(fmt: Format, points: Grid) -> Any:
    """Return the formats that hold every value."""
    others = [name for name in names("format") if name != fmt.id and holds(get("format", name), points)]
    return [Ref("format", name) for name in others] or "none of the others"


def _product(fmt: Format) -> list[tuple[str, str]]:
    """Return the width of exact products in fixed point, for formats that can be elements."""
    if isinstance(fmt.facts, CodebookFacts | ExponentFacts):
        return []
    one = reach(fmt)
    units = (one.largest / Fraction(2) ** one.lsb_exp) ** 2
    sums = ", ".join(f"{count} of them {int(units * count).bit_length()}" for count in (16, 32, 64))
    return [("product of two, fixed point", f"{int(units).bit_length()} bits and sign, unit 2^{2 * one.lsb_exp}; the sum of {sums} bits")]


def _values(fmt: Format) -> Data:
    known = derive.codes(fmt)
    if known.bits > TABLE_BITS:
        shown = [(number, decode_code(number, fmt)) for number in sorted(set(landmarks(fmt)))]
        return {"landmarks": [(Code(hexadecimal(number, fmt)), exact_text(value), _decimal(fmt, number)) for number, value in shown]}
    values = values_of(fmt)
    if isinstance(fmt.facts, CodebookFacts):
        return {"listed": [(Code(hexadecimal(n, fmt)), exact_text(value), decimal_text(value)) for n, value in enumerate(values)]}
    half = bool(known.sign_bit) and known.bits > LINE_BITS and _mirrored(values, known.sign_bit)
    count = known.sign_bit if half else len(values)
    wide = min(ROW, count)
    return {
        "half": (hexadecimal(known.sign_bit, fmt), hexadecimal(len(values) - 1, fmt)) if half else None,
        "values_header": ["code", *(f"+{number}" for number in range(wide))],
        "values": [
            (Code(hexadecimal(first, fmt)), *(exact_text(value) for value in values[first : first + wide]))
            for first in range(0, count, wide)
        ],
    }


def _decimal(fmt: Format, number: int) -> str:
    value = decode_code(number, fmt)
    return decimal_text(value) if value.kind == "finite" and derive.codes(fmt).bits < 64 else ""


def _mirrored(values: list[Value], sign_bit: int) -> bool:
    """Tell whether each code with the sign bit is the code without it and a minus sign."""
    pairs = zip(values[:sign_bit], values[sign_bit:], strict=True)
    return all(b.kind == a.kind and b.sign == 1 and a.magnitude == b.magnitude for a, b in pairs)


def _number_line(points: Grid) -> list[str]:
    """Return the values in their places on a line of fixed width; labels where they fit."""
    shown = [value for value in points.values if value >= 0] if points.mirrored else list(points.values)
    low, high = shown[0], shown[-1]
    ticks, labels = ["-"] * (LINE + 1), [" "] * (LINE + 12)
    free = 0
    for value in sorted(shown):
        place = int((value - low) / (high - low) * LINE + Fraction(1, 2))
        ticks[place] = "|"
        label = text(value) if value.denominator < 100 else decimal_text(finite(value), 2).lstrip("~")
        start = max(place - len(label) // 2, 0)
        if start >= free:
            labels[start : start + len(label)] = label
            free = start + len(label) + 1
    return ["".join(ticks), "".join(labels)]


def _bias(points: Grid) -> Data:
    """Say which bins of nearest rounding are read back as something else than their mean."""
    found = points.bins()
    biased = [item for item in found if item.bias]
    groups: dict[Fraction, list[Bin]] = {}
    for item in biased:
        groups.setdefault(item.bias / abs(item.value), []).append(item)
    few = len(found) <= 2 * ROW
    return {
        "bins": len(found),
        "biased": len(biased),
        "inward": sum(item.bias < 0 for item in biased),
        "each": [_bin(item) for item in found] if few else None,
        "groups": [(text(share), len(items), _some(items)) for share, items in sorted(groups.items(), key=lambda pair: pair[1][0].value)],
    }


def _bin(item: Bin) -> tuple[str, ...]:
    return text(item.value), f"{text(item.low)} .. {text(item.high)}", text(item.mean), text(item.bias), _relative(item)


def _relative(item: Bin) -> str:
    share = item.bias / abs(item.value) if item.value else Fraction(0)
    return text(share) if share.denominator <= LONGEST else decimal_text(finite(share), 4)


def _some(items: list[Bin]) -> list[str]:
    values = [text(item.value) for item in items]
    return values if len(values) <= 2 * SHOWN else [*values[:SHOWN], "...", *values[-SHOWN:]]


WRITER = Writer("format", data, ("decode.decode_code", "decode.magnitude_of", "round.locate", "encode.encode_value", "encode.attach_sign"))
