"""Deviations of a converter: ties, sticky bits, double rounding, flushed subnormals, signs of zero, missing specials, overflow, bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from emu.base.errors import EmuError
from emu.contracts.contract import Deviation, Values
from emu.contracts.convert.wires import wires
from emu.contracts.rows import Answer
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code, magnitude_of
from emu.engines.exact.overflow import largest_magnitude
from emu.engines.exact.round import locate, round_value
from emu.engines.exact.value import Value, power_of_two
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import binary_format
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.registry import get, names

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

Changed = Callable[[int, Value], Value]  # code and value of the source -> the value that is converted instead
STICKY = (1, 2, 3, 4)
THROUGH = ("bf16", "fp16", "e4m3", "e5m2")


def deviations(op: ConvertContract) -> Iterator[Deviation]:
    """Yield the single deviations of one convert contract that the registry has no contract for."""
    yield from _ties(op)
    yield from _sources(op)
    yield from _results(op)
    yield from _randoms(op)
    for word in ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap"):
        changed = _overflow(op, word)
        if changed is not None:
            what = "wraps" if word == "wrap" else f"is {word}"
            yield Deviation(f"overflow {what}", "overflow", _predict(op, entry=changed))
    yield from _beyond(op)
    yield from _specials(op)
    yield from _grids(op)
    for text, stage, answer in wires(op):
        yield Deviation(text, stage, _known(answer))


def _predict(
    op: ConvertContract,
    source: Changed = lambda _, value: value,
    rounding: Rounding | None = None,
    entry: EntryCodes | None = None,
    result: Callable[[Value, int], int] = lambda _, code: code,
    random: Callable[[int], int] = lambda drawn: drawn,
) -> Callable[[Values], Answer | None]:
    """Return the answers of the exact engine with one thing changed."""

    def predict(values: Values) -> Answer | None:
        drawn = random(values[1]) if op.rounding.random_bits else None
        value = decode_code(values[0], op.source)
        code = convert_value(source(values[0], value), op.fmt, rounding or op.rounding, entry or op.entry, drawn)
        return None if code < 0 else ((result(value, code),),)

    return predict


def _known(answer: Callable[[Values], int]) -> Callable[[Values], Answer | None]:
    def given(values: Values) -> Answer | None:
        code = answer(values)
        return None if code < 0 else ((code,),)

    return given


def _ties(op: ConvertContract) -> Iterator[Deviation]:
    facts = op.rounding.facts
    if facts.magnitude is None:
        return
    words = {"next": "away from zero", "keep": "toward zero", "to_even_code": "to the even code", "to_odd_code": "to the odd code"}
    for choice, text in words.items():
        if choice != facts.magnitude.half:
            changed = facts.model_copy(update={"magnitude": facts.magnitude.model_copy(update={"half": choice})})
            yield Deviation(f"ties go {text}", "round", _predict(op, rounding=op.rounding.model_copy(update={"facts": changed})))
    for up, down, text in (("next", "keep", "up"), ("keep", "next", "down")):
        sided = {"positive": facts.magnitude.model_copy(update={"half": up}), "negative": facts.magnitude.model_copy(update={"half": down})}
        changed = facts.model_copy(update={"magnitude": None, "sees_sign": "yes", **sided})
        yield Deviation(f"ties go {text}", "round", _predict(op, rounding=op.rounding.model_copy(update={"facts": changed})))


def _sources(op: ConvertContract) -> Iterator[Deviation]:
    """What happens to the value before it is rounded."""
    if not isinstance(op.fmt.facts, CodebookFacts):
        for bits in STICKY:
            kept = "one bit" if bits == 1 else f"{bits} bits"
            text = f"only {kept} below the last kept one decide{'s' if bits == 1 else ''}: the sticky bit is lost"
            yield Deviation(text, "round", _predict(op, _cut(op.fmt, bits)))
    for name in THROUGH:
        if name not in (op.src, op.dst):
            yield Deviation(f"rounded twice: to {name} first", "round", _predict(op, _through(get("format", name))))
    if binary_format(op.source) == "binary32":
        yield Deviation("only the high 16 bits of x are read", "decode", _predict(op, _high_half(op.source)))
    if isinstance(op.source.facts, FloatFacts):
        facts = op.source.facts
        yield Deviation("subnormal sources are read as zero", "decode", _predict(op, _flushed(facts, op.source)))
        yield Deviation("NaN and Inf are read as numbers", "decode", _predict(op, _as_numbers(facts, op.source)))
        yield Deviation("NaN is taken for Inf", "specials", _predict(op, _nan_as_inf))
        for text, exp in (("", 1), (" and the exponent below", 0)):
            yield Deviation(f"subnormal sources have the hidden bit{text}", "decode", _predict(op, _hidden(facts, op.source, exp)))
    for factor, text in ((Fraction(2), "2"), (Fraction(1, 2), "1/2"), (Fraction(4), "4"), (Fraction(1, 4), "1/4")):
        yield Deviation(f"the exponent is off: x times {text} is converted", "decode", _predict(op, _scaled(factor)))


def _results(op: ConvertContract) -> Iterator[Deviation]:
    """What happens to the code at the end."""
    sign, facts = derive.codes(op.fmt).sign_bit, op.fmt.facts
    if sign:
        yield Deviation("zero has no sign", "encode", _predict(op, result=lambda _, code: code if code & ~sign else 0))
        lost = lambda value, code: code if code & ~sign or value.is_zero else 0  # noqa: E731
        yield Deviation("a number that rounds to zero loses its sign", "encode", _predict(op, result=lost))
        gone = lambda value, code: 0 if value.is_zero else code  # noqa: E731
        yield Deviation("-0 becomes +0", "encode", _predict(op, result=gone))
        kept = lambda value, code: code & ~sign | sign * value.sign  # noqa: E731
        yield Deviation("the sign of NaN is kept", "specials", _predict(op, result=kept))
    if isinstance(facts, FloatFacts) and facts.subnormals == "yes":
        top = 1 << facts.frac_bits
        flush = lambda _, code: code & sign if (code & ~sign) < top else code  # noqa: E731
        yield Deviation("subnormal results are flushed to zero", "encode", _predict(op, result=flush))
    largest = derive.codes(op.fmt).max_code
    less = lambda _, code: code - 1 if code & ~sign == largest else code  # noqa: E731
    yield Deviation("the largest code is never given", "overflow", _predict(op, result=less))


def _beyond(op: ConvertContract) -> Iterator[Deviation]:
    """The end of the range."""
    sign, facts, twos = derive.codes(op.fmt).sign_bit, op.fmt.facts, derive.is_twos_complement(op.fmt)
    largest = derive.codes(op.fmt).max_code
    if isinstance(facts, CodebookFacts):
        return

    def above(value: Value) -> bool:
        """Whether a number is beyond the largest of its sign."""
        return value.kind == "inf" or (value.kind == "finite" and value.magnitude > _largest(op, value.sign))

    for less in (1, 2):
        stop = lambda value, code, less=less: code if not above(value) else (code + less if twos and value.sign else code - less)  # noqa: E731
        few = "two below" if less == 2 else "below"
        yield Deviation(f"all that lies above the largest number gives a code {few} it", "overflow", _predict(op, result=stop))
    if twos:
        low = 1 << (derive.codes(op.fmt).bits - 1)
        yield Deviation(
            "the range is symmetric: the least code is never given", "overflow", _predict(op, result=lambda _, code: code + (code == low))
        )
    infinite = (("zero", 0), ("the largest code but one", largest - 1), ("the largest code", largest))
    for text, magnitude in infinite if not twos else ():
        change = lambda value, code, magnitude=magnitude: code & sign | magnitude if value.kind == "inf" else code  # noqa: E731
        yield Deviation(f"Inf gives {text}", "specials", _predict(op, result=change))


def _largest(op: ConvertContract, sign: int) -> Fraction:
    facts = op.fmt.facts
    assert not isinstance(facts, CodebookFacts)
    return magnitude_of(largest_magnitude(op.fmt, sign), facts)


def _specials(op: ConvertContract) -> Iterator[Deviation]:
    """What NaN gives."""
    known = derive.codes(op.fmt)
    sign, largest = known.sign_bit, known.max_code
    found = {"zero": 0, "the largest code": largest, "the code of all ones": (1 << known.bits) - 1, "the sign bit alone": sign}
    found |= {f"NaN {code:#x}": code for code in known.nan[:4]}
    for text, code in found.items():
        change = lambda value, right, code=code: code if value.kind == "nan" else right  # noqa: E731
        yield Deviation(f"NaN gives {text}", "specials", _predict(op, result=change))
        if sign and not code & sign:
            signed = lambda value, right, code=code: code | sign * value.sign if value.kind == "nan" else right  # noqa: E731
            yield Deviation(f"NaN gives {text} with the sign of x", "specials", _predict(op, result=signed))
    if isinstance(op.source.facts, FloatFacts):
        fraction = (1 << op.source.facts.frac_bits) - 1
        exact = _predict(op)
        zero = lambda values: exact(values if values[0] & fraction else (values[0] & derive.codes(op.source).sign_bit, *values[1:]))  # noqa: E731
        yield Deviation("x is taken for zero where its fraction is zero", "decode", zero)
        special = (1 << op.source.facts.exp_bits) - 1 << op.source.facts.frac_bits

        def early(values: Values) -> Answer | None:
            code = values[0] & ~derive.codes(op.source).sign_bit
            return exact(
                (values[0] & derive.codes(op.source).sign_bit, *values[1:]) if not code & fraction and code in (0, special) else values
            )

        yield Deviation("Inf is taken for zero", "decode", early)


def _grids(op: ConvertContract) -> Iterator[Deviation]:
    """The grid of another format of as many bits."""
    bits = derive.codes(op.fmt).bits
    for name in names("format"):
        other: Format = get("format", name)
        if derive.codes(other).bits != bits or other.facts_digest == op.fmt.facts_digest:
            continue
        try:
            changed = replace(op, fmt=other, entry=derive.policy_entry(op.policy, other))
        except EmuError:
            continue
        yield Deviation(f"the grid is that of {name}", "position", _known(lambda values, changed=changed: changed.exact(values)[0][0]))  # type: ignore[misc]
    facts = op.fmt.facts
    if isinstance(facts, FloatFacts):
        for text, update in (
            ("subnormal codes are read as normal ones: the grid has no subnormals", {"subnormals": "no"}),
            ("the bias of y is one more", {"bias": facts.bias + 1}), ("the bias of y is one less", {"bias": facts.bias - 1}),
        ):  # fmt: skip
            if all(getattr(facts, key) == value for key, value in update.items()):
                continue
            changed = replace(op, fmt=op.fmt.model_copy(update={"facts": facts.model_copy(update=update)}))
            yield Deviation(text, "position", _known(lambda values, changed=changed: changed.exact(values)[0][0]))  # type: ignore[misc]


def _randoms(op: ConvertContract) -> Iterator[Deviation]:
    bits = op.rounding.random_bits
    if not bits:
        return
    ones = (1 << bits) - 1
    yield Deviation("the random integer is inverted", "round", _predict(op, random=lambda drawn: drawn ^ ones))
    mirror = lambda drawn: int(f"{drawn:0{bits}b}"[::-1], 2)  # noqa: E731
    yield Deviation("the random integer is bit-reversed", "round", _predict(op, random=mirror))
    yield Deviation("the random integer is always 0", "round", _predict(op, random=lambda _: 0))
    for cut in range(1, min(bits, 9)):
        text = f"the low {cut} bits of the random integer are not used"
        yield Deviation(text, "round", _predict(op, random=lambda drawn, cut=cut: drawn >> cut << cut))  # type: ignore[misc]
    for add in ("add", "cmp", "half", "nearest"):
        if add != op.rounding.facts.add:
            changed = op.rounding.model_copy(update={"facts": op.rounding.facts.model_copy(update={"add": add})})
            yield Deviation(f"the random integer decides by {add}", "round", _predict(op, rounding=changed))


def _overflow(op: ConvertContract, word: str) -> EntryCodes | None:
    """Return the policy entry with another word for overflow; None where it has no meaning or is the contract's."""
    if word == op.entry.overflow:
        return None
    try:
        derive.check_overflow(word, op.fmt)
    except EmuError:
        return None
    nan = derive.codes(op.fmt).nan
    pair = (nan[0], nan[0] | derive.codes(op.fmt).sign_bit) if nan else None
    return replace(op.entry, overflow=word, overflow_nan=op.entry.overflow_nan or pair)


