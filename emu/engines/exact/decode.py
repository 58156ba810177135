"""decode: code -> value; exact, total over the codes of a format, no policy."""

from __future__ import annotations

from fractions import Fraction

from emu.base.caches import Cache
from emu.base.errors import OpenError, OperandError, SpecError
from emu.engines.exact.value import Value, finite, power_of_two
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.registry import get

_tables: Cache[str, tuple[Value, ...]] = Cache("emu.engines.exact.decode._tables", 512)
_values: Cache[tuple[str, int], Value] = Cache("emu.engines.exact.decode._values", 1 << 14)


def decode_code(code: int, fmt: Format) -> Value:
    """Return the exact value of a code.

    code: unsigned integer as stored.   fmt: its format.
    NaN codes give NaN with the sign bit's sign; Inf likewise.
    Raises: OpenError when an unused high bit of the stored byte is set; OperandError when the code has more bits than its byte.
    Source: the format's sources.   Tests: tests/engines/exact/test_exact_decode.py.
    """
    found = _values.get((fmt.facts_digest, code))
    return found if found is not None else _values.keep((fmt.facts_digest, code), _decoded(code, fmt))


def _decoded(code: int, fmt: Format) -> Value:
    derived = derive.codes(fmt)
    if code < 0 or code >> (derived.bits + derive.unused_high_bits(fmt)):
        raise OperandError(f"code {code:#x} has more than {derived.bits} bits: it is no {fmt.id} code")
    if code >> derived.bits:
        raise OpenError(f"{fmt.id} code {code:#04x}: what a set bit {derived.bits} means is open")
    facts = fmt.facts
    if isinstance(facts, CodebookFacts):
        return codebook_values(fmt)[code]
    sign = int(bool(code & derived.sign_bit))
    if derive.is_nan_code(code, fmt):
        return Value("nan", sign)
    if isinstance(facts, IntegerFacts) and facts.signed == "twos_complement":
        whole = code - (1 << facts.bits) if code >> (facts.bits - 1) else code
        return finite(whole * power_of_two(facts.unit_exp))
    magnitude = code & ~derived.sign_bit
    if magnitude == derived.inf:
        return Value("inf", sign)
    return Value("finite", sign, magnitude_of(magnitude, facts))


def magnitude_of(code: int, facts: FloatFacts | IntegerFacts | ExponentFacts) -> Fraction:
    """Return the magnitude of an unbounded magnitude code: the grid goes on above the format's maximum with the same rule."""
    if isinstance(facts, IntegerFacts):
        return code * power_of_two(facts.unit_exp)
    if isinstance(facts, ExponentFacts):
        return power_of_two(code - facts.bias)
    exp_field, fraction_field = code >> facts.frac_bits, code & ((1 << facts.frac_bits) - 1)
    if exp_field == 0 and facts.subnormals == "yes":
        return fraction_field * power_of_two(1 - facts.bias - facts.frac_bits)
    significand = (1 << facts.frac_bits) + fraction_field
    return significand * power_of_two(exp_field - facts.bias - facts.frac_bits)


def codebook_values(fmt: Format) -> tuple[Value, ...]:
    """Return the value of each code. Raises: SpecError when an entry is not finite."""
    if fmt.facts_digest not in _tables:
        facts = fmt.facts
        assert isinstance(facts, CodebookFacts)
        if facts.values is not None:
            table = tuple(Value("finite", 1) if text == "-0" else finite(derive.parse_exact(text)) for text in facts.values)
        else:
            table = _from_bits(fmt)
        _tables[fmt.facts_digest] = table
    return _tables[fmt.facts_digest]


def _from_bits(fmt: Format) -> tuple[Value, ...]:
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts) and facts.values_bits is not None and facts.values_format is not None
    source: Format = get("format", facts.values_format)
    if not isinstance(source.facts, FloatFacts):
        raise SpecError(f"{fmt.id}: values_format must be a float format")
    digits, text = -(-derive.codes(source).bits // 4), facts.values_bits.replace(" ", "")
    table = tuple(decode_code(int(text[i : i + digits], 16), source) for i in range(0, len(text), digits))
    if any(item.kind != "finite" for item in table):
        raise SpecError(f"{fmt.id}: every value must be finite")
    return table
