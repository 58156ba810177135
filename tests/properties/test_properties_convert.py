"""Properties of conversion, of the reference model and of the NumPy engine, for shipped formats and for drawn ones that no file has."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from emu import strategies
from emu.base.errors import SpecError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, decode_code
from emu.engines.exact.encode import attach_sign, encode_value
from emu.engines.exact.overflow import Code, overflow
from emu.engines.exact.round import floor_log2, round_magnitude, round_value
from emu.engines.exact.value import Value, equal, finite, less
from emu.engines.numpy.convert import convert_marked
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.registry import get, names

SMALL = [get("format", name) for name in names("format") if derive.codes(get("format", name)).bits <= 8]
REAL = st.one_of(
    st.fractions(min_value=-600, max_value=600, max_denominator=1 << 20),
    st.builds(lambda n, e: Fraction(n) * Fraction(2) ** e, st.integers(-(1 << 24), 1 << 24), st.integers(-150, 40)),
)
NEAREST = st.sampled_from(["rne", "rna"])
MODES = st.sampled_from(strategies.MODES)
WORDS = ("saturate", "inf", "nan", "ieee_inf", "ieee_nan")


def any_format() -> st.SearchStrategy[Format]:
    return st.one_of(st.sampled_from(SMALL), strategies.formats())


def gridded() -> st.SearchStrategy[Format]:
    """Formats with a grid that goes on: no codebooks."""
    return any_format().filter(lambda fmt: not isinstance(fmt.facts, CodebookFacts))


def saturating(fmt: Format) -> EntryCodes:
    return EntryCodes("saturate", (0, 0))


def convert(value: Value, fmt: Format, mode: str, entry: EntryCodes | None = None) -> int:
    return convert_value(value, fmt, get("rounding", mode), entry or saturating(fmt))


def value_of(code: int, fmt: Format) -> Value:
    return decode_code(code, fmt)


def signs_matter(fmt: Format) -> bool:
    return bool(derive.codes(fmt).sign_bit) or derive.is_twos_complement(fmt) or isinstance(fmt.facts, CodebookFacts)


def finite_codes(fmt: Format) -> list[int]:
    return [code for code in range(1 << derive.codes(fmt).bits) if value_of(code, fmt).kind == "finite"]


@given(gridded())
def test_decode_of_encode_and_back(fmt: Format) -> None:
    for code in range(1 << derive.codes(fmt).bits):
        value = value_of(code, fmt)
        back = encode_value(value, fmt)
        assert value_of(back, fmt) == value or value.kind == "nan"
        assert back == code or value.kind == "nan" or (value.is_zero and not derive.codes(fmt).neg_zero)


@given(any_format(), MODES)
def test_every_value_of_the_grid_converts_to_itself(fmt: Format, mode: str) -> None:
    assume(not (isinstance(fmt.facts, CodebookFacts) and mode == "odd"))
    for code in finite_codes(fmt):
        value = value_of(code, fmt)
        found = convert(value, fmt, mode)
        assert equal(value_of(found, fmt), value)
        assert value_of(convert(value_of(found, fmt), fmt, mode), fmt) == value_of(found, fmt)  # idempotent


@given(any_format(), MODES, st.lists(REAL, min_size=2, max_size=12))
def test_monotone(fmt: Format, mode: str, numbers: list[Fraction]) -> None:
    assume(not (isinstance(fmt.facts, CodebookFacts) and mode == "odd"))
    ordered = sorted(numbers) if signs_matter(fmt) else sorted(abs(number) for number in numbers)
    found = [value_of(convert(finite(number), fmt, mode), fmt) for number in ordered]
    assert not any(less(b, a) for a, b in pairwise(found))


@given(gridded(), NEAREST, REAL)
def test_nearest_is_nearest(fmt: Format, mode: str, number: Fraction) -> None:
    """No finite value of the format lies nearer, once overflow saturates."""
    if not signs_matter(fmt):
        number = abs(number)
    found = value_of(convert(finite(number), fmt, mode), fmt)
    assert abs(found.signed - number) == min(abs(value_of(code, fmt).signed - number) for code in finite_codes(fmt))


@given(gridded(), st.data())
def test_a_tie_goes_to_the_even_code_and_away(fmt: Format, data: st.DataObject) -> None:
    top = derive.codes(fmt).max_code
    assume(top > 0)
    code = data.draw(st.integers(0, top - 1))
    low, high = value_of(code, fmt).magnitude, value_of(code + 1, fmt).magnitude
    middle = finite((low + high) / 2)
    assert convert(middle, fmt, "rne") == (code if code % 2 == 0 else code + 1)
    assert convert(middle, fmt, "rna") == code + 1 and convert(middle, fmt, "rz") == code and convert(middle, fmt, "ru") == code + 1
    assert convert(middle, fmt, "rd") == code and convert(middle, fmt, "odd") == (code if code % 2 else code + 1)


@given(any_format().filter(lambda fmt: bool(derive.codes(fmt).sign_bit)), st.sampled_from(["rne", "rna", "rz", "odd"]), REAL)
def test_sign_symmetric_where_the_mode_is(fmt: Format, mode: str, number: Fraction) -> None:
    assume(number)
    up, down = convert(finite(abs(number)), fmt, mode), convert(finite(-abs(number)), fmt, mode)
    sign = derive.codes(fmt).sign_bit
    assert down == up | sign or (up == 0 and down == 0 and not derive.codes(fmt).neg_zero)


@given(any_format().filter(lambda fmt: bool(derive.codes(fmt).sign_bit)), REAL)
def test_up_and_down_mirror(fmt: Format, number: Fraction) -> None:
    up, down = convert(finite(number), fmt, "ru"), convert(finite(-number), fmt, "rd")
    assert value_of(up, fmt).signed == -value_of(down, fmt).signed


@given(any_format().filter(signs_matter), REAL)
def test_directed_modes_bracket(fmt: Format, number: Fraction) -> None:
    low, high = (value_of(convert(finite(number), fmt, mode), fmt).signed for mode in ("rd", "ru"))
    values = [value_of(code, fmt).signed for code in finite_codes(fmt)]
    clipped = min(max(number, min(values)), max(values))
    assert low <= clipped <= high and not any(low < value < high for value in values if value != clipped or low == high)
    assert value_of(convert(finite(number), fmt, "rz"), fmt).signed == (low if number > 0 else high)


@given(gridded(), MODES, REAL.filter(bool), st.integers(-20, 20))
def test_powers_of_two_shift_the_grid(fmt: Format, mode: str, number: Fraction, shift: int) -> None:
    """Above the subnormals a power of two moves the exponent field alone (round has no maximum)."""
    facts = fmt.facts
    assume(isinstance(facts, FloatFacts) and facts.frac_bits > 0)
    assert isinstance(facts, FloatFacts)
    size = abs(number)
    factor = Fraction(2) ** shift
    assume(min(floor_log2(size), floor_log2(size * factor)) >= 1 - facts.bias)
    rounding = get("rounding", mode)
    first = round_value(finite(number), fmt, rounding)
    assert round_value(finite(number * factor), fmt, rounding).magnitude == first.magnitude * factor


@given(gridded(), MODES, st.sampled_from(WORDS), REAL)
def test_convert_is_its_four_steps(fmt: Format, mode: str, word: str, number: Fraction) -> None:
    entry = entry_of(word, fmt)
    assume(entry is not None)
    assert entry is not None
    value, rounding = finite(number), get("rounding", mode)
    sign = value.sign if signs_matter(fmt) else 0
    result = overflow(round_magnitude(value.magnitude, sign, fmt, rounding), sign, fmt, rounding, entry)
    steps = result.code if isinstance(result, Code) else attach_sign(result.code, sign, fmt)
    assert convert(value, fmt, mode, entry) == steps


def entry_of(word: str, fmt: Format) -> EntryCodes | None:
    try:
        derive.check_overflow(word, fmt)
    except SpecError:
        return None
    nan = derive.codes(fmt).nan
    return EntryCodes(word, (derive.OPEN, 1), (nan[0], nan[-1]) if word.endswith("nan") else None)


@given(gridded(), MODES, REAL)
def test_ieee_overflow_sees_the_mode_and_the_plain_words_do_not(fmt: Format, mode: str, number: Fraction) -> None:
    """rz and odd stop at the maximum under ieee_*; inf and nan never do; an infinite source goes away in every mode."""
    for plain, ieee in (("inf", "ieee_inf"), ("nan", "ieee_nan")):
        first, second = entry_of(plain, fmt), entry_of(ieee, fmt)
        if first is None or second is None:
            continue
        for sign in (0, 1):
            far = Value("finite", sign, abs(number) + Fraction(2) ** 4096)
            kept = sign if signs_matter(fmt) else 0
            stays = mode in ("rz", "odd") or (mode == "ru" and kept) or (mode == "rd" and not kept)
            largest = attach_sign(derive.codes(fmt).max_code, kept, fmt)
            away = convert(far, fmt, mode, first)
            assert value_of(away, fmt).kind == plain
            assert convert(far, fmt, mode, second) == (largest if stays else away)
            assert convert(Value("inf", sign), fmt, mode, second) == convert(Value("inf", sign), fmt, mode, first) == away


@given(any_format(), MODES, st.data())
def test_fast_equals_exact_also_for_formats_without_a_file(fmt: Format, mode: str, data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(WORDS))
    entry = entry_of(word, fmt)
    assume(entry is not None)
    assert entry is not None
    source = data.draw(st.sampled_from(["fp32", "bf16", "fp16"]))
    fmt_in = get("format", source)
    near = (
        strategies.codes(source)
        if isinstance(fmt.facts, CodebookFacts)
        else st.one_of(strategies.codes(source), strategies.near_ties(fmt, source))
    )
    codes = data.draw(st.lists(near, min_size=1, max_size=12))
    array = np.array(codes, np.uint32 if source == "fp32" else np.uint16)
    marked: Any = convert_marked(array, fmt_in, fmt, get("rounding", mode), entry)
    from emu.engines.numpy.tables import mark

    assert marked.tolist() == [mark(convert(decode_code(code, fmt_in), fmt, mode, entry), fmt) for code in codes]


@given(any_format(), st.sampled_from(["sr_add8", "sr_cmp8", "sr_half8", "sr_add16"]), REAL, st.data())
def test_stochastic_rounding_takes_one_of_the_two_neighbours(fmt: Format, mode: str, number: Fraction, data: st.DataObject) -> None:
    bits = get("rounding", mode).random_bits
    draws = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=2, max_size=6))
    size = finite(abs(number))
    found = [convert_value(size, fmt, get("rounding", mode), saturating(fmt), draw) for draw in draws]
    low, high = (value_of(convert(size, fmt, side), fmt).signed for side in ("rd", "ru"))
    values = [value_of(code, fmt).signed for code in found]
    assert set(values) <= {low, high}
    ordered = [value for _, value in sorted(zip(draws, values, strict=True), key=lambda pair: pair[0])]
    assert ordered == sorted(ordered, reverse=mode == "sr_cmp8")  # more random bits never turn a carry off; cmp the other way


def test_codebook_values_are_those_of_decode() -> None:
    for fmt in SMALL:
        if isinstance(fmt.facts, CodebookFacts):
            assert [value_of(code, fmt) for code in range(1 << fmt.facts.bits)] == list(codebook_values(fmt))
