"""Stochastic rounding in emu.engines.numpy: the four ways to add the random integer, shared words, and every source."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emu import strategies
from emu.base.errors import EngineError, OperandError
from emu.base.philox import words
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code, magnitude_of
from emu.engines.exact.random_bits import element_bits
from emu.engines.exact.round import locate
from emu.engines.numpy import convert as npy
from emu.spec import derive
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

DRAWING = [name for name in names("rounding") if get("rounding", name).random_bits]
SHARED = [name for name in DRAWING if isinstance(get("rounding", name).facts.random, Word)]
TARGETS = [
    "e2m1",
    "e1m2",
    "e3m0",
    "e0m3",
    "int4",
    "e2m3",
    "e4m3",
    "e5m2",
    "e4m3fnuz",
    "ue4m3",
    "ue5m3",
    "e6m2",
    "e8m0",
    "int8",
    "bf16",
    "fp16",
]
NVIDIA = get("policy", "nvidia")
DTYPES = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16, "fp64": np.uint64}


def boundaries(name: str, bits: int, source: str) -> list[tuple[int, int]]:
    """(source code, random): a discarded part of j/2^bits and one source ulp beside it; draws just below, at and above the carry."""
    fmt, fmt_in = get("format", name), get("format", source)
    assert not isinstance(fmt.facts, CodebookFacts)
    found, whole = set(), 1 << bits
    top = derive.codes(fmt).max_code
    for number, code in enumerate(sorted({0, 1, 2, top // 2, top - 1, top, top + 1})):
        low, high = magnitude_of(code, fmt.facts), magnitude_of(code + 1, fmt.facts)
        for j in (0, 1, whole // 2, whole // 2 + 1, (number * 37 + 5) % whole, whole - 1):
            for near in strategies.codes_near(low + (high - low) * Fraction(j, whole), fmt_in, (-1, 0, 1)):
                found |= {(near, draw) for draw in (0, whole - 1, *((whole - j + step) % whole for step in (-1, 0, 1)))}
    return sorted(found)


@pytest.mark.cases(8)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("mode", [name for name in DRAWING if name not in SHARED])
def test_every_boundary_against_the_reference_model(mode: str, source: str) -> None:
    rounding, fmt_in = get("rounding", mode), get("format", source)
    te_fma = rounding.facts.add == "te_fma"
    compared = 0
    for name in TARGETS:
        fmt = get("format", name)
        if te_fma and (source == "fp64" or not isinstance(fmt.facts, FloatFacts)):
            continue
        pairs = boundaries(name, rounding.random_bits, source)[:: 1 if name == "e2m1" else 4]
        pairs = [(code | derive.codes(fmt_in).sign_bit * (i % 3 == 0), draw) for i, (code, draw) in enumerate(pairs)]
        pairs += [(code, 77 * i % (1 << rounding.random_bits)) for i, code in enumerate(strategies.edge_codes(source))]
        codes, random = np.array([code for code, _ in pairs], DTYPES[source]), np.array([draw for _, draw in pairs], np.uint64)
        entry = derive.policy_entry(NVIDIA, fmt)
        if derive.OPEN in entry.nan:
            entry = derive.EntryCodes(entry.overflow, (1, 2))
        got = npy.convert_marked(codes, fmt_in, fmt, rounding, entry, random).tolist()
        wanted = [convert_value(decode_code(code, fmt_in), fmt, rounding, entry, draw) for code, draw in pairs]
        assert got == wanted, name
        compared += len(pairs)
    assert compared or (te_fma and source == "fp64")


def test_the_software_rounder_refuses_what_it_is_not_defined_for() -> None:
    with pytest.raises(EngineError, match="engine='exact'"):
        npy.convert(
            np.zeros(1, np.uint64),
            get("format", "fp64"),
            get("format", "e2m1"),
            get("rounding", "sr_te_fma8"),
            NVIDIA,
            np.zeros(1, np.uint8),
        )
    with pytest.raises(EngineError, match="engine='exact'"):
        npy.convert(
            np.zeros(1, np.uint32),
            get("format", "fp32"),
            get("format", "int8"),
            get("rounding", "sr_te_fma8"),
            NVIDIA,
            np.zeros(1, np.uint8),
        )


def test_software_rounder_differs_from_the_carry_rule_where_the_fma_rounds_up() -> None:
    codes, random = np.array([0x3AFFFFFF, 0x3B7FFFFF, 0x3BBFFFFF], np.uint32), np.array([255, 254, 253], np.uint8)
    for mode, wanted in (("sr_te_fma8", [1, 1, 1]), ("sr_add8", [0, 0, 0])):
        assert npy.convert(codes, get("format", "fp32"), get("format", "e2m1"), get("rounding", mode), NVIDIA, random).tolist() == wanted


@pytest.mark.parametrize(
    ("mode", "ups"), [("sr_add8", lambda j, _: j), ("sr_cmp8", lambda j, some: j + some), ("sr_half8", lambda j, _: j)]
)
def test_share_of_draws_that_go_up(mode: str, ups: Any) -> None:
    """Of the 256 draws exactly floor(256 f) go up (cmp: the ceiling); f = j/256, and a little more than that."""
    compared = 0
    for j in range(0, 256, 5):
        for some in (0, 1):
            value = Fraction(1) + Fraction(j, 512) + some * Fraction(1, 1 << 20)  # between 1 and 1.5 of e2m1
            code = strategies.codes_near(value, "fp32", (0,))[0]
            found = npy.convert(
                np.full(256, code, np.uint32), get("format", "fp32"), get("format", "e2m1"), get("rounding", mode), NVIDIA, np.arange(256)
            )
            assert int((found == 3).sum()) == ups(j, some) and int((found == 2).sum()) == 256 - ups(j, some), (j, some)
            compared += 1
    assert compared


def test_a_zero_draw_cuts_and_exact_values_never_move() -> None:
    codes = np.arange(0, 1 << 16, 3, dtype=np.uint16)
    codes = codes[(codes & 0x7FFF) <= 0x7F80]
    fmt, bf16 = get("format", "e2m1"), get("format", "bf16")
    cut = npy.convert(codes, bf16, fmt, get("rounding", "rz"), NVIDIA)
    assert np.array_equal(npy.convert(codes, bf16, fmt, get("rounding", "sr_add8"), NVIDIA, np.zeros(codes.size, np.uint8)), cut)
    exact = np.array([0x0000, 0x3F00, 0x3F80, 0x3FC0, 0x4000, 0x4040, 0x4080, 0x40C0], np.uint16)
    for mode in ("sr_add8", "sr_cmp8", "sr_half8", "sr_te_fma8"):
        for draw in (0, 1, 128, 255):
            assert npy.convert(exact, bf16, fmt, get("rounding", mode), NVIDIA, np.full(8, draw, np.uint8)).tolist() == list(range(8))


LANES = {
    "sr_ptx_share16": (23, 23, 31, 31),
    "sr_ptx_split8": (7, 23, 15, 31),
    "sr_te_sw8": (7, 15, 23, 31),
    "sr_b200_bitrev": (23, 0, 31, 8),
}


def test_the_profiles_typed_here_are_the_shared_words() -> None:
    assert sorted(SHARED) == sorted(LANES)


@pytest.mark.parametrize("mode", LANES)
def test_a_walking_bit_tells_the_profiles_apart(mode: str) -> None:
    """x = 0.5 * 129/256 in four lanes: a lane moves up only for the top bit of its own field; element 0 is lane f."""
    rounding, fmt = get("rounding", mode), get("format", "e2m1")
    codes = np.full(4 * 32, strategies.codes_near(Fraction(129, 512), "fp32", (0,))[0], np.uint32)
    word = np.array([1 << bit for bit in range(32)], np.uint64)
    found = npy.convert(codes, get("format", "fp32"), fmt, rounding, NVIDIA, word).reshape(32, 4)
    assert [np.flatnonzero(found[:, lane]).tolist() for lane in range(4)] == [[bit] for bit in LANES[mode]]


@pytest.mark.parametrize("mode", LANES)
@pytest.mark.parametrize("size", [1, 3, 4, 5, 96])
def test_shared_words_against_the_reference_model(mode: str, size: int) -> None:
    """Lane by lane; the last word may serve fewer elements."""
    rounding, fmt, fp32 = get("rounding", mode), get("format", "e2m1"), get("format", "fp32")
    pool = boundaries("e2m1", rounding.random_bits, "fp32")
    codes = np.array([pool[i * 41 % len(pool)][0] for i in range(size)], np.uint32)
    random = words(size, -(-size // 4))
    entry = derive.policy_entry(NVIDIA, fmt)
    wanted = [
        convert_value(decode_code(int(code), fp32), fmt, rounding, entry, element_bits(int(random[i // 4]), rounding, i % 4))
        for i, code in enumerate(codes)
    ]
    assert npy.convert(codes, fp32, fmt, rounding, NVIDIA, random).tolist() == wanted


@pytest.mark.parametrize(
    ("mode", "random", "message"),
    [
        ("sr_add8", None, "needs random: 8 bits an element"),
        ("rne", np.zeros(4, np.uint8), "draws nothing: leave random out"),
        ("sr_add8", np.zeros(3, np.uint8), "random has 3 integers"),
        ("sr_add8", np.full(4, 256), "does not fit the 8 bits"),
        ("sr_add8", np.full(4, -1), "does not fit the 8 bits"),
        ("sr_add8", np.zeros(4), "array of unsigned integers"),
        ("sr_te_sw8", np.zeros(4, np.uint32), "needs 1"),
        ("sr_te_sw8", np.full(1, 1 << 32), "does not fit the 32 bits"),
    ],
)
def test_bad_random_operands(mode: str, random: Any, message: str) -> None:
    with pytest.raises(OperandError, match=message):
        npy.convert(np.zeros(4, np.uint32), get("format", "fp32"), get("format", "e2m1"), get("rounding", mode), NVIDIA, random)


def test_locate_is_the_place_the_boundaries_are_built_on() -> None:
    place = locate(Fraction(5, 2), get("format", "e2m1"))
    assert (place.code, place.lost, place.ulp) == (4, Fraction(1, 2), 1)
