"""emu.engines.c_ref.convert against the reference model: every code, every threshold, every special, and whole 16-bit source spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from emu.base.philox import words
from emu.engines.c_ref import convert as native
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, decode_code, magnitude_of
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.value import Value, finite
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE, EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

Draws = tuple[np.ndarray, list[int]]

FORMATS = [name for name in names("format") if derive.codes(get("format", name)).bits <= 8]
ROUNDINGS = [name for name in names("rounding") if not get("rounding", name).random_bits]
DRAWING = [name for name in names("rounding") if get("rounding", name).random_bits]
WORDS = ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap")
SPECIAL = [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0, 0x80000000, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF]
SPECIAL += [0x00800000, 0x80800000, 0x007FFFFF, 0x3F800000, 0xBF800000]


def entry(word: str, fmt: Format) -> EntryCodes | None:
    """A policy with this overflow word whose special results differ from each other, or None where the format cannot have the word."""
    derived = derive.codes(fmt)
    if (word in ("inf", "ieee_inf") and derived.inf is None) or (word in ("nan", "ieee_nan") and not derived.nan):
        return None
    if isinstance(fmt.facts, CodebookFacts) and word != "saturate":
        return None
    return EntryCodes(word, (OPEN, 1), (derived.nan[0], derived.nan[-1]) if word.endswith("nan") else None)


def refuses(fmt: Format, rounding: Rounding) -> bool:
    """A codebook has no code parity to round to, and no ulp for the software rounder."""
    return isinstance(fmt.facts, CodebookFacts) and derive.needs_code_order(rounding)


@lru_cache(maxsize=4)
def values_of(source: str, codes: tuple[int, ...]) -> tuple[Value, ...]:
    return tuple(decode_code(code, get("format", source)) for code in codes)


def compare(codes: Iterable[int], source: str, fmt: Format, rounding: Rounding, policy: EntryCodes, random: Draws | None = None) -> int:
    """Compare C with the reference model on every code; return how many were compared."""
    codes = tuple(codes)
    values = values_of(source, codes)
    operand, each = (None, [None] * len(codes)) if random is None else random
    got, unanswered = native.convert_with_open(np.array(codes, np.uint64), get("format", source), fmt, rounding, policy, operand)
    answers = zip(got.tolist(), unanswered.tolist(), strict=True)
    shown = [OPEN if state == 1 else REFUSE if state == 2 else code for code, state in answers]
    wanted = [convert_value(value, fmt, rounding, policy, bits) for value, bits in zip(values, each, strict=True)]
    if shown != wanted:
        first = next(i for i, pair in enumerate(zip(shown, wanted, strict=True)) if pair[0] != pair[1])
        where = f"{source} {codes[first]:#x} random {each[first]} -> {fmt.id}/{rounding.id}/{policy.overflow}"
        pytest.fail(f"{where}: C {shown[first]:#x}, reference model {wanted[first]:#x}")
    return len(codes)


def magnitudes(fmt: Format, some: bool) -> list[Fraction]:
    """Grid points from zero to two beyond the maximum; `some`: the ends of the list where it is long."""
    if isinstance(fmt.facts, CodebookFacts):
        return sorted({value.magnitude for value in codebook_values(fmt)})
    facts, top = fmt.facts, derive.codes(fmt).max_code + 3
    chosen = [*range(10), *range(top - 7, top)] if some and top > 40 else range(top)
    return [magnitude_of(code, facts) for code in chosen]


def near_thresholds(fmt: Format, some: bool) -> list[int]:
    """binary32 codes of both signs within 3 ulp of every grid point and midpoint."""
    points = magnitudes(fmt, some)
    cuts = sorted({*points, *((low + high) / 2 for low, high in pairwise(points))})
    fp32, policy = get("format", "fp32"), EntryCodes("saturate", (0, 0))
    centres = [convert_value(finite(cut), fp32, get("rounding", "rz"), policy) for cut in cuts]
    spread = {centre + delta for centre in centres for delta in range(-3, 4) if 0 <= centre + delta < 0x7F800000}
    return [code | sign for code in sorted(spread) for sign in (0, 1 << 31)]


def draws(count: int, rounding: Rounding, salt: int) -> Draws:
    """The random operand as the binding takes it, and the integer of each element; the first ones are the ends of the range."""
    source = rounding.facts.random
    assert source != "none"
    width, lanes = (source.word, source.lanes) if isinstance(source, Word) else (rounding.random_bits, 1)
    size = -(-count // lanes)
    ends = [0, 1, (1 << width) - 1, 1 << (width - 1)]
    drawn = [*ends, *(int(word) >> (32 - width) for word in words(salt, max(size - 4, 0)))][:size]
    each = [element_bits(drawn[i // lanes], rounding, i % lanes) for i in range(count)] if isinstance(source, Word) else drawn
    return np.array(drawn, np.uint32), each


def all_policies(fmt: Format) -> Iterator[EntryCodes]:
    yield from (policy for policy in (entry(word, fmt) for word in WORDS) if policy is not None)


@pytest.mark.parametrize("name", names("format"))
def test_decodes_every_code(name: str) -> None:
    fmt: Format = get("format", name)
    bits = derive.codes(fmt).bits
    codes = (
        list(range(1 << bits))
        if bits <= 8
        else [place << (bits - 8) | low for place in range(256) for low in (0, 1, (1 << (bits - 8)) - 1)]
    )
    got = native.decode(np.array(codes, np.uint64), fmt)
    for i, code in enumerate(codes):
        sign, significand, lsb_exp, value_class = (int(field[i]) for field in got)
        if value_class >= 3:
            value = Value({3: "inf", 4: "nan"}[value_class], sign)  # type: ignore[arg-type]
        else:
            value = Value("finite", sign, significand * Fraction(2) ** lsb_exp)
            assert (value_class == 0) == (significand == 0)
        assert value == decode_code(code, fmt), hex(code)


@pytest.mark.cases(34)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", FORMATS)
def test_thresholds(name: str, rounding: str) -> None:
    fmt, how = get("format", name), get("rounding", rounding)
    if refuses(fmt, how):
        pytest.skip("a codebook has no odd code to round to")
    codes = [*SPECIAL, *near_thresholds(fmt, some=True)]
    assert sum(compare(codes, "fp32", fmt, how, policy) for policy in all_policies(fmt)) >= 60


@pytest.mark.cases(30)
@pytest.mark.parametrize("rounding", DRAWING)
@pytest.mark.parametrize("name", FORMATS)
def test_thresholds_with_random_bits(name: str, rounding: str) -> None:
    fmt, how = get("format", name), get("rounding", rounding)
    if refuses(fmt, how):
        pytest.skip("the software rounder needs an ulp")
    policy = entry("saturate", fmt)
    assert policy is not None
    codes = [*SPECIAL, *near_thresholds(fmt, some=True)]
    for salt in range(2):
        assert compare(codes, "fp32", fmt, how, policy, draws(len(codes), how, salt)) >= 60


@pytest.mark.parametrize("name", FORMATS)
def test_every_special_result_can_be_named(name: str) -> None:
    fmt = get("format", name)
    unsigned = not derive.codes(fmt).sign_bit and not derive.is_twos_complement(fmt) and not isinstance(fmt.facts, CodebookFacts)
    for shift in range(4):
        marks = [0, 1, OPEN, REFUSE]
        a, b, c, d = marks[shift:] + marks[:shift]
        policy = EntryCodes("saturate", (a, b), None, (c, d), (b, c), d if unsigned else None)
        for rounding in ROUNDINGS:
            if not refuses(fmt, get("rounding", rounding)):
                assert compare(SPECIAL, "fp32", fmt, get("rounding", rounding), policy) == len(SPECIAL)


@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("name", FORMATS)
def test_sampled_16_bit_sources(name: str, source: str) -> None:
    fmt, policy = get("format", name), entry("saturate", get("format", name))
    assert policy is not None
    for rounding in ROUNDINGS:
        if not refuses(fmt, get("rounding", rounding)):
            assert compare(range(0, 1 << 16, 257), source, fmt, get("rounding", rounding), policy) >= 255


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp32", "e2m1", "e8m0"])
def test_binary64_rounds_once(name: str) -> None:
    """Beside the threshold of a narrow format by one part in 2^52: two steps through binary32 would land on it."""
    fmt = get("format", name)
    centres = [0x3FD0000000000000, 0x3FE8000000000000, 0x3FF8000000000000, 0x407D000000000000, 0x3F50000000000000, 0x36A0000000000000]
    centres += [0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x380FFFFFFFFFFFFF, 1, 0x000FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x3FF0000010000000]
    codes = [centre + delta | sign << 63 for centre in centres for delta in (-1, 0, 1) if centre + delta >= 0 for sign in (0, 1)]
    for rounding in ROUNDINGS:
        for policy in all_policies(fmt):
            assert compare(codes, "fp64", fmt, get("rounding", rounding), policy) == len(codes)


@pytest.mark.cases(6)
@pytest.mark.parametrize("rounding", DRAWING)
def test_binary64_with_random_bits_to_wide_formats(rounding: str) -> None:
    """Where binary32 itself is the grid, the sum of the software rounder meets its ties and its subnormals."""
    how, policy = get("rounding", rounding), EntryCodes("saturate", (0, 1))
    centres = [
        0x3FF0000000000000,
        0x3FF0000010000000,
        0x3FF0000030000000,
        0x36A0000000000000,
        0x36B8000000000000,
        0x3800000000000000,
        0x3690000000000000,
    ]
    codes = [centre + step * (1 << 20) for centre in centres for step in range(0, 512, 7)]
    for name in ("fp32", "bf16", "e2m1"):
        for salt in range(3):
            assert compare(codes, "fp64", get("format", name), how, policy, draws(len(codes), how, salt)) == len(codes)


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("source", ["bf16", "fp16"])
@pytest.mark.parametrize("name", FORMATS)
def test_all_16_bit_sources(name: str, source: str) -> None:
    """Every code of a 16-bit source; bf16 in every rounding. Other overflow words: within 3 ulp of every threshold, where they act."""
    fmt, policy, codes = get("format", name), entry("saturate", get("format", name)), range(1 << 16)
    assert policy is not None
    for rounding in ROUNDINGS if source == "bf16" else ("rne",):
        if not refuses(fmt, get("rounding", rounding)):
            assert compare(codes, source, fmt, get("rounding", rounding), policy) == 1 << 16


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("name", FORMATS)
def test_many_bf16_sources_with_random_bits(name: str) -> None:
    """Every third bf16 code, once for each way of adding the random bits."""
    fmt, policy, codes = get("format", name), entry("saturate", get("format", name)), range(0, 1 << 16, 3)
    assert policy is not None
    kinds = {get("rounding", rounding).facts.add: get("rounding", rounding) for rounding in reversed(DRAWING)}
    assert len(kinds) >= 4
    for salt, how in enumerate(kinds.values()):
        if not refuses(fmt, how):
            assert compare(codes, "bf16", fmt, how, policy, draws(len(codes), how, salt)) == len(codes)


@pytest.mark.cases(0, 10)
@pytest.mark.parametrize("name", FORMATS)
def test_all_thresholds(name: str) -> None:
    fmt = get("format", name)
    codes = near_thresholds(fmt, some=False)
    for rounding in ROUNDINGS:
        if not refuses(fmt, get("rounding", rounding)):
            assert sum(compare(codes, "fp32", fmt, get("rounding", rounding), policy) for policy in all_policies(fmt)) >= 40