def _cut(fmt: Format, bits: int) -> Changed:
    def changed(_: int, value: Value) -> Value:
        if value.kind != "finite" or value.is_zero:
            return value
        place = locate(value.magnitude, fmt)
        scaled = place.lost * (1 << bits)
        gone = place.lost - Fraction(scaled.numerator // scaled.denominator, 1 << bits)
        return replace(value, magnitude=value.magnitude - gone * place.ulp)

    return changed


def _through(fmt: Format) -> Changed:
    nearest: Rounding = get("rounding", "rne")
    return lambda _, value: round_value(value, fmt, nearest)


def _high_half(source: Format) -> Changed:
    return lambda code, _: decode_code(code >> 16 << 16, source)


def _fields(code: int, facts: FloatFacts, source: Format) -> tuple[int, int]:
    magnitude = code & ~derive.codes(source).sign_bit
    return magnitude >> facts.frac_bits, magnitude & ((1 << facts.frac_bits) - 1)


def _flushed(facts: FloatFacts, source: Format) -> Changed:
    return lambda code, value: value if _fields(code, facts, source)[0] else Value("finite", value.sign)


def _hidden(facts: FloatFacts, source: Format, exp: int) -> Changed:
    def changed(code: int, value: Value) -> Value:
        exp_field, fraction = _fields(code, facts, source)
        if exp_field:
            return value
        return Value("finite", value.sign, ((1 << facts.frac_bits) + fraction) * power_of_two(exp - facts.bias - facts.frac_bits))

    return changed


def _as_numbers(facts: FloatFacts, source: Format) -> Changed:
    def changed(code: int, value: Value) -> Value:
        if value.kind == "finite":
            return value
        exp_field, fraction = _fields(code, facts, source)
        return Value("finite", value.sign, ((1 << facts.frac_bits) + fraction) * power_of_two(exp_field - facts.bias - facts.frac_bits))

    return changed


def _nan_as_inf(_: int, value: Value) -> Value:
    return Value("inf", value.sign) if value.kind == "nan" else value


def _scaled(factor: Fraction) -> Changed:
    return lambda _, value: replace(value, magnitude=value.magnitude * factor)
