"""Spec models -> descriptors of the C reference. Only facts are copied here; nothing is rounded and nothing is converted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError, SpecError
from emu.engines.c_ref._c import ffi, lib
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE, EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.rounding import LostPart, Word
from emu.spec.registry import get

INTEGER_SIGN: Final = {"twos_complement": lib.EMU_TWOS_COMPLEMENT, "sign_magnitude": lib.EMU_SIGN_MAGNITUDE, "no": lib.EMU_UNSIGNED}
TIE: Final = {"even_code": lib.EMU_TIE_EVEN_CODE, "lower": lib.EMU_TIE_LOWER, "away": lib.EMU_TIE_AWAY}
CHOICE: Final = {"keep": lib.EMU_KEEP, "next": lib.EMU_NEXT, "to_even_code": lib.EMU_TO_EVEN_CODE, "to_odd_code": lib.EMU_TO_ODD_CODE}
ADD: Final = {
    None: lib.EMU_ADD_NONE,
    "add": lib.EMU_ADD_CARRY,
    "cmp": lib.EMU_ADD_COMPARE,
    "half": lib.EMU_ADD_HALF,
    "te_fma": lib.EMU_ADD_TE_FMA,
    "nearest": lib.EMU_ADD_NEAREST,
}
BEYOND: Final = {"max": lib.EMU_STOP_AT_MAX, "away": lib.EMU_GO_AWAY, "odd_code": lib.EMU_STOP_AT_ODD}
OVERFLOW: Final = {
    "saturate": lib.EMU_SATURATE,
    "inf": lib.EMU_TO_INF,
    "nan": lib.EMU_TO_NAN,
    "ieee_inf": lib.EMU_IEEE_INF,
    "ieee_nan": lib.EMU_IEEE_NAN,
    "wrap": lib.EMU_WRAP,
}
INF: Final = {"none": lib.EMU_INF_NONE, "ieee": lib.EMU_INF_IEEE}


class Descriptor(NamedTuple):
    """A C struct, and the memory it points into, which must live as long."""

    pointer: Any
    memory: Any = None


def format_descriptor(fmt: Format) -> Descriptor:
    """Return the emu_format of a format.

    Raises: EngineError when the format passes a limit of the C reference (see emu_ref.h), SpecError for a codebook that is not finite.
    """
    facts = fmt.facts
    out, memory = ffi.new("emu_format *"), None
    if isinstance(facts, FloatFacts):
        _fill_float(out, facts, fmt.id)
    elif isinstance(facts, IntegerFacts):
        out.format_class, out.bits, out.unit_exp = lib.EMU_INTEGER, facts.bits, facts.unit_exp
        out.integer_sign = INTEGER_SIGN[facts.signed]
    elif isinstance(facts, ExponentFacts):
        out.format_class, out.bits, out.bias = lib.EMU_EXPONENT, facts.bits, facts.bias
        _fill_nan(out, facts.nan, fmt.id)
    else:
        memory = _fill_codebook(out, facts, fmt.id)
    if lib.emu_check_format(out):
        raise EngineError(f"{fmt.id} passes a limit of the C reference (c_ref/emu_ref.h): use engine='exact'")
    return Descriptor(out, memory)


def _fill_float(out: Any, facts: FloatFacts, name: str) -> None:
    out.format_class, out.has_sign = lib.EMU_FLOAT, facts.signed == "yes"
    out.exp_bits, out.frac_bits, out.bias = facts.exp_bits, facts.frac_bits, facts.bias
    out.subnormals, out.neg_zero, out.unused_high_bits = facts.subnormals == "yes", facts.neg_zero == "yes", facts.unused_high_bits
    out.inf = INF[facts.inf] if isinstance(facts.inf, str) else lib.EMU_INF_TOP
    _fill_nan(out, facts.nan, name)


def _fill_nan(out: Any, nan: str | tuple[str, ...], name: str) -> None:
    if isinstance(nan, str):
        out.nan = lib.EMU_NAN_IEEE if nan == "ieee" else lib.EMU_NAN_NONE
        return
    out.nan, out.nan_count = lib.EMU_NAN_LIST, len(nan)
    if len(nan) > lib.EMU_MAX_NAN_CODES:
        raise EngineError(f"{name}: nan_codes = {len(nan)}: at most {lib.EMU_MAX_NAN_CODES} in the C reference: use engine='exact'")
    for number, code in enumerate(nan):
        out.nan_codes[number] = int(code, 16)


def _fill_codebook(out: Any, facts: CodebookFacts, name: str) -> Any:
    values, signs = _codebook_values(facts)
    minus_zeros = [code for code, value in enumerate(values) if signs[code] and not value]
    if len(minus_zeros) > 1:
        raise EngineError(f"{name}: the C reference knows one code of -0, not {len(minus_zeros)}: use engine='exact'")
    shift = max((value.denominator.bit_length() - 1 for value in values), default=0)
    if any(value.denominator & (value.denominator - 1) for value in values):
        raise EngineError(f"{name}: the C reference holds multiples of a power of two only: use engine='exact'")
    whole = [int(value * (1 << shift)) for value in values]
    spare = min(((number & -number).bit_length() - 1 for number in whole if number), default=0)
    largest, most = max((abs(number) >> spare for number in whole), default=0), (1 << lib.EMU_MAX_VALUE_BITS) - 1
    if largest > most:
        raise EngineError(f"{name}: value = {largest}: at most {most} in the C reference: use engine='exact'")
    memory = ffi.new("int64_t[]", [number >> spare for number in whole])
    out.format_class, out.bits, out.tie, out.unit_exp = lib.EMU_CODEBOOK, facts.bits, TIE[facts.tie], spare - shift
    out.minus_zero_code, out.values = minus_zeros[0] if minus_zeros else -1, memory
    return memory


def _codebook_values(facts: CodebookFacts) -> tuple[list[Fraction], list[bool]]:
    """Return the value and the sign of each code."""
    if facts.values is not None:
        values = [Fraction(0) if text == "-0" else derive.parse_exact(text) for text in facts.values]
        return values, [text.startswith("-") for text in facts.values]
    assert facts.values_bits is not None and facts.values_format is not None
    source: Format = get("format", facts.values_format)
    descriptor = format_descriptor(source)
    text, digits = facts.values_bits.replace(" ", ""), -(-derive.codes(source).bits // 4)
    values, signs, value = [], [], ffi.new("emu_value *")
    for start in range(0, len(text), digits):
        error = lib.emu_decode_code(descriptor.pointer, int(text[start : start + digits], 16), value)
        if error or value.value_class > lib.EMU_NORMAL:
            raise SpecError("values_bits: every value must be finite")
        signs.append(bool(value.sign))
        power = Fraction(1 << value.lsb_exp) if value.lsb_exp >= 0 else Fraction(1, 1 << -value.lsb_exp)
        values.append((-value.significand if value.sign else value.significand) * power)
    return values, signs


def rounding_descriptor(rounding: Rounding, fmt: Format, destination: Descriptor) -> Any:
    """Return the emu_rounding of a rounding on the way to a format. Raises: EngineError when the C reference does not round that way."""
    facts, out = rounding.facts, ffi.new("emu_rounding *")
    for sign, rule in enumerate((facts.magnitude or facts.positive, facts.magnitude or facts.negative)):
        if isinstance(rule, LostPart):
            out.choice[sign] = [CHOICE[rule.less_than_half], CHOICE[rule.half], CHOICE[rule.more_than_half]]
    out.add, out.random_bits = ADD[facts.add], rounding.random_bits
    out.beyond_max = [BEYOND[facts.beyond_max.positive], BEYOND[facts.beyond_max.negative]]
    if lib.emu_check_rounding(out, destination.pointer):
        raise EngineError(f"the C reference does not round {rounding.id} to {fmt.id}: use engine='exact'")
    return out


def bit_places(first: int, last: int) -> range:
    """Return the places of a bit range, most significant of the result first."""
    return range(first, last - 1, -1) if first >= last else range(first, last + 1)


def lane_places(word: Word) -> bytes:
    """Return the bits of each lane of a random word, one lane after the other, most significant first."""
    return bytes(bit for lane in word.fields for first, last in lane for bit in bit_places(first, last))


def word_descriptor(lanes: int, bits: int, random_bits: int, positions: bytes) -> Descriptor:
    """Return the emu_word of elements that share random words. positions: the bits of each lane, see emu_split_words."""
    memory = ffi.new("uint8_t[]", positions)
    return Descriptor(ffi.new("emu_word *", {"lanes": lanes, "bits": bits, "random_bits": random_bits, "positions": memory}), memory)


def policy_descriptor(entry: EntryCodes, fmt: Format, destination: Descriptor) -> Any:
    """Return the emu_policy of a resolved entry. Raises: SpecError when it does not fit the format."""
    out = ffi.new("emu_policy *")
    out.overflow = OVERFLOW[entry.overflow]
    pairs = ((out.nan, entry.nan), (out.zero, entry.zero), (out.inf, entry.inf), (out.overflow_nan, entry.overflow_nan))
    for target, codes in pairs:
        for sign in (0, 1):
            _fill_special(target[sign], None if codes is None else codes[sign])
    _fill_special(out.negative, entry.negative)
    if entry.negative_rounded and out.negative.rule == lib.EMU_BY_CODE:
        out.negative.rule = lib.EMU_BY_ROUNDED
    if lib.emu_check_policy(out, destination.pointer):
        raise SpecError(f"the policy asks for a code that {fmt.id} does not have")
    return out


def _fill_special(out: Any, code: int | None) -> None:
    rules = {None: lib.EMU_BY_RULE, OPEN: lib.EMU_IS_OPEN, REFUSE: lib.EMU_IS_REFUSED}
    out.rule = rules.get(code, lib.EMU_BY_CODE)
    out.code = code if code is not None and code >= 0 else 0
